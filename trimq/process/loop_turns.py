"""How long the turns of the event loop were lately: for those who ask whether it hangs.

A turn lasts from one look at sockets and timers to the next. Each task that is ready has one step in it, and whoever
comes meanwhile waits for its end. Measured only where somebody can ask: it costs about 1 us a turn.
"""

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Final, NamedTuple

import trio

WINDOW_SECONDS: Final = 1.0


class Turn(NamedTuple):
    """How long it took, and how long ago it ended, in seconds; one that lasts ends now."""

    seconds: float
    ago: float


class LoopTurns(trio.abc.Instrument):
    """The turns of this loop that ended in the last second."""

    __slots__ = ("_began", "_now", "_recent")

    def __init__(self, now: Callable[[], float] = perf_counter) -> None:
        self._now = now
        self._began = now()
        # (when it ended, seconds) of those that no later one has reached: the longest one is the first.
        self._recent: deque[tuple[float, float]] = deque()

    def after_io_wait(self, timeout: float) -> None:
        self._began = self._now()

    def before_io_wait(self, timeout: float) -> None:
        ended = self._now()
        seconds = ended - self._began
        recent = self._recent
        while recent and recent[-1][1] <= seconds:
            recent.pop()
        recent.append((ended, seconds))
        self._forget(ended)

    def longest(self) -> Turn:
        """Of those that ended in the last second, and the one that asks."""
        now = self._now()
        self._forget(now)
        this = Turn(now - self._began, 0.0)
        if not self._recent:
            return this
        ended, seconds = self._recent[0]
        return max(this, Turn(seconds, now - ended))

    def _forget(self, now: float) -> None:
        while self._recent and self._recent[0][0] < now - WINDOW_SECONDS:
            self._recent.popleft()


@contextmanager
def measured_turns() -> Iterator[LoopTurns]:
    """Of the loop that runs now, until the block ends."""
    turns = LoopTurns()
    trio.lowlevel.add_instrument(turns)
    try:
        yield turns
    finally:
        trio.lowlevel.remove_instrument(turns)
