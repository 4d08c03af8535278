"""Lists of deletions: one after the other, no faster than a rate, so that the disk is not busy with them alone.

As with other work that a request has begun, the rest is done when nobody waits for the answer any more.
"""

import logging
from collections import deque
from collections.abc import Callable, Iterable
from typing import Final

import trio

from trimq.broker.services.begun import BegunWork
from trimq.broker.steps import Steps
from trimq.codec.codes import ResponseCode
from trimq.remoting.contract import RemotingError

log: Final = logging.getLogger("trimq.broker")

# Names in lists that are not done; at the usual rate they take almost three hours.
MOST_NAMES: Final = 100_000
# What was not done in time is made up for, as far as that (Guava's RateLimiter).
_BURST_SECONDS: Final = 1.0


class Member:
    """A part of a list, under the name that it has when it is asked for alone."""

    __slots__ = ("name", "steps")

    def __init__(self, name: str, steps: Steps[None]) -> None:
        self.name = name
        self.steps = steps


class WorkList:
    """Not done yet. `names`: what it was asked with."""

    __slots__ = ("done", "error", "members", "names", "rate")

    def __init__(
        self, names: tuple[str, ...], members: Iterable[Member], rate: Callable[[], float]
    ) -> None:
        self.names = names
        self.members = members
        self.rate = rate
        self.done = trio.Event()
        self.error: Exception | None = None


class PacedWork:
    """One list after the other; each member is begun as if it were asked for alone, beside what others ask for."""

    def __init__(self, begun: BegunWork) -> None:
        self._begun = begun
        self._lists: deque[WorkList] = deque()
        self._more = trio.Event()

    def begin(
        self, names: tuple[str, ...], members: Iterable[Member], rate: Callable[[], float]
    ) -> WorkList:
        """At most `rate` members a second, asked before each, 0 or less as they come.

        They may be found while others are worked on.

        What has begun with the same names and is not done is not begun again: it is asked for by somebody who has not
        waited for the answer. RemotingError when too much waits already.
        """
        for there in self._lists:
            if there.names == names:
                return there
        waiting = sum(len(there.names) for there in self._lists)
        if waiting + len(names) > MOST_NAMES:
            raise RemotingError(
                ResponseCode.SYSTEM_BUSY,
                f"{waiting} names of other lists are not done, and {MOST_NAMES} may wait at most:"
                f" ask for these {len(names)} later, or for fewer at a time",
            )
        found = WorkList(names, members, rate)
        self._lists.append(found)
        self._more.set()
        return found

    async def wait(self, work: WorkList) -> None:
        """Until all of it is done; it goes on when nobody waits any more. The first failure ends it, and is raised."""
        await work.done.wait()
        if work.error is not None:
            raise work.error

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            await self._more.wait()
            self._more = trio.Event()
            while self._lists:
                work = self._lists[0]
                try:
                    await self._play(work)
                except Exception as error:
                    log.error("list not done to its end: reason=%s", error)
                    work.error = error
                self._lists.popleft()
                work.done.set()

    async def _play(self, work: WorkList) -> None:
        due = trio.current_time()
        for member in work.members:
            await trio.sleep_until(due)
            if (rate := work.rate()) > 0:
                due = max(due, trio.current_time() - _BURST_SECONDS) + 1 / rate
            begun = self._begun.begin(member.name, member.steps)
            if begun is not None:
                await self._begun.wait(begun)
