"""What is known of each stream that is open, and of all together: who has ended, and how much may be sent.

Hot: compiled by mypyc when a compiler is there.
"""

from typing import Final

WINDOW_MOST: Final = 2**31 - 1


class Window:
    """What the peer may send ahead. `most`: at first, and again when it was given back."""

    __slots__ = ("_left", "_most", "_owed")

    def __init__(self, most: int) -> None:
        self._most: int = most
        self._left: int = most
        self._owed: int = 0

    def take(self, size: int) -> bool:
        """It has sent so much; whether it was allowed to."""
        self._left -= size
        return self._left >= 0

    def give_back(self, size: int) -> int:
        """So much was used up; what the peer has to be told now, in steps of half of it all. 0: nothing yet."""
        owed = self._owed + size
        if owed * 2 < self._most:
            self._owed = owed
            return 0
        self._owed = 0
        self._left += owed
        return owed


class Stream:
    """`room`: bytes of an answer's body that the peer takes. `has_ended`: the peer; `is_answered`: we."""

    __slots__ = ("has_ended", "is_answered", "room", "window")

    def __init__(self, room: int, window: int) -> None:
        self.room: int = room
        self.window: Window = Window(window)
        self.has_ended: bool = False
        self.is_answered: bool = False
