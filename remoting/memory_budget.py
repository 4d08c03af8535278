"""One budget for what peers make a process keep: frames that have not ended, requests that wait, answers on their way.

Each connection has a share in it. When the budget is used up, the connection that keeps most is closed: those that
ask for ordinary things keep next to nothing.
"""

from heapq import nlargest
from typing import Final, Protocol

from trimq.base.memory import usable_memory
from trimq.remoting.counters import RemotingCounters

_KEY: Final = "maxNetworkBytes"
# One look at all shares is for so many connections that have to go.
_LOOKED_UP: Final = 16


class Holder(Protocol):
    """A connection, for which memory is held."""

    def close(self, reason: str) -> None: ...


def budget(setting: int) -> int:
    """The bytes to divide: at most a quarter of what the process may use. 0 is no limit."""
    return min(setting, usable_memory() // 4) if setting else 0


class MemoryBudget:
    """The budget; a `limit` of 0 is none. `total` is what all shares have."""

    __slots__ = ("_largest", "_shares", "limit", "total")

    def __init__(self, limit: int = 0) -> None:
        self.limit = limit
        self.total = 0
        self._shares: set[Share] = set()
        # What was found to be large, and how large; the largest is last.
        self._largest: list[tuple[int, Share]] = []

    def share(self, holder: Holder, counters: RemotingCounters) -> "Share":
        """For a new connection, which has to `end` it."""
        share = Share(self, holder, counters)
        self._shares.add(share)
        return share

    def part(self, limit: int) -> int:
        """A limit on one kind of what counts here: half of the budget at most."""
        if not self.limit:
            return limit
        return min(limit, self.limit // 2) if limit else self.limit // 2

    def forget(self, share: "Share") -> None:
        self._shares.discard(share)

    def relieve(self) -> None:
        """Close connections until there is room again."""
        while self.total > self.limit:
            share = self._take_largest()
            if share is None:
                return
            share.give_up()

    def _take_largest(self) -> "Share | None":
        found = self._still_large()
        if found is None:
            largest = nlargest(_LOOKED_UP, self._shares, key=_size_of)
            self._largest = [(one.size, one) for one in reversed(largest) if one.size > 0]
            found = self._still_large()
        return found

    def _still_large(self) -> "Share | None":
        """One of those that were found at the last look, unless it has become small since."""
        while self._largest:
            size, share = self._largest.pop()
            if share.size * 2 > size:
                return share
        return None


class Share:
    """What one connection keeps."""

    __slots__ = ("_counters", "_ended", "_holder", "_memory", "size")

    def __init__(self, memory: MemoryBudget, holder: Holder, counters: RemotingCounters) -> None:
        self._memory = memory
        self._holder = holder
        self._counters = counters
        self._ended = False
        self.size = 0

    def add(self, change: int) -> None:
        """It keeps so many bytes more, or less. May close a connection, also this one."""
        if self._ended:
            return
        self.size += change
        memory = self._memory
        memory.total += change
        if change > 0 and 0 < memory.limit < memory.total:
            memory.relieve()

    def give_up(self) -> None:
        """Close the connection: it keeps most."""
        self._counters.limits[_KEY] += 1
        self.end()
        self._holder.close(f"it keeps most of the memory for connections, which is used up: {_KEY}")

    def end(self) -> None:
        """The connection is gone, or about to be; what is added or taken off from now on does not count."""
        if not self._ended:
            self._ended = True
            self._memory.total -= self.size
            self.size = 0
            self._memory.forget(self)


def _size_of(share: Share) -> int:
    return share.size
