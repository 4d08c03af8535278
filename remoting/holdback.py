"""Replies that wait until what their requests did is where it has to be: told to others, in a file."""

from collections.abc import Awaitable, Callable


class Holdback:
    """`wanted` is set by whoever has news while requests are handled.

    The connection that handles them then sends their replies, and reads on, only after `passed`.
    """

    __slots__ = ("_heard", "wanted")

    def __init__(self, heard: Callable[[], Awaitable[object]]) -> None:
        """`heard` returns when everybody knows, or when that takes too long."""
        self.wanted = False
        self._heard = [heard]

    def also(self, heard: Callable[[], Awaitable[object]]) -> None:
        """Something else that has to return first."""
        self._heard.append(heard)

    async def passed(self) -> None:
        self.wanted = False
        for heard in self._heard:
            await heard()
