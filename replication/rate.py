"""Bytes a second over a link, as haStatus shows them.

Hot: compiled by mypyc when a compiler is there.
"""


class Rate:
    """Of the last whole second or more in which something was counted."""

    __slots__ = ("_counted", "_since", "per_second")

    def __init__(self) -> None:
        self.per_second = 0
        self._counted = 0
        self._since = 0.0

    def count(self, size: int, now: float) -> None:
        """So many bytes have passed; `now` in seconds."""
        passed = now - self._since
        if passed >= 1:
            self.per_second = int(self._counted / passed) if self._since else 0
            self._counted = 0
            self._since = now
        self._counted += size
