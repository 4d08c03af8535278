"""Pops that found nothing and wait (PopLongPollingService).

A pop waits for a group's messages in one queue of a topic, or in all of them (-1). An arrival wakes one of each: the
one whose time is up first, if it wants the message. Nothing looks at those that wait while nothing comes.
"""

from __future__ import annotations

from bisect import insort
from enum import Enum
from typing import Final, Protocol

import trio

from trimq.base.staggered_wakeups import StaggeredWakeups
from trimq.broker.config import BrokerConfig
from trimq.codec.names import LIGHT_QUEUE_ID, RETRY_PREFIX
from trimq.codec.records.properties import find_property
from trimq.codec.records.property_keys import ORIGIN_GROUP
from trimq.store.messages.filter import MessageFilter
from trimq.store.messages.message import Dispatched
from trimq.store.messages.tag_matching import matches

_ALL_QUEUES: Final = -1
# Whoever waits is answered so many milliseconds before its time is up (PopRequest.isTimeout).
_AHEAD: Final = 50
# Seconds that one whose time is up waits for its turn, at most.
_LONGEST_TURN: Final = 0.25
_ORIGIN_GROUP: Final = ORIGIN_GROUP.encode()


class Asked(Protocol):
    """A request that may wait: when it was made, and for how long, in milliseconds."""

    born_time: int
    poll_time: int


def time_left(asked: Asked, now: int) -> int:
    """Milliseconds until it is answered in any case; not positive: now.

    A client's clock may be ahead of this one, which may have been set back: nobody waits for longer than was asked for.
    """
    asked.born_time = min(asked.born_time, now)
    return asked.born_time + asked.poll_time - _AHEAD - now


class Waited(Enum):
    """How a wait ended. FULL: it did not begin."""

    WOKEN = "woken"
    TIME_OUT = "time is up"
    FULL = "full"


class _Wait:
    __slots__ = ("codes", "expires", "filter", "number", "woken")

    def __init__(
        self,
        expires: float,
        number: int,
        codes: frozenset[int] | None,
        message_filter: MessageFilter | None,
    ) -> None:
        self.expires = expires
        self.number = number
        self.codes = codes
        self.filter = message_filter
        self.woken = trio.Event()

    def __lt__(self, other: _Wait) -> bool:
        return (self.expires, self.number) < (other.expires, other.number)

    def wants(self, message: Dispatched) -> bool:
        if self.filter is not None:
            return self.filter.matches(message.properties)
        return self.codes is None or matches(message.tags_code, self.codes)


class PopLongPolling:
    """`latest_first`: whose time is up last is woken first, as NOTIFICATION has it."""

    def __init__(self, config: BrokerConfig, latest_first: bool = False) -> None:
        self._config = config
        self._topics: dict[str, dict[str, dict[int, list[_Wait]]]] = {}
        self._next = -1 if latest_first else 0
        self._number = 0
        self._expired = StaggeredWakeups(_LONGEST_TURN)
        self.waiting = 0
        self.news = 0
        """How often there was something to wake for: a look is out of date when this has grown since."""

    async def wait(
        self,
        key: tuple[str, str, int],
        seconds: float,
        codes: frozenset[int] | None = None,
        message_filter: MessageFilter | None = None,
        news: int = -1,
    ) -> Waited:
        """`key`: topic, group, queue. `news`: what that was when the caller began to look; -1: it has awaited nothing
        since. What came after that would have woken it.
        """
        if news not in (-1, self.news):
            return Waited.WOKEN
        topic, group, queue_id = key
        queues = self._topics.setdefault(topic, {}).setdefault(group, {})
        waits = queues.setdefault(queue_id, [])
        config = self._config
        if self.waiting >= config.max_pop_polling_size or len(waits) > config.pop_polling_size:
            self._drop_empty(topic, group, queue_id)
            return Waited.FULL
        self._number += 1
        wait = _Wait(trio.current_time() + seconds, self._number, codes, message_filter)
        insort(waits, wait)
        self.waiting += 1
        with trio.move_on_after(seconds) as scope:
            try:
                await wait.woken.wait()
            except trio.Cancelled:
                if wait.woken.is_set():
                    # Its client has left: the message is for the next one.
                    self.wake(topic, group, queue_id)
                raise
            finally:
                self._remove(topic, group, queue_id, wait)
        if scope.cancelled_caught:
            await self._expired.turn()
        return Waited.WOKEN if wait.woken.is_set() else Waited.TIME_OUT

    def arrived(self, messages: list[Dispatched]) -> None:
        """The store's listener."""
        self.news += 1
        # Each write passes here, and mostly nobody waits.
        if not self.waiting:
            return
        for message in messages:
            topic = message.topic
            if topic.startswith(RETRY_PREFIX):
                self._arrived_again(topic, message)
                continue
            self._arrived_in(topic, message.queue_id, message)
            for light, _ in message.light_queues:
                self._arrived_in(light, LIGHT_QUEUE_ID, message)

    def _arrived_in(self, topic: str, queue_id: int, message: Dispatched) -> None:
        groups = self._topics.get(topic)
        if groups is not None:
            for group in list(groups):
                self._wake_both(topic, group, queue_id, message)

    def wake(self, topic: str, group: str, queue_id: int) -> bool:
        """Whoever comes first there, whatever it wants; false if nobody waits."""
        self.news += 1
        return self._wake(topic, group, queue_id, None)

    def waiting_for(self, topic: str, group: str, queue_id: int) -> int:
        return len(self._topics.get(topic, {}).get(group, {}).get(queue_id, ()))

    def _arrived_again(self, topic: str, message: Dispatched) -> None:
        """In a retry topic, whose name does not say where the group's ends."""
        origin = find_property(message.properties, _ORIGIN_GROUP)
        if origin is None:
            return
        group = origin.decode(errors="replace")
        normal = topic[len(RETRY_PREFIX) + len(group) + 1 :]
        if group.strip() and normal:
            self._wake_both(normal, group, message.queue_id, None)

    def _wake_both(self, topic: str, group: str, queue_id: int, message: Dispatched | None) -> None:
        self._wake(topic, group, _ALL_QUEUES, message)
        self._wake(topic, group, queue_id, message)

    def _wake(self, topic: str, group: str, queue_id: int, message: Dispatched | None) -> bool:
        waits = self._topics.get(topic, {}).get(group, {}).get(queue_id)
        if not waits:
            return False
        first = waits[self._next]
        if message is not None and not first.wants(message):
            return False
        self._remove(topic, group, queue_id, first)
        first.woken.set()
        return True

    def _remove(self, topic: str, group: str, queue_id: int, wait: _Wait) -> None:
        waits = self._topics.get(topic, {}).get(group, {}).get(queue_id)
        if waits is not None and wait in waits:
            waits.remove(wait)
            self.waiting -= 1
            self._drop_empty(topic, group, queue_id)

    def _drop_empty(self, topic: str, group: str, queue_id: int) -> None:
        groups = self._topics[topic]
        queues = groups[group]
        if not queues[queue_id]:
            del queues[queue_id]
            if not queues:
                del groups[group]
                if not groups:
                    del self._topics[topic]
