"""Bytes a second over a link, as haStatus shows them.

Hot: compiled by mypyc when a compiler is there.
"""


class Rate:
    """Of the last whole second; 0 when nothing passed in it. Times are in seconds."""

    __slots__ = ("_before", "_counted", "_since")

    def __init__(self) -> None:
        self._before = 0
        self._counted = 0
        self._since = 0.0

    def count(self, size: int, now: float) -> None:
        """So many bytes have passed."""
        if now - self._since >= 1:
            self._before = self.per_second(now)
            self._counted = 0
            self._since = now
        self._counted += size

    def per_second(self, now: float) -> int:
        passed = now - self._since
        if passed >= 2:
            # What is counted came in the first second of them.
            return 0
        return int(self._counted / passed) if passed >= 1 else self._before
