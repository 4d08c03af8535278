"""How much of something a peer may do: a rate, of which some seconds may come at once.

Hot: compiled by mypyc when a compiler is there.
"""

from typing import Final

_SECONDS_AT_ONCE: Final = 10


class Allowance:
    """Times in seconds, from whatever clock `take` is told."""

    __slots__ = ("_at", "_left", "_most", "_rate")

    def __init__(self, a_second: float) -> None:
        self._rate = a_second
        self._most = self._left = a_second * _SECONDS_AT_ONCE
        self._at = 0.0

    def take(self, cost: float, now: float) -> bool:
        """Use it up; whether there was as much."""
        self._left = min(self._most, self._left + max(0.0, now - self._at) * self._rate) - cost
        self._at = now
        return self._left >= 0

    def give(self, gain: float) -> None:
        """So much more is allowed."""
        self._left = min(self._most, self._left + gain)
