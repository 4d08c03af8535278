"""How fast peers may make tables grow: names that are created on first use, by address.

An address may bring ten seconds' worth at once. This machine itself may as many as it likes: its
users can do worse.
"""

from ipaddress import ip_address
from typing import Final

from trimq.broker.clock import Clock
from trimq.broker.config import BrokerConfig
from trimq.codec.codes import ResponseCode
from trimq.remoting.contract import LimitReached

_BURST_SECONDS: Final = 10
# Addresses that are remembered; who is forgotten begins with a full allowance.
_ADDRESSES: Final = 10_000


class NewNames:
    """The allowance of each address, in names; refilled by maxNewNamesPerAddress a second."""

    def __init__(self, config: BrokerConfig, clock: Clock) -> None:
        self._config = config
        self._clock = clock
        self._left: dict[str, tuple[float, int]] = {}

    def admit(self, remote_addr: str) -> None:
        """Count one new name from "ip:port"; LimitReached when there were too many.

        Who does not say for whom (an empty address) shares an allowance with all others that don't.
        """
        rate = self._config.max_new_names_per_address
        if not rate:
            return
        host = remote_addr.rpartition(":")[0].strip("[]")
        if _is_loopback(host):
            return
        now = self._clock.millis()
        most = float(rate * _BURST_SECONDS)
        left, at = self._left.pop(host, (most, now))
        left = min(most, left + max(0, now - at) / 1000 * rate)
        if len(self._left) >= _ADDRESSES:
            del self._left[next(iter(self._left))]
        self._left[host] = (left - 1 if left >= 1 else left, now)
        if left < 1:
            raise LimitReached(
                ResponseCode.SYSTEM_ERROR,
                f"more than {rate} new topics or groups a second from one address"
                f" ({host or 'unknown'})"
                " are too many (maxNewNamesPerAddress); try again later",
                "maxNewNamesPerAddress",
            )


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def check_room(count: int, limit: int, what: str, key: str) -> None:
    """LimitReached when a table has `limit` members already; 0 is no limit."""
    if limit and count >= limit:
        raise LimitReached(
            ResponseCode.SYSTEM_ERROR,
            f"there are {count} {what} already, and no more than {limit} are allowed ({key})",
            key,
        )
