"""Replies that wait until the effects of their requests have arrived: at other servers, in a file."""

from collections.abc import Awaitable, Callable


class HeldReplies:
    """`wanted` is set by whoever has something to announce while requests are handled.

    The connection that handles them then sends their replies, and continues reading, only after
    `passed`.
    """

    __slots__ = ("_heard", "_is_behind", "wanted")

    def __init__(self, heard: Callable[[], Awaitable[object]]) -> None:
        """`heard` returns when all have heard, or when that takes too long."""
        self.wanted = False
        self._heard = [heard]
        self._is_behind: Callable[[], bool] = lambda: False

    def also(self, heard: Callable[[], Awaitable[object]], is_behind: Callable[[], bool]) -> None:
        """Something else that has to return first; `is_behind` says whether it would wait."""
        self._heard.append(heard)
        self._is_behind = is_behind

    def is_behind(self) -> bool:
        """Whether the effects of an earlier request, which has waited since, may not have arrived yet."""
        return self._is_behind()

    async def passed(self) -> None:
        self.wanted = False
        for heard in self._heard:
            await heard()
