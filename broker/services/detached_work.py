"""What a request has begun and what goes on when its connection ends, as in an administrator's thread there.

A topic with a hundred thousand lite topics takes longer to be deleted than a tool waits for the answer.
"""

import logging
from collections import deque
from typing import Final, Generic, TypeVar

import trio

from trimq.base.waits import Wakeup
from trimq.broker.steps import DiskSteps, begun, in_steps

log: Final = logging.getLogger("trimq.broker")

# Done at once, without a task: about a millisecond.
_AT_ONCE: Final = 16


class Detached:
    """Not done yet. `key`: what it was asked for with; `name`: what a log says."""

    __slots__ = ("done", "error", "key", "name")

    def __init__(self, name: str, key: object) -> None:
        self.name = name
        self.key = key
        self.done = trio.Event()
        self.error: Exception | None = None


B = TypeVar("B", bound=Detached)


class InTurn(Generic[B]):
    """One after the other; what they are is a subclass's affair."""

    def __init__(self) -> None:
        self._waiting: deque[B] = deque()
        self._more = Wakeup()

    async def _play(self, work: B) -> None:
        raise NotImplementedError

    def _find(self, key: object) -> B | None:
        """What has begun with that key and is not done is not begun again: it is asked for by somebody who has not
        waited for the answer.
        """
        return next((work for work in self._waiting if work.key == key), None)

    def _add(self, work: B) -> B:
        self._waiting.append(work)
        self._more.give()
        return work

    async def wait(self, work: B) -> None:
        """Until it is done; it goes on when nobody waits any more. Whatever it raises is raised here."""
        await work.done.wait()
        if work.error is not None:
            raise work.error

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            await self._more.wait()
            while self._waiting:
                work = self._waiting[0]
                try:
                    await self._play(work)
                except Exception as error:
                    log.error("work not done: what=%s reason=%s", work.name, error)
                    work.error = error
                finally:
                    # A cancelled one does not go on: its files are closed next.
                    self._waiting.popleft()
                    work.done.set()


class Work(Detached):
    """Known by its name."""

    __slots__ = ("steps",)

    def __init__(self, name: str, steps: DiskSteps[None]) -> None:
        super().__init__(name, name)
        self.steps = steps


class DetachedWork(InTurn[Work]):
    """One after the other, each a little at a time."""

    def begin(self, name: str, steps: DiskSteps[None]) -> Work | None:
        """None: all is done, for there was little of it. Whatever it raises then is raised here.

        What has begun under that name and is not done is not begun again.
        """
        found = self._find(name)
        if found is not None:
            return found
        rest = steps if self._waiting else begun(steps, _AT_ONCE)
        return None if rest is None else self._add(Work(name, rest))

    async def _play(self, work: Work) -> None:
        await in_steps(work.steps)
