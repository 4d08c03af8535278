"""Looking at what a group could pop, without popping it: PEEK and NOTIFICATION."""

from typing import Final, NamedTuple

from trimq.broker.config import BrokerConfig
from trimq.broker.groups.offsets.committed import ConsumerOffsets
from trimq.broker.pop.order.rules import OrderedBlocks, OrderedQueue
from trimq.broker.pop.reading.checks import MOST_MESSAGES, PopChecks, Wanted
from trimq.broker.pop.reading.elastic_pops import ElasticPops
from trimq.broker.pop.reading.selection import in_turn
from trimq.codec.headers.pop import NotificationRequestHeader, PeekMessageRequestHeader
from trimq.codec.names import pop_retry_topic
from trimq.store.message_store import MessageStore
from trimq.store.messages.tag_matching import matches
from trimq.store.reading.pulls import MAX_PULL_BYTES, ReadStatus

# Entries whose tags a notification looks at.
_LOOKED_AT: Final = 32
_WRONG_OFFSET: Final = (ReadStatus.OFFSET_TOO_SMALL, ReadStatus.OFFSET_OVERFLOW_BADLY)


class PeekResult(NamedTuple):
    """Where the messages lie, how many they are, and how many the queues have that were looked at."""

    extents: list[tuple[int, int]]
    messages: int
    rest: int


class Peek:
    def __init__(
        self,
        config: BrokerConfig,
        checks: PopChecks,
        offsets: ConsumerOffsets,
        blocks: OrderedBlocks,
        store: MessageStore,
        elastic: ElasticPops,
    ) -> None:
        self._elastic = elastic
        self._config = config
        self._checks = checks
        self._offsets = offsets
        self._blocks = blocks
        self._store = store

    def has_message(self, header: NotificationRequestHeader, wanted: Wanted, drawn: int) -> bool:
        """Whether a pop would find something; of the retry topic anything counts (NotificationProcessor)."""
        topic, group = header.topic, header.consumer_group
        config = self._config
        numbers = (
            in_turn(self._checks.queues(topic), drawn) if header.queue_id < 0 else [header.queue_id]
        )
        retries = [self._checks.retry_topic(topic, group)]
        if config.enable_retry_topic_v2 and config.retrieve_message_from_pop_retry_topic_v1:
            # Pops read what is still in the topic of the first naming.
            retries.append(pop_retry_topic(topic, group))
        return any(self._has(header, topic, number, wanted) for number in numbers) or any(
            self._has(header, retry, number, Wanted())
            for retry in retries
            for number in in_turn(self._checks.queues(retry), drawn)
        )

    def _has(
        self, header: NotificationRequestHeader, topic: str, queue_id: int, wanted: Wanted
    ) -> bool:
        group = header.consumer_group
        if header.order:
            # Of the topic that was asked for, also when it is the retry topic's turn.
            queue = OrderedQueue(header.topic, group, queue_id)
            # After a reset the next pop forgets the block.
            reset = self._offsets.has_reset(group, header.topic, queue_id)
            if not reset and self._blocks.is_blocked(queue, header.attempt_id, 0):
                return False
        begin = self._position(group, topic, queue_id)
        rest = self._end(group, topic, queue_id) - begin
        codes = wanted.codes
        if codes is None or rest >= self._config.max_message_filter_num_for_notification:
            return rest > 0
        for offset in range(begin, begin + min(rest, _LOOKED_AT)):
            entry = self._store.queue_entry(topic, queue_id, offset)
            if entry is not None and matches(entry.tags_code, codes):
                return True
        return False

    def peek(self, header: PeekMessageRequestHeader, drawn: int) -> PeekResult:
        """The next messages of the group; nothing moves (PeekMessageProcessor)."""
        topic, group = header.topic, header.consumer_group
        retry = self._checks.retry_topic(topic, group)
        retries = [(retry, number) for number in in_turn(self._checks.queues(retry), drawn)]
        own = [(topic, header.queue_id)]
        if header.queue_id < 0:
            own = [(topic, number) for number in in_turn(self._checks.queues(topic), drawn)]
        first = drawn % 5 == 0
        most = min(header.max_msg_nums, MOST_MESSAGES)
        extents: list[tuple[int, int]] = []
        count = rest = 0
        for place in retries + own if first else own:
            found = self._peek_at(group, *place, most - count)
            extents, count, rest = (
                extents + found.extents,
                count + found.messages,
                rest + found.rest,
            )
        if not first and count < most:
            for place in retries:
                found = self._peek_at(group, *place, most - count)
                extents, count = extents + found.extents, count + found.messages
                rest += found.rest
        return PeekResult(extents, count, rest)

    def _peek_at(self, group: str, topic: str, queue_id: int, room: int) -> PeekResult:
        offset = self._position(group, topic, queue_id)
        rest = self._store.max_offset(topic, queue_id) - offset
        if room <= 0:
            return PeekResult([], 0, rest)
        until = self._elastic.until(group, topic, queue_id)
        found = self._store.read(topic, queue_id, offset, room, MAX_PULL_BYTES, None, until)
        if found.status in _WRONG_OFFSET:
            offset = found.next_begin_offset
            found = self._store.read(topic, queue_id, offset, room, MAX_PULL_BYTES, None, until)
        return PeekResult(found.extents, found.message_count, rest)

    def _end(self, group: str, topic: str, queue_id: int) -> int:
        """Up to where a pop could get messages."""
        end = self._store.max_offset(topic, queue_id)
        until = self._elastic.until(group, topic, queue_id)
        return end if until is None else min(end, until)

    def _position(self, group: str, topic: str, queue_id: int) -> int:
        offset = self._offsets.query(group, topic, queue_id)
        return offset if offset >= 0 else self._store.min_offset(topic, queue_id)
