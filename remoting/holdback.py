"""Replies that wait until somebody else has heard of what their requests did."""

from collections.abc import Awaitable, Callable


class Holdback:
    """`wanted` is set by whoever has news while requests are handled.

    The connection that handles them then sends their replies, and reads on, only after `passed`.
    """

    __slots__ = ("_heard", "wanted")

    def __init__(self, heard: Callable[[], Awaitable[object]]) -> None:
        """`heard` returns when everybody knows, or when that takes too long."""
        self.wanted = False
        self._heard = heard

    async def passed(self) -> None:
        self.wanted = False
        await self._heard()
