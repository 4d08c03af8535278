"""What peers may make grow, and how fast: the bounds of tables, and a rate per second."""

from ipaddress import ip_address
from typing import Final

from trimq.codec.codes import ResponseCode
from trimq.remoting.errors import LimitReached

# Names that are remembered; a forgotten one starts again with a full allowance.
_REMEMBERED: Final = 10_000


class GrowthLimits:
    """What each name has left, refilled by `rate` a second up to `burst`."""

    __slots__ = ("_left",)

    def __init__(self) -> None:
        self._left: dict[str, tuple[float, float]] = {}

    def take(self, name: str, now: float, rate: float, burst: float) -> bool:
        """Use one up, if there is one. `now` in seconds."""
        left, at = self._left.pop(name, (burst, now))
        left = min(burst, left + max(0.0, now - at) * rate)
        if len(self._left) >= _REMEMBERED:
            del self._left[next(iter(self._left))]
        enough = left >= 1
        self._left[name] = (left - 1 if enough else left, now)
        return enough


def host_of(remote_addr: str) -> str:
    """The host of "ip:port" or "[ip]:port"."""
    return remote_addr.rpartition(":")[0].strip("[]")


def is_loopback(host: str) -> bool:
    """Whether it is this machine."""
    try:
        address = ip_address(host)
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return bool((mapped or address).is_loopback)


def check_room(count: int, limit: int, what: str, key: str) -> None:
    """LimitReached when a table already has `limit` members; 0 is no limit."""
    if limit and count >= limit:
        raise LimitReached(
            ResponseCode.SYSTEM_ERROR,
            f"there are {count} {what} already, and no more than {limit} are allowed ({key})",
            key,
        )
