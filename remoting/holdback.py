"""Replies that wait until what their requests did is where it has to be: told to others, in a file."""

from collections.abc import Awaitable, Callable


class Holdback:
    """`wanted` is set by whoever has news while requests are handled.

    The connection that handles them then sends their replies, and reads on, only after `passed`.
    """

    __slots__ = ("_heard", "_is_behind", "wanted")

    def __init__(self, heard: Callable[[], Awaitable[object]]) -> None:
        """`heard` returns when everybody knows, or when that takes too long."""
        self.wanted = False
        self._heard = [heard]
        self._is_behind: Callable[[], bool] = lambda: False

    def also(self, heard: Callable[[], Awaitable[object]], is_behind: Callable[[], bool]) -> None:
        """Something else that has to return first; `is_behind` tells whether it would wait."""
        self._heard.append(heard)
        self._is_behind = is_behind

    def is_behind(self) -> bool:
        """Whether what was done a while ago, by a request that waited meanwhile, may be unheard of."""
        return self._is_behind()

    async def passed(self) -> None:
        self.wanted = False
        for heard in self._heard:
            await heard()
