"""Pulls that found nothing, and wait until a message they want lands.

A waiting pull is kept with its queue, so an arriving message touches the pulls of that queue only;
there is no scanner. What wakes a pull is what wakes one in PullRequestHoldService:

- a message at or after its offset whose tag hash it asked for, or that its filter matches: at once;
- any other message at or after its offset: at most five seconds later, so that the client learns how
  far its queue has moved (the 5 s rescan there, which passes no tag and so matches);
- its time is up.

Filters are asked at once as long as that is quick; what would hold up the writer of the messages is
left to a service, `ask_later`.

The caller then reads once more and answers whatever it finds.
"""

from collections import deque
from typing import Final

import trio

from trimq.base.clock import Clock
from trimq.base.waits import Waited, Waiter, Waits, Wakeup
from trimq.codec.names import LIGHT_QUEUE_ID
from trimq.store.messages.filter import MessageFilter
from trimq.store.messages.message import Dispatched
from trimq.store.messages.tag_matching import matches

RECHECK_SECONDS = 5.0
# What asking filters may cost at a time, in bytes looked at and as much for each question.
_WORK: Final = 500_000
_QUESTION: Final = 700
# Questions that are left for later; pulls that would have more are woken for a look.
_BACKLOG: Final = 20_000
# So many pulls are woken at a time: each reads and answers in the same round of the loop, where nobody else gets in
# between.
_WOKEN_AT_ONCE: Final = 16
_ANY_GROUP: Final = ""


class _WaitingPull(Waiter):
    """One pull that waits: where it reads from, and which tag hashes or what else it wants."""

    __slots__ = ("called", "codes", "filter", "offset", "passed")

    def __init__(
        self,
        topic: str,
        queue_id: int,
        offset: int,
        codes: frozenset[int] | None,
        message_filter: MessageFilter | None,
    ) -> None:
        super().__init__((topic, _ANY_GROUP, queue_id))
        self.offset = offset
        self.codes = codes
        self.filter = message_filter
        self.passed = False
        # It is woken, or will be as soon as those before it are.
        self.called = False

    def pass_by(self) -> None:
        """A message that it does not want."""
        if not self.passed:
            self.passed = True
            recheck = trio.current_time() + RECHECK_SECONDS
            self.scope.deadline = min(self.scope.deadline, recheck)


class Arrivals(Waits[_WaitingPull]):
    """Which pulls wait for which queue. A listener of the store.

    Its version counts what else wakes pulls: for messages a queue's end says whether there was one since.
    """

    def __init__(self, limit: int = 0, clock: Clock | None = None) -> None:
        super().__init__(limit, clock=clock)
        self._work = 0
        self._backlog: deque[tuple[bytes, _WaitingPull]] = deque()
        self._called: deque[_WaitingPull] = deque()
        self._at_once = _WOKEN_AT_ONCE
        self._left_over = Wakeup()

    async def wait(
        self,
        topic: str,
        queue_id: int,
        offset: int,
        codes: frozenset[int] | None,
        seconds: float,
        message_filter: MessageFilter | None = None,
        seen: int = -1,
    ) -> bool:
        """Return when it is worth reading the queue at `offset` again, or after `seconds`.

        False, at once, when no more pulls may wait. `seen`: the version when the caller began to look at the queue. It
        must not have awaited anything since it saw where the queue ends, or it misses what has arrived since.
        """
        pull = _WaitingPull(topic, queue_id, offset, codes, message_filter)
        return await self.hold(pull, seconds, seen) is not Waited.FULL

    def arrived(self, messages: list[Dispatched]) -> None:
        """The store's listener: wake the pulls that wait for one of these messages."""
        if self.waiting:
            self._work = _WORK
            self._at_once = 0 if self._called else _WOKEN_AT_ONCE
            topics = self._topics
            for message in messages:
                if message.topic in topics:
                    self._look(message.topic, message.queue_id, message.queue_offset, message)
                for topic, offset in message.light_queues:
                    if topic in topics:
                        self._look(topic, LIGHT_QUEUE_ID, offset, message)

    def wake(self, topic: str, queue_id: int) -> None:
        """All pulls that wait for this queue look again."""
        self.version += 1
        self._at_once = 0 if self._called else _WOKEN_AT_ONCE
        for waiting in reversed(self.at(topic, _ANY_GROUP, queue_id)):
            self._call(waiting)

    def _call(self, waiting: _WaitingPull) -> None:
        """Wake it, in turn if there are many."""
        if waiting.called:
            return
        waiting.called = True
        if self._at_once > 0:
            self._at_once -= 1
            self.let_go(waiting)
        else:
            self._called.append(waiting)
            self._left_over.give()

    async def ask_later(self) -> None:
        """Background service: ask the filters that `arrived` had no time for, and wake those that it left."""
        while True:
            await self._left_over.wait()
            while self._backlog or self._called:
                for _ in range(min(len(self._called), _WOKEN_AT_ONCE)):
                    self.let_go(self._called.popleft())
                self._at_once = 0
                self._work = _WORK
                while self._backlog and self._work > 0:
                    properties, waiting = self._backlog.popleft()
                    self._ask(waiting, properties)
                await trio.lowlevel.checkpoint()

    def _look(self, topic: str, queue_id: int, offset: int, message: Dispatched) -> None:
        for waiting in reversed(self._topics[topic][_ANY_GROUP].get(queue_id, ())):
            if offset < waiting.offset or waiting.called:
                continue
            if waiting.filter is not None:
                self._ask_soon(waiting, message.properties)
            elif waiting.codes is None or matches(message.tags_code, waiting.codes):
                self._call(waiting)
            else:
                waiting.pass_by()

    def _ask_soon(self, waiting: _WaitingPull, properties: bytes) -> None:
        if self._work > 0:
            self._ask(waiting, properties)
        elif len(self._backlog) < _BACKLOG:
            self._backlog.append((properties, waiting))
            self._left_over.give()
        else:
            self._call(waiting)

    def _ask(self, waiting: _WaitingPull, properties: bytes) -> None:
        message_filter = waiting.filter
        if waiting.called or message_filter is None:
            return
        self._work -= _QUESTION
        if message_filter.matches(properties):
            self._call(waiting)
        else:
            waiting.pass_by()
        self._work -= message_filter.spent
