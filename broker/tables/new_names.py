"""How fast peers may make tables grow: names that are created on first use, by address.

An address may bring ten seconds' worth at once. This machine itself has no limit: its users could
do worse.
"""

from typing import Final

from trimq.base.clock import Clock
from trimq.broker.config import BrokerConfig
from trimq.codec.codes import ResponseCode
from trimq.remoting.contract import LimitReached
from trimq.remoting.growth_limits import GrowthLimits, host_of, is_loopback

_BURST_SECONDS: Final = 10


class NewNames:
    """The allowance of each address, in names; refilled by maxNewNamesPerAddress a second."""

    def __init__(self, config: BrokerConfig, clock: Clock) -> None:
        self._config = config
        self._clock = clock
        self._left = GrowthLimits()

    def admit(self, remote_addr: str) -> None:
        """Count one new name from "ip:port"; LimitReached when there were too many.

        Callers that do not name an address (an empty one) share one allowance.
        """
        rate = self._config.max_new_names_per_address
        if not rate:
            return
        host = host_of(remote_addr)
        if is_loopback(host):
            return
        if not self._left.take(
            host, self._clock.steady_millis() / 1000, rate, rate * _BURST_SECONDS
        ):
            raise LimitReached(
                ResponseCode.SYSTEM_ERROR,
                f"more than {rate} new topics or groups a second from one address"
                f" ({host or 'unknown'})"
                " are too many (maxNewNamesPerAddress); try again later",
                "maxNewNamesPerAddress",
            )
