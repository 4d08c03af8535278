"""haFlowControlEnable: no more bytes a second to one slave than it allows (FlowMonitor).

The original sends empty frames in a tight loop when a second's budget is used up; here the sender sleeps.
"""

import trio

from trimq.replication.config import ReplicationConfig


class Pace:
    def __init__(self, config: ReplicationConfig) -> None:
        self._config = config
        self._second = -1.0
        self._left = 0

    async def allow(self, size: int) -> int:
        """How many of these bytes may go now, at least one; waits for the next second if need be."""
        if not self._config.ha_flow_control_enable:
            return size
        while True:
            now = trio.current_time()
            if now - self._second >= 1:
                self._second = now
                self._left = self._config.max_ha_transfer_byte_in_second
            if self._left > 0:
                allowed = min(size, self._left)
                self._left -= allowed
                return allowed
            await trio.sleep(self._second + 1 - now)
