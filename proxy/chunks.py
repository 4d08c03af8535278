"""Many questions, so many at a time: pipelined, and yet not a task for each of any number."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Final, TypeVar

import trio

T = TypeVar("T")
AT_ONCE: Final = 64


async def each(items: Sequence[T], ask: Callable[[T], Awaitable[object]]) -> None:
    """Until all are answered; `ask` lets no failure out."""
    if len(items) == 1:
        # By far the most, and as good without a task.
        await ask(items[0])
        return
    for start in range(0, len(items), AT_ONCE):
        async with trio.open_nursery() as nursery:
            for item in items[start : start + AT_ONCE]:
                nursery.start_soon(ask, item)
