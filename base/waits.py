"""The one way to wait until something has happened.

Who waits has looked, and found nothing. Between the look and the wait others may have their turn, and what happens then
wakes nobody. So who looks notes `version` first, and says in `hold` what that was: when there was a wake since, for
whatever key, it looks again at once. A look too many costs little, a wake that is lost costs all the time there is.

Whoever waits is listed under its key until it is woken, its time is up or it is cancelled. Who is woken looks again.
One woken *alone* stands for one thing that others want as well: if it is cancelled before it goes on, the next is.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence
from enum import Enum
from math import inf
from operator import attrgetter
from typing import Final, Generic, TypeVar

import trio

from trimq.base.clock import Clock
from trimq.base.staggered_wakeups import StaggeredWakeups

Key = tuple[str, str, int]
"""What one waits for: mostly a topic, a group and a queue."""

_EXPIRES: Final = attrgetter("expires")
_SERVICE: Final = ("", "", 0)


class Waited(Enum):
    """How a wait ended. FULL: it did not begin."""

    WOKEN = "woken"
    TIME_OUT = "time is up"
    FULL = "full"


class Waiter:
    """One that waits. Who wakes may want to know more of it: that is for subclasses."""

    __slots__ = ("expires", "is_alone", "is_listed", "is_woken", "key", "scope", "task")

    # Set when it begins to wait. When its time is up: in Trio's seconds, and what sees to it.
    expires: float
    scope: trio.CancelScope

    def __init__(self, key: Key) -> None:
        self.key = key
        self.is_listed = False
        self.is_woken = False
        self.is_alone = False
        # While it sleeps.
        self.task: trio.lowlevel.Task | None = None

    def abort(self, _: object) -> trio.lowlevel.Abort:
        """Its time is up, or it is cancelled."""
        self.task = None
        return trio.lowlevel.Abort.SUCCEEDED


W = TypeVar("W", bound=Waiter)


class Waits(Generic[W]):
    """All that wait for the same kind of thing."""

    def __init__(
        self,
        limit: int = 0,
        latest_first: bool = False,
        longest_turn: float = 1.0,
        clock: Clock | None = None,
        for_peers: bool = True,
    ) -> None:
        """`limit`: how many may wait; 0: any number. `latest_first`: of one key, the one whose time is up last comes
        first. `longest_turn`: seconds for which those may wait for each other whose time is up together. `clock`: by
        whose time they wait; None: Trio's. `for_peers`: a peer waits for each of them by its own time.
        """
        self.version = 0
        """How many wakes there were."""
        self.waiting = 0
        """How many are listed."""
        self._limit = limit
        self._topics: dict[str, dict[str, dict[int, list[W]]]] = {}
        self._first = -1 if latest_first else 0
        self._clock = clock or Clock()
        self._for_peers = for_peers
        self._expired = StaggeredWakeups(longest_turn)

    def is_full(self, key: Key) -> bool:
        """Whether no other may wait, or none for this key."""
        return bool(self._limit) and self.waiting >= self._limit

    def at(self, topic: str, group: str, queue_id: int) -> Sequence[W]:
        """Who waits there, by when its time is up. Going through it from its end, one may let go the one at hand."""
        groups = self._topics.get(topic)
        queues = None if groups is None else groups.get(group)
        return () if queues is None else queues.get(queue_id, ())

    async def hold(self, one: W, seconds: float, seen: int = -1) -> Waited:
        """Until it is woken, or `seconds` have passed.

        `seen`: the version when the caller began to look; -1: it has awaited nothing since.
        """
        if seen not in (-1, self.version):
            return Waited.WOKEN
        if self.is_full(one.key):
            return Waited.FULL
        with self._clock.move_on_after(seconds, self._for_peers) as scope:
            one.scope = scope
            one.expires = scope.deadline
            one.task = trio.lowlevel.current_task()
            self._add(one)
            try:
                await trio.lowlevel.wait_task_rescheduled(one.abort)
            except trio.Cancelled:
                if one.is_alone:
                    self.wake_first(*one.key)
                raise
            finally:
                if one.is_listed:
                    self._remove(one)
        if scope.cancelled_caught:
            await self._expired.turn()
        return Waited.WOKEN if one.is_woken else Waited.TIME_OUT

    # --- waking

    def wake_all(self, topic: str, group: str, queue_id: int) -> None:
        """All that wait there."""
        self.version += 1
        if self.waiting:
            for one in reversed(self.at(topic, group, queue_id)):
                self.let_go(one)

    def wake_first(self, topic: str, group: str, queue_id: int) -> bool:
        """Whoever comes first there, alone; false if nobody waits."""
        self.version += 1
        first = self.first(topic, group, queue_id)
        if first is not None:
            self.let_go(first, alone=True)
        return first is not None

    def first(self, topic: str, group: str, queue_id: int) -> W | None:
        here = self.at(topic, group, queue_id)
        return here[self._first] if here else None

    def let_go(self, one: W, alone: bool = False) -> None:
        """It goes on. The version is the affair of who has looked for it."""
        if one.is_listed:
            self._remove(one)
            one.is_woken = True
            one.is_alone = alone
            if one.task is not None:
                trio.lowlevel.reschedule(one.task)
                one.task = None

    # --- listing

    def _add(self, one: W) -> None:
        topic, group, queue_id = one.key
        queues = self._topics.setdefault(topic, {}).setdefault(group, {})
        here = queues.setdefault(queue_id, [])
        if here and here[-1].expires > one.expires:
            insort(here, one, key=_EXPIRES)
        else:
            here.append(one)
        one.is_listed = True
        self.waiting += 1

    def _remove(self, one: W) -> None:
        one.is_listed = False
        self.waiting -= 1
        topic, group, queue_id = one.key
        groups = self._topics[topic]
        queues = groups[group]
        here = queues[queue_id]
        if here[-1] is one:
            here.pop()
        else:
            del here[here.index(one, bisect_left(here, one.expires, key=_EXPIRES))]
        if not here:
            del queues[queue_id]
            if not queues:
                del groups[group]
                if not groups:
                    del self._topics[topic]


class Wakeup:
    """Wakes the one service that looks after something: `wait` ends when there was a `give` since it ended last."""

    def __init__(self, clock: Clock | None = None) -> None:
        """`clock`: by whose time `wait` waits; None: Trio's."""
        self._clock = clock or Clock()
        self._waits = Waits[Waiter](clock=self._clock, for_peers=False)
        self._seen = 0

    def give(self) -> None:
        """There is something to look at."""
        self._waits.wake_all(*_SERVICE)

    async def wait(
        self, seconds: float = inf, gather: float = 0, hurry: Wakeup | None = None
    ) -> bool:
        """Until then, or until `seconds` have passed; whether there was a `give`. `gather`: seconds to wait for what
        comes with the first, if nobody gives `hurry`.
        """
        began = self._clock.current_time()
        await trio.lowlevel.checkpoint()
        # A test may have moved the time meanwhile.
        left = max(seconds - (self._clock.current_time() - began), 0)
        is_given = await self._waits.hold(Waiter(_SERVICE), left, self._seen) is Waited.WOKEN
        if gather and is_given and hurry is None:
            await trio.sleep(gather)
        elif gather and is_given and hurry is not None:
            await hurry.wait(gather)
        self._seen = self._waits.version
        return is_given
