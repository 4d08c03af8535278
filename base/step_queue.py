"""Work that takes long goes in steps, through one queue for the whole process.

Every work in it has a step in turn. Between two steps everybody else has his: while others want the loop, all steps
together get a tenth of it, otherwise all.
"""

from collections import deque
from collections.abc import Callable, Generator
from time import perf_counter
from typing import Any, Final, Generic, TypeVar

import trio

T = TypeVar("T")

# A step yields how many bytes the outcome has grown by.
Steps = Generator[int, None, T]

# For each second of a step, others have so many before the next one.
_FOR_OTHERS: Final = 9.0
# Two rounds of the loop in which nobody else has anything to do take less.
_QUIET_SECONDS: Final = 0.000_2


class _Work(Generic[T]):
    """`woken` when it is done, or when its task has to lead."""

    __slots__ = ("_outcome", "error", "grown", "is_done", "leads", "steps", "woken")

    def __init__(self, steps: Steps[T], grown: Callable[[int], None] | None) -> None:
        self.steps = steps
        self.grown = grown
        self.woken = trio.Event()
        self.leads = False
        self.is_done = False
        self.error: Exception | None = None
        self._outcome: list[T] = []

    def step(self) -> None:
        """One step; what goes wrong is this work's affair, and nobody else's."""
        try:
            size = next(self.steps)
            if size and self.grown is not None:
                self.grown(size)
        except StopIteration as end:
            self._outcome.append(end.value)
            self.is_done = True
        except Exception as error:
            self.error = error
            self.is_done = True

    def outcome(self) -> T:
        if self.error is not None:
            raise self.error
        return self._outcome[0]


class StepQueue:
    """One of the tasks whose work is in it leads: it takes everybody's steps, until its own work is done.

    So no service has to run for it, and what belongs to a cancelled task is gone with it.
    """

    __slots__ = ("_due", "_led", "_now", "_works", "steps")

    def __init__(self, now: Callable[[], float] = perf_counter) -> None:
        """`now`: seconds."""
        self._now = now
        self._works: deque[_Work[Any]] = deque()
        self._led = False
        # Until then others have the loop, if they want it.
        self._due = 0.0
        # How many have been taken.
        self.steps = 0

    @property
    def waiting(self) -> int:
        """How many works are not done yet."""
        return len(self._works)

    async def run(self, steps: Steps[T], grown: Callable[[int], None] | None = None) -> T:
        """Its outcome, when all its steps had their turn. `grown` is told the bytes that steps have yielded."""
        work = _Work(steps, grown)
        self._works.append(work)
        if not self._led:
            self._led = work.leads = True
        try:
            if not work.leads:
                await work.woken.wait()
            if not work.is_done:
                await self._lead(work)
        finally:
            if not work.is_done:
                # Cancelled: nobody wants it any more.
                self._works.remove(work)
            steps.close()
            if work.leads:
                self._pass_on()
        return work.outcome()

    async def _lead(self, own: _Work[Any]) -> None:
        while not own.is_done:
            await self._others()
            began = self._now()
            work = self._works.popleft()
            work.step()
            if not work.is_done:
                self._works.append(work)
            elif work is not own:
                work.woken.set()
            self.steps += 1
            ended = self._now()
            self._due = ended + _FOR_OTHERS * (ended - began)

    async def _others(self) -> None:
        """Let others run until they have had their part, or want no more."""
        while True:
            began = self._now()
            # Whoever is ready now has had his turn after the second one, in whatever order Trio takes them.
            await trio.lowlevel.checkpoint()
            await trio.lowlevel.checkpoint()
            ended = self._now()
            if ended >= self._due or ended - began < _QUIET_SECONDS:
                return

    def _pass_on(self) -> None:
        """Another task leads."""
        self._led = bool(self._works)
        if self._works:
            following = self._works[0]
            following.leads = True
            following.woken.set()
