"""When the other end of a link was heard last, or something was said to it."""

from __future__ import annotations

import trio


class LastContact:
    """`at`: a time of Trio's clock. Who notes a sign sets it and nothing more: a deadline that moved with each would
    cost as much as all else that a single message or report needs.
    """

    __slots__ = ("at",)

    def __init__(self, at: float = 0.0) -> None:
        self.at = at

    async def older_than(self, seconds: float) -> None:
        """Returns when there was none for so long."""
        while True:
            await trio.sleep_until(self.at + seconds)
            if trio.current_time() >= self.at + seconds:
                return
