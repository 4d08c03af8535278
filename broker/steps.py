"""Work over any number of queues is done in steps, so that nobody else has to wait for it."""

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from time import perf_counter
from typing import Final, TypeVar

import trio

from trimq.base.waits import Wakeup

# Each of them takes up to 20 us.
QUEUES_PER_STEP: Final = 64
# Of stored messages that a service copies, with one write: one message at least, be it larger.
BYTES_PER_STEP: Final = 256 * 1024

T = TypeVar("T")

# Of a service, or of work that nobody waits for; long answers are in trimq.base.step_queue.
Steps = Generator[None, None, T]
# What such a step yields is done in a worker thread before the next one: it waits for the disk, and raises nothing.
DiskSteps = Generator[Callable[[], object] | None, None, T]

# Others wait that long at most for work that is not asked for by them.
_STEP_SECONDS: Final = 0.002
# What is done without a task of its own.
_AT_ONCE: Final = 20


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


async def in_steps(steps: DiskSteps[T]) -> T:
    """Do all of it, others in between; what it finds."""
    pace = Pace()
    while True:
        try:
            beside = next(steps)
        except StopIteration as end:
            found: T = end.value
            return found
        if beside is not None:
            await trio.to_thread.run_sync(beside)
        await pace.keep()


def one_by_one(table: Iterable[T]) -> Iterator[T]:
    """What there is now, also if it changes meanwhile. What has gone is freed one by one, not all of it at the end.

    Give it keys: a list of values would keep them, and free them in one step.
    """
    left = deque(table)
    while left:
        yield left.popleft()


def at_once(steps: Generator[int | None, None, T]) -> T:
    """Do all of it in one step: for what is known to be small."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            found: T = end.value
            return found


def begun(steps: DiskSteps[T], most: int) -> DiskSteps[T] | None:
    """Do some of it; what is left of it, None if that was all."""
    for _ in range(most):
        try:
            beside = next(steps)
        except StopIteration:
            return None
        if beside is not None:
            return _after(beside, steps)
    return steps


def _after(beside: Callable[[], object], steps: DiskSteps[T]) -> DiskSteps[T]:
    yield beside
    return (yield from steps)


class Unfinished:
    """Work that nobody waits for: a little of it is done at once, and a service does the rest in steps."""

    def __init__(self) -> None:
        self._rest: deque[DiskSteps[None]] = deque()
        self._more = Wakeup()

    def do(self, steps: Steps[None]) -> None:
        """In the order in which it comes."""
        rest = steps if self._rest else begun(steps, _AT_ONCE)
        if rest is not None:
            self._rest.append(rest)
            self._more.give()

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            await self._more.wait()
            while self._rest:
                steps = self._rest[0]
                try:
                    await in_steps(steps)
                finally:
                    self._rest.popleft()
