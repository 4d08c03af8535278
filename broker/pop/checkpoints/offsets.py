"""How far a group has popped a queue: its committed offset, moved by checkpoints once they are written.

The same checkpoints move it at start, those that are younger than the file of the offsets: so a crash hands nothing
out twice (RocketMQ forgets up to five seconds).

Two pops of one receive must not get the same messages, though nothing is written before the receive ends: what is
staged counts for the second one. If the write fails, it counts no more (a claim of the store says so).

Hot: compiled by mypyc when a compiler is there.
"""

import logging
from collections.abc import Callable
from time import perf_counter
from typing import Final

from trimq.broker.config import BrokerConfig
from trimq.broker.consume.first_offsets import for_pop
from trimq.broker.groups.offsets.committed import NOT_FOUND, ConsumerOffsets
from trimq.broker.pop.checkpoints.in_flight import InFlight
from trimq.broker.pop.checkpoints.notes import MOVES_NOTHING
from trimq.broker.pop.order.rules import OrderedBlocks
from trimq.broker.pop.reading.elastic_pops import ElasticPops
from trimq.codec.bodies.base import decode_body
from trimq.codec.bodies.pop import PopCheckPoint
from trimq.codec.errors import CodecError
from trimq.codec.names import TIMER_TOPIC
from trimq.codec.pop.handle import normal_topic
from trimq.codec.pop.revive_records import CHECKPOINT
from trimq.codec.records.properties import parse_properties
from trimq.codec.records.property_keys import REAL_TOPIC, TAGS, TIMER_OUT_MS, TIMER_ROLL_TIMES
from trimq.store.message_store import MessageStore
from trimq.store.messages.effects import Claim, Effect
from trimq.store.messages.message import Dispatched, Message
from trimq.store.opening.recovery_points import RecoveryPoint, Unit

log = logging.getLogger("trimq.pop")

_CLAIM: Final[Claim] = ("pop", 0)
_Key = tuple[str, str, int]


class PopOffsets:
    """What the group has popped of each queue."""

    def __init__(
        self,
        config: BrokerConfig,
        offsets: ConsumerOffsets,
        store: MessageStore,
        blocks: OrderedBlocks,
        in_flight: InFlight | None = None,
        elastic: ElasticPops | None = None,
    ) -> None:
        self._config = config
        self._elastic = elastic
        self._in_flight = in_flight
        self._offsets = offsets
        self._blocks = blocks
        self._store = store
        # The store's own, which is emptied and never replaced.
        self._claims = store.claims
        self._staged: dict[_Key, int] = {}
        # Where in the queues of checkpoints the records begin that the offsets' file does not have, by the log's end
        # that it names.
        self._since = -1
        self._firsts: dict[tuple[str, int], int] = {}
        self._point: RecoveryPoint | None = None

    def recovery_point(self, revive_topic: str) -> RecoveryPoint:
        self._point = RecoveryPoint(
            "consumer offsets",
            "checkpoints of pops since their file was written move them once more",
            Unit.QUEUES,
            self._needed_from,
            lambda: self._owed(revive_topic),
            self._offsets.file.hurry,
        )
        return self._point

    def position(self, group: str, topic: str, queue_id: int, init_mode: int) -> int:
        """Where the group goes on; for one that begins, that is stored as its offset."""
        self._forget_failed()
        staged = self._staged.get((group, topic, queue_id))
        if staged is not None:
            return staged
        reset = self._offsets.take_reset(group, topic, queue_id)
        if reset is not None:
            self._blocks.forget(topic, group, queue_id)
            self._offsets.commit("ResetPopOffset", group, topic, queue_id, reset)
            return reset
        elastic = self._elastic
        if elastic is not None and topic in elastic.topics:
            offset = elastic.position(group, topic, queue_id)
        else:
            offset = self._offsets.query(group, topic, queue_id)
        if offset == NOT_FOUND or offset < 0:
            from_young = self._config.init_pop_offset_by_check_msg_in_mem
            offset = for_pop(self._store, topic, queue_id, init_mode, from_young)
            self._offsets.commit("getPopOffset", group, topic, queue_id, offset)
            # Chosen once: after a crash it could be another one.
            self._offsets.file.turn()
        return offset

    def has_reset(self, group: str, topic: str, queue_id: int) -> bool:
        """Whether the group was moved since: what it has of the queue does not count any more."""
        offsets = self._offsets
        return offsets.has_reset(group, topic, queue_id) and offsets.keeps_resets(topic)

    def pending(self, group: str, topic: str, queue_id: int) -> int:
        """How many messages it has not popped; nothing is stored."""
        offset = self._offsets.query(group, topic, queue_id)
        if offset < 0:
            offset = self._store.min_offset(topic, queue_id)
        return max(0, self._store.max_offset(topic, queue_id) - offset)

    def correct(self, peer: str, group: str, topic: str, queue_id: int, offset: int) -> None:
        """The offset was outside of the queue, or nothing there is wanted: it moves without a checkpoint."""
        key = (group, topic, queue_id)
        if key in self._staged:
            self._staged[key] = offset
        else:
            self._offsets.commit(peer, group, topic, queue_id, offset)

    def stage(self, group: str, topic: str, queue_id: int, following: int, count: int) -> None:
        """A checkpoint of so many messages is staged that ends before `following`."""
        if self._in_flight is not None:
            self._in_flight.popped(group, topic, count)
        self._staged[group, topic, queue_id] = following
        self._claims.add(_CLAIM)

    def written(self) -> None:
        """The store's write listener: what was staged is in the log."""
        if self._staged:
            staged, self._staged = self._staged, {}
            for (group, topic, queue_id), following in staged.items():
                self._offsets.commit("PopCheckPoint", group, topic, queue_id, following)

    def replay(self, revive_topic: str, known: Callable[[str, str], bool]) -> int:
        """At start: what was written after the offsets were; how many checkpoints moved one. Blocks.

        `known`: whether a topic and a group still exist.
        """
        since = self._offsets.file.noted_log_end
        if since is None:
            # No file, or RocketMQ wrote it.
            return 0
        began, size = perf_counter(), self._owed(revive_topic)
        replayed = _Replayed(self._offsets, revive_topic, self._store, known)
        self._replay(revive_topic, since, replayed.take)
        if self._point is not None:
            self._point.has_read(since, size, perf_counter() - began)
        return replayed.moved

    def _needed_from(self) -> int:
        """Where the log ended when the file was written that is on the disk."""
        since = self._offsets.file.written_log_end
        return self._store.max_physical_offset if since is None else since

    def _owed(self, revive_topic: str) -> int:
        """About how many bytes of records there are to go through."""
        since, store = self._needed_from(), self._store
        if since != self._since:
            self._since = since
            self._firsts = {
                where: self._first_at(*where, since) for where in self._queues(revive_topic)
            }
        return sum(
            store.size_from(*where, self._firsts.get(where, 0))
            for where in self._queues(revive_topic)
        )

    def take_back(self, revive_topic: str, log_end: int) -> None:
        """Before the log is cut there: nobody will put back what was popped by the checkpoints that go, so it is
        handed out again. Blocks.
        """
        replayed = _Replayed(self._offsets, revive_topic, self._store, lambda topic, group: True)
        # One that only begins before the end goes too.
        since = max(log_end - self._store.largest_record, 0)

        def take_back(record: Dispatched, message: Message) -> None:
            if record.physical_offset + record.size > log_end:
                replayed.take_back(record, message)

        self._replay(revive_topic, since, take_back)

    def _replay(self, revive_topic: str, since: int, effect: Effect) -> None:
        for topic, queue_id in self._queues(revive_topic):
            begin = self._first_at(topic, queue_id, since)
            self._store.replay(topic, queue_id, begin, effect)

    def _queues(self, revive_topic: str) -> list[tuple[str, int]]:
        """Those that have checkpoints."""
        revive = [(revive_topic, number) for number in self._store.queues(revive_topic)]
        return [(TIMER_TOPIC, 0), *revive]

    def _first_at(self, topic: str, queue_id: int, position: int) -> int:
        """The queue's first message at this physical offset or behind it."""
        low = self._store.min_offset(topic, queue_id)
        high = self._store.max_offset(topic, queue_id)
        while low < high:
            middle = (low + high) // 2
            entry = self._store.queue_entry(topic, queue_id, middle)
            if entry is not None and entry.physical_offset >= position:
                high = middle
            else:
                low = middle + 1
        return low

    def has_failed(self) -> bool:
        """Whether what others were to get is there again, as its checkpoint could not be stored."""
        return bool(self._staged) and _CLAIM not in self._claims

    def _forget_failed(self) -> None:
        if self.has_failed():
            self._staged = {}


class _Replayed:
    """Moves offsets by checkpoints that are in the log."""

    def __init__(
        self,
        offsets: ConsumerOffsets,
        revive_topic: str,
        store: MessageStore,
        known: Callable[[str, str], bool],
    ) -> None:
        self._offsets = offsets
        self._store = store
        self._revive_topic = revive_topic
        self._known = known
        self.moved = 0

    def take(self, record: Dispatched, message: Message) -> None:
        point = self._popped(record, message)
        if point is None or point.t is None or point.c is None:
            return
        following = max(point.offsets(), default=-1) + 1
        if following <= self._offsets.query(point.c, point.t, point.q):
            return
        if following > self._store.next_offset(point.t, point.q):
            # Nobody has popped what never was.
            log.error("checkpoint of no messages: topic=%s queue=%d", point.t, point.q)
            return
        if self._known(normal_topic(point.t, point.c), point.c):
            self._offsets.commit("replay", point.c, point.t, point.q, following)
            self.moved += 1

    def take_back(self, record: Dispatched, message: Message) -> None:
        point = self._popped(record, message)
        if point is None or point.t is None or point.c is None:
            return
        if self._offsets.query(point.c, point.t, point.q) > point.so:
            self._offsets.commit("cut", point.c, point.t, point.q, max(point.so, 0))

    def _popped(self, record: Dispatched, message: Message) -> PopCheckPoint | None:
        """The checkpoint of a pop; None for other records, and for what the wheel has passed on."""
        properties = parse_properties(message.properties)
        if properties.get(TAGS) != CHECKPOINT or message.flag == MOVES_NOTHING:
            return None
        if record.topic == TIMER_TOPIC:
            own = properties.get(REAL_TOPIC) == self._revive_topic
            passed_on = TIMER_ROLL_TIMES in properties
        else:
            own, passed_on = True, TIMER_OUT_MS in properties
        if passed_on or not own:
            return None
        try:
            return decode_body(PopCheckPoint, message.body)
        except CodecError:
            return None
