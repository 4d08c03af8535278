"""Lists of deletions: one after the other, no faster than a rate, so that the disk is not busy with them alone.

As with other work that a request has begun, the rest is done when nobody waits for the answer any more.
"""

from collections.abc import Callable, Iterable
from typing import Final

import trio

from trimq.broker.services.detached_work import Detached, DetachedWork, InTurn
from trimq.broker.steps import DiskSteps
from trimq.codec.codes import ResponseCode
from trimq.remoting.contract import RemotingError

# Names in lists that are not done; at the usual rate they take almost three hours.
MOST_NAMES: Final = 100_000
# What was not done in time is made up for, as far as that (Guava's RateLimiter).
_BURST_SECONDS: Final = 1.0


class Member:
    """A part of a list, under the name that it has when it is asked for alone."""

    __slots__ = ("name", "steps")

    def __init__(self, name: str, steps: DiskSteps[None]) -> None:
        self.name = name
        self.steps = steps


class WorkList(Detached):
    """Known by the names that it was asked for with."""

    __slots__ = ("members", "names", "rate")

    def __init__(
        self, names: tuple[str, ...], members: Iterable[Member], rate: Callable[[], float]
    ) -> None:
        super().__init__(f"list of {len(names)} names", names)
        self.names = names
        self.members = members
        self.rate = rate


class PacedWork(InTurn[WorkList]):
    """One list after the other; each member is begun as if it were asked for alone, beside what others ask for.

    The first member that fails ends its list.
    """

    def __init__(self, detached: DetachedWork) -> None:
        super().__init__()
        self._detached = detached

    def begin(
        self, names: tuple[str, ...], members: Iterable[Member], rate: Callable[[], float]
    ) -> WorkList:
        """At most `rate` members a second, asked before each, 0 or less as they come.

        They may be found while others are worked on.

        What has begun with the same names and is not done is not begun again. RemotingError when too much waits.
        """
        if found := self._find(names):
            return found
        waiting = sum(len(there.names) for there in self._waiting)
        if waiting + len(names) > MOST_NAMES:
            raise RemotingError(
                ResponseCode.SYSTEM_BUSY,
                f"{waiting} names of other lists are not done, and {MOST_NAMES} may wait at most:"
                f" ask for these {len(names)} later, or for fewer at a time",
            )
        return self._add(WorkList(names, members, rate))

    async def _play(self, work: WorkList) -> None:
        due = trio.current_time()
        for member in work.members:
            await trio.sleep_until(due)
            if (rate := work.rate()) > 0:
                due = max(due, trio.current_time() - _BURST_SECONDS) + 1 / rate
            detached = self._detached.begin(member.name, member.steps)
            if detached is not None:
                await self._detached.wait(detached)
