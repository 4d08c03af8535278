"""Work over any number of queues is done in steps, so that nobody else has to wait for it."""

from collections.abc import Generator
from time import perf_counter
from typing import Final, TypeVar

import trio

QUEUES_PER_STEP: Final = 256

T = TypeVar("T")

# Yields after every QUEUES_PER_STEP queues; returns what it found.
Steps = Generator[None, None, T]

# Others wait that long at most for work that is not asked for by them.
_STEP_SECONDS: Final = 0.002


class Pace:
    """A checkpoint every two milliseconds, for whoever does a little between two calls."""

    __slots__ = ("_until",)

    def __init__(self) -> None:
        self._until = perf_counter() + _STEP_SECONDS

    async def keep(self) -> None:
        """Let others have the loop, if it is time."""
        if perf_counter() >= self._until:
            await trio.lowlevel.checkpoint()
            self._until = perf_counter() + _STEP_SECONDS


async def in_steps(steps: Steps[T]) -> T:
    """Do all of it, others in between; what it finds."""
    pace = Pace()
    while True:
        try:
            next(steps)
        except StopIteration as end:
            found: T = end.value
            return found
        await pace.keep()


def at_once(steps: Steps[T]) -> T:
    """Do all of it in one step: for what is known to be small."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            found: T = end.value
            return found


def is_done(steps: Steps[object], most: int) -> bool:
    """Do some of it; whether that was all."""
    for _ in range(most):
        try:
            next(steps)
        except StopIteration:
            return True
    return False
