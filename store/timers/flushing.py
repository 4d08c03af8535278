"""Writing the timer's state down, in this order: timer log, wheel, checkpoint (TimerFlushService).

So a slot never points at a record that is not there, and the checkpoint speaks of nothing that a power loss
could take back. What was delivered since the last one must be on the disk first, with the commit log.
"""

from __future__ import annotations

from trimq.codec.entries.timer import TimerState
from trimq.store.timers.checkpoint import TimerCheckpoint
from trimq.store.timers.log import TimerLog
from trimq.store.timers.wheel import TimerWheel


class TimerFlush:
    """Made on the loop's thread, run in a worker thread."""

    def __init__(
        self,
        wheel: TimerWheel,
        timer_log: TimerLog,
        file: TimerCheckpoint,
        state: TimerState,
        delivered_from: int | None,
    ) -> None:
        self.state = state
        self.synced = timer_log.take_unsynced()
        self._wheel = wheel
        self._log = timer_log
        self._file = file
        self._pages = wheel.take_changes()
        self.delivered_from = delivered_from

    def run(self) -> None:
        """Blocks on the disk. StoreError leaves the checkpoint as it was."""
        self._log.sync_files(self.synced)
        if self._pages:
            self._wheel.write(self._pages)
        self._file.save(self.state, self.delivered_from)
