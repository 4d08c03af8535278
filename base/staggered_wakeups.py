"""Tasks whose time is up in the same moment go on one after the other.

Trio lets all of them go on in one round of its loop, in which nobody else gets in between: 500 pulls that were held
since the same moment are 500 answers, and for as long everybody waits.
"""

from typing import Final

import trio

# So many go on at once.
_AT_ONCE: Final = 16
# Seconds between two of those that follow; about what an answer takes.
_BETWEEN: Final = 0.000_5


class StaggeredWakeups:
    """One for all that wait for the same kind of thing."""

    __slots__ = ("_longest", "_next")

    def __init__(self, longest: float = 1.0) -> None:
        """Nobody waits for longer than `longest` seconds: beyond that, many go on at once again.

        A second is little where RocketMQ looks every five (PullRequestHoldService).
        """
        self._longest = longest
        self._next = 0.0
        """When the next one would have its turn, if there were no `_AT_ONCE`."""

    async def turn(self) -> None:
        """Return at once, or in turn where many came just before."""
        now = trio.current_time()
        mine = max(self._next, now - _AT_ONCE * _BETWEEN)
        self._next = mine + _BETWEEN
        if mine > now:
            await trio.sleep_until(min(mine, now + self._longest))
