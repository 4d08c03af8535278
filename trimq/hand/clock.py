"""A clock that a test holds: it can be moved on, stopped, and made to run faster. It never goes back.

Who sleeps, or waits with a limit, by this clock goes on when its time has come, whether that passed or was moved. All
of it is in the event loop; only `millis` and `steady_millis` are asked from worker threads, too.
"""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import contextmanager
from math import ceil, inf
from operator import attrgetter
from typing import Final, NamedTuple

import trio

from trimq.base.clock import Clock

# How many changes are known, for times that peers have said before them.
_MOST_PIECES: Final = 10_000
# What floats do not say of a time in seconds since 1970 is less.
_EXACT_MILLIS: Final = 0.01


class _Piece(NamedTuple):
    """From this moment of the machine's, in ms since 1970, the hand's was that, and went so many times as fast."""

    real: float
    shown: float
    speed: float

    def at(self, real: float) -> float:
        return self.shown + (real - self.real) * self.speed


class _Limit:
    """A scope that ends when `due` is over; `bound`: or at this moment of Trio's time."""

    __slots__ = ("bound", "due", "scope")

    def __init__(self, scope: trio.CancelScope, due: float, bound: float) -> None:
        self.scope = scope
        self.due = due
        self.bound = bound


def _whole(millis: float) -> float:
    """The millisecond that was meant: seconds are not exact, and a clock that stands still never gets behind it."""
    if millis == inf:
        return millis
    nearest = round(millis)
    return nearest if abs(millis - nearest) < _EXACT_MILLIS else millis


class HandClock(Clock):
    """The machine's at first."""

    def __init__(self) -> None:
        # The machine's clock may be set while a test runs: this one follows the steady one.
        self._began = time.time_ns() / 1e6 - time.monotonic_ns() / 1e6
        super().__init__()
        now = self.real_millis()
        self._pieces = [_Piece(now, now, 1.0)]
        self._limits: set[_Limit] = set()

    def real_millis(self) -> float:
        return self._began + time.monotonic_ns() / 1e6

    def millis(self) -> int:
        return int(self._shown())

    def steady_millis(self) -> int:
        return int(self._shown())

    def current_time(self) -> float:
        return self._shown() / 1000

    def _shown(self) -> float:
        # While the first is made, nothing has been changed.
        pieces = getattr(self, "_pieces", None)
        now = self.real_millis()
        return now if pieces is None else pieces[-1].at(now)

    @property
    def speed(self) -> float:
        """Of the machine's; 0: it stands still."""
        return self._pieces[-1].speed

    @property
    def ahead(self) -> int:
        """By how many milliseconds of the machine's clock."""
        return int(self._shown() - self.real_millis())

    def of_peer(self, millis: int) -> int:
        """What this clock said at that moment of the machine's, by which a peer on it goes."""
        # The last moment of that millisecond.
        at = bisect_right(self._pieces, millis + 0.999, key=attrgetter("real"))
        return int(self._pieces[max(at - 1, 0)].at(millis))

    # --- waiting

    async def sleep(self, seconds: float) -> None:
        with self.move_on_after(seconds):
            await trio.sleep_forever()

    @contextmanager
    def move_on_after(self, seconds: float, for_peer: bool = False) -> Iterator[trio.CancelScope]:
        bound = trio.current_time() + seconds if for_peer else inf
        with trio.CancelScope() as scope:
            one = _Limit(scope, _whole(self.millis() + seconds * 1000), bound)
            self._limits.add(one)
            try:
                self._set(one)
                yield scope
            finally:
                self._limits.discard(one)

    def _set(self, one: _Limit) -> None:
        left = (one.due - self._shown()) / 1000
        speed = self.speed
        real = left / speed if speed > 0 else (0 if left <= 0 else inf)
        deadline = min(trio.current_time() + max(real, 0), one.bound)
        # Who waits for a peer may have put its own end nearer.
        is_nearer = one.bound < inf and one.scope.deadline < deadline
        one.scope.deadline = one.scope.deadline if is_nearer else deadline

    # --- in the hand

    def start_at(self, millis: float, speed: float) -> None:
        """Before anybody has asked it."""
        self._pieces = [_Piece(self.real_millis(), millis, speed)]

    def begin_anew(self) -> None:
        """As the machine's again, and so perhaps back: nobody may wait by it now, nor know what it has said."""
        now = self.real_millis()
        self.start_at(now, 1)

    def move_to(self, millis: float) -> None:
        """Everything that is due up to then may go on. Never back: a time that is over changes nothing."""
        now = self.real_millis()
        self._go_on(now, max(millis, self._pieces[-1].at(now)), self.speed)

    def run_at(self, speed: float) -> None:
        """So many times as fast as the machine's; 0 stops it."""
        now = self.real_millis()
        self._go_on(now, self._pieces[-1].at(now), speed)

    def _go_on(self, real: float, shown: float, speed: float) -> None:
        if speed == 0:
            # Who asks how long it is until a millisecond, and waits so long, is there then.
            shown = ceil(shown)
        self._pieces.append(_Piece(real, shown, speed))
        del self._pieces[:-_MOST_PIECES]
        for one in self._limits:
            self._set(one)
