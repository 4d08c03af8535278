"""What a request has begun and what goes on when its connection ends, as in an administrator's thread there.

A topic with a hundred thousand lite topics takes longer to be deleted than a tool waits for the answer.
"""

import logging
from collections import deque
from typing import Final

import trio

from trimq.broker.steps import Steps, in_steps, is_done

log: Final = logging.getLogger("trimq.broker")

# Done at once, without a task: about a millisecond.
_AT_ONCE: Final = 16


class Work:
    """Not done yet."""

    __slots__ = ("done", "error", "name", "steps")

    def __init__(self, name: str, steps: Steps[None]) -> None:
        self.name = name
        self.steps = steps
        self.done = trio.Event()
        self.error: Exception | None = None


class BegunWork:
    """One after the other, each a little at a time."""

    def __init__(self) -> None:
        self._works: deque[Work] = deque()
        self._more = trio.Event()

    def begin(self, name: str, steps: Steps[None]) -> Work | None:
        """None: all is done, for there was little of it. Whatever it raises then is raised here.

        What has begun under that name and is not done is not begun again: it is asked for by somebody who has not
        waited for the answer.
        """
        for work in self._works:
            if work.name == name:
                return work
        if not self._works and is_done(steps, _AT_ONCE):
            return None
        work = Work(name, steps)
        self._works.append(work)
        self._more.set()
        return work

    async def wait(self, work: Work) -> None:
        """Until it is done; it goes on when nobody waits any more. Whatever it raises is raised here."""
        await work.done.wait()
        if work.error is not None:
            raise work.error

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            await self._more.wait()
            self._more = trio.Event()
            while self._works:
                work = self._works[0]
                try:
                    await in_steps(work.steps)
                except Exception as error:
                    log.error("work not done: what=%s reason=%s", work.name, error)
                    work.error = error
                finally:
                    # A cancelled one does not go on: its files are closed next.
                    self._works.popleft()
                    work.done.set()
