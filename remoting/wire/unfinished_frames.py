"""Frames that have begun and not ended: all their bytes share a budget, and each has a time limit."""

from typing import Final

from trimq.remoting.counters import RemotingCounters
from trimq.remoting.memory_budget import Holder

# Smaller remainders are not counted: a receive may end anywhere in a frame.
SMALL: Final = 4096
_BYTES_PER_SECOND: Final = 64 * 1024


class UnfinishedFrames:
    """The bytes of unfinished frames of all connections of a server. A `limit` of 0 means no limit."""

    __slots__ = ("_counters", "_held", "_limit", "total")

    def __init__(self, limit: int, counters: RemotingCounters) -> None:
        self._limit = limit
        self._counters = counters
        self._held: dict[Holder, int] = {}
        self.total = 0

    def note(self, holder: Holder, size: int, anew: bool) -> None:
        """A connection now holds this many bytes, of another frame than before if `anew`.

        Above the budget the frame that began first is dropped: an honest one does not take long.
        """
        self.total += size - self._held.get(holder, 0)
        if anew or not size:
            self._held.pop(holder, None)
        if size:
            self._held[holder] = size
        while self._limit and self.total > self._limit:
            oldest = next(iter(self._held))
            self.total -= self._held.pop(oldest)
            self._counters.limits["maxUnfinishedFrameBytes"] += 1
            oldest.close("bytes of unfinished frames: maxUnfinishedFrameBytes is reached")


class FrameWatch:
    """Since when a connection owes the rest of the same frame."""

    __slots__ = ("_frames", "_since")

    def __init__(self) -> None:
        self._frames = -1
        self._since = 0.0

    def is_late(self, frames: int, needed: int, now: float, seconds: float) -> bool:
        """Whether the frame that came after `frames` others takes too long.

        `needed` are its bytes, 0 when none has begun. It may take `seconds`, and one more for each
        64 KiB.
        """
        if not needed or not seconds:
            self._frames = -1
            return False
        if frames != self._frames:
            self._frames = frames
            self._since = now
            return False
        return now - self._since > seconds + needed / _BYTES_PER_SECOND
