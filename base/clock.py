"""The one source of time, given to whoever needs it.

What is stored, said to others or wished by them is in wall-clock milliseconds, and the wall clock may be set. How long
something took or may take is asked of the steady one, which nobody sets. Waiting is Trio's own time.
Tests pass a Clock whose wall time follows Trio's mock clock: a minute passes at once.
"""

import time

import trio


class Clock:
    """Wall time in milliseconds since 1970, and the event loop's time in seconds."""

    def __init__(self) -> None:
        self._ahead = self.millis() - time.monotonic_ns() // 1_000_000

    def millis(self) -> int:
        return time.time_ns() // 1_000_000

    def steady_millis(self) -> int:
        """What the wall clock said at first, and the milliseconds since then, whatever it was set to meanwhile."""
        return self._ahead + time.monotonic_ns() // 1_000_000

    def current_time(self) -> float:
        """Trio's monotonic time; only inside a running event loop."""
        return trio.current_time()


class TrioClock(Clock):
    """Wall time that moves with Trio's time, for runs on a mock clock; `jumped`: milliseconds that it was set by."""

    def __init__(self, start_millis: int = 1_700_000_000_000) -> None:
        self._start_millis = start_millis
        self.jumped = 0

    def millis(self) -> int:
        return self.steady_millis() + self.jumped

    def steady_millis(self) -> int:
        return self._start_millis + int(trio.current_time() * 1000)
