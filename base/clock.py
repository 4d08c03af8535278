"""The one source of time, given to whoever needs it.

Stored timestamps, expiry and versions are wall-clock milliseconds; waiting is Trio's own time.
Tests pass a Clock whose wall time follows Trio's mock clock: a minute passes at once.
"""

import time

import trio


class Clock:
    """Wall time in milliseconds since 1970, and the event loop's time in seconds."""

    def millis(self) -> int:
        return time.time_ns() // 1_000_000

    def current_time(self) -> float:
        """Trio's monotonic time; only inside a running event loop."""
        return trio.current_time()


class TrioClock(Clock):
    """Wall time that moves with Trio's time, for runs on a mock clock."""

    def __init__(self, start_millis: int = 1_700_000_000_000) -> None:
        self._start_millis = start_millis

    def millis(self) -> int:
        return self._start_millis + int(trio.current_time() * 1000)
