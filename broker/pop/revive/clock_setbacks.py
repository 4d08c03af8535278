"""Whether the clock was set back while this broker runs, and over which times."""

from typing import Final

# Looks are about a second apart; a clock that is adjusted by less than this was not set.
_JUMP_MILLIS: Final = 1_000
_BETWEEN_LOOKS: Final = 5_000


class ClockSetbacks:
    """Times that the clock has shown twice, from the lowest to the highest one."""

    __slots__ = ("_from", "_last", "_to")

    def __init__(self) -> None:
        self._last = 0
        self._from = 0
        self._to = 0

    def look(self, now: int) -> None:
        """To be called about every second, in milliseconds since 1970."""
        if now < self._last - _JUMP_MILLIS:
            self._to = max(self._to, self._last + _BETWEEN_LOOKS)
            self._from = min(self._from, now) if self._from else now
        self._last = now

    def covers(self, early: int, late: int) -> bool:
        """Whether what has the later of two times may be the older one."""
        return self._from <= early and late <= self._to
