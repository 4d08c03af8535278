"""The one source of time, given to whoever needs it.

What is stored, said to others or wished by them is in wall-clock milliseconds, and the wall clock may be set. How long
something took or may take is asked of the steady one, which nobody sets. Whoever waits until it is time for something
that messages or clients asked for waits here, too: a test may have the time in its hand (trimq/hand/clock.py).
Disks, sockets and peers take the time that they take: that is Trio's own, and the list of who goes by it is
tests/trimq/clock/test_whose_time.py.
Tests pass a Clock whose wall time follows Trio's mock clock: a minute passes at once.
"""

import time
from contextlib import AbstractContextManager

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
        """Seconds for what takes its time; only inside a running event loop."""
        return trio.current_time()

    async def sleep(self, seconds: float) -> None:
        """Until so much of this time has passed."""
        await trio.sleep(seconds)

    def move_on_after(
        self, seconds: float, for_peer: bool = False
    ) -> AbstractContextManager[trio.CancelScope]:
        """`trio.move_on_after` in this time. `for_peer`: nor longer in its own time, by which a peer waits for it."""
        return trio.move_on_after(seconds)

    def of_peer(self, millis: int) -> int:
        """What this clock said when a peer's said `millis`, just now."""
        return millis


class TrioClock(Clock):
    """Wall time that moves with Trio's time, for runs on a mock clock; `jumped`: milliseconds that it was set by."""

    def __init__(self, start_millis: int = 1_700_000_000_000) -> None:
        self._start_millis = start_millis
        self.jumped = 0

    def millis(self) -> int:
        return self.steady_millis() + self.jumped

    def steady_millis(self) -> int:
        return self._start_millis + int(trio.current_time() * 1000)
