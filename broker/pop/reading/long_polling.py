"""Pops that found nothing and wait (PopLongPollingService).

A pop waits for a group's messages in one queue of a topic, or in all of them (-1). An arrival wakes one of each: the
one whose time is up first, if it wants the message. Nothing looks at those that wait while nothing comes.
"""

from typing import Final, Protocol

from trimq.base.clock import Clock
from trimq.base.waits import Key, Waited, Waiter, Waits
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


def time_left(asked: Asked, clock: Clock) -> int:
    """Milliseconds until it is answered in any case; not positive: now.

    A client's clock may be ahead of this one, which may have been set back: nobody waits for longer than was asked for.
    """
    now = clock.millis()
    born = clock.of_peer(asked.born_time)
    if born > now:
        asked.born_time = born = now
    return born + asked.poll_time - _AHEAD - now


def use_up(asked: Asked, clock: Clock) -> None:
    """It has waited for its time: none is left of it by this clock either, which may stand still (trimq/hand)."""
    asked.poll_time = clock.millis() - clock.of_peer(asked.born_time) + _AHEAD


class _Wait(Waiter):
    __slots__ = ("codes", "filter")

    def __init__(
        self, key: Key, codes: frozenset[int] | None, message_filter: MessageFilter | None
    ) -> None:
        super().__init__(key)
        self.codes = codes
        self.filter = message_filter

    def wants(self, message: Dispatched) -> bool:
        if self.filter is not None:
            return self.filter.matches(message.properties)
        return self.codes is None or matches(message.tags_code, self.codes)


class PopLongPolling(Waits[_Wait]):
    """`latest_first`: whose time is up last is woken first, as NOTIFICATION has it."""

    def __init__(
        self, config: BrokerConfig, clock: Clock | None = None, latest_first: bool = False
    ) -> None:
        super().__init__(latest_first=latest_first, longest_turn=_LONGEST_TURN, clock=clock)
        self._config = config

    def is_full(self, key: Key) -> bool:
        config = self._config
        most = config.max_pop_polling_size
        return self.waiting >= most or len(self.at(*key)) > config.pop_polling_size

    async def wait(
        self,
        key: Key,
        seconds: float,
        codes: frozenset[int] | None = None,
        message_filter: MessageFilter | None = None,
        seen: int = -1,
    ) -> Waited:
        """`key`: topic, group, queue. `seen`: the version when the caller began to look; -1: it has awaited nothing
        since.
        """
        return await self.hold(_Wait(key, codes, message_filter), seconds, seen)

    def arrived(self, messages: list[Dispatched]) -> None:
        """The store's listener."""
        self.version += 1
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

    def _wake(self, topic: str, group: str, queue_id: int, message: Dispatched | None) -> None:
        first = self.first(topic, group, queue_id)
        if first is not None and (message is None or first.wants(message)):
            self.let_go(first, alone=True)
