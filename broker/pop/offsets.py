"""How far a group has popped a queue: its committed offset, moved by checkpoints once they are written.

The same checkpoints move it at start, those that are younger than the file of the offsets: so a crash hands nothing
out twice (RocketMQ forgets up to five seconds).

Two pops of one receive must not get the same messages, though nothing is written before the receive ends: what is
staged counts for the second one. If the write fails, it counts no more (a claim of the store says so).
"""

from collections.abc import Callable
from typing import Final

from trimq.broker.groups.offsets import NOT_FOUND, ConsumerOffsets
from trimq.broker.pop.batches import OrderedBatches
from trimq.broker.pop.checkpoints import MOVES_NOTHING
from trimq.broker.pop.in_flight import InFlight
from trimq.codec.bodies.base import decode_body
from trimq.codec.bodies.pop import PopCheckPoint
from trimq.codec.errors import CodecError
from trimq.codec.names import RETRY_PREFIX, TIMER_TOPIC
from trimq.codec.pop.handle import normal_topic
from trimq.codec.pop.notes import CHECKPOINT
from trimq.codec.records.properties import parse_properties
from trimq.codec.records.property_keys import REAL_TOPIC, TAGS, TIMER_OUT_MS, TIMER_ROLL_TIMES
from trimq.store.message_store import MessageStore
from trimq.store.messages.effects import Claim
from trimq.store.messages.message import Dispatched, Message

# ConsumeInitMode: where a group without an offset begins.
FIRST: Final = 0
_CLAIM: Final[Claim] = ("pop", 0)
_Key = tuple[str, str, int]


class PopOffsets:
    """`looks_in_memory`: initPopOffsetByCheckMsgInMem."""

    def __init__(
        self,
        offsets: ConsumerOffsets,
        store: MessageStore,
        blocks: OrderedBatches,
        in_flight: InFlight | None = None,
    ) -> None:
        self._in_flight = in_flight
        self._offsets = offsets
        self._blocks = blocks
        self._store = store
        self._staged: dict[_Key, int] = {}

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
        offset = self._offsets.query(group, topic, queue_id)
        if offset == NOT_FOUND or offset < 0:
            offset = self._first(topic, queue_id, init_mode)
            self._offsets.commit("getPopOffset", group, topic, queue_id, offset)
            # Chosen once: after a crash it could be another one.
            self._offsets.turn()
        return offset

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
        self._store.claims.add(_CLAIM)

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
        since = self._offsets.noted_log_end
        if since is None:
            # No file, or RocketMQ wrote it.
            return 0
        replayed = _Replayed(self._offsets, revive_topic, known)
        queues = [(TIMER_TOPIC, 0)]
        queues += [(revive_topic, number) for number in self._store.queues(revive_topic)]
        for topic, queue_id in queues:
            begin = self._first_at(topic, queue_id, since)
            self._store.replay(topic, queue_id, begin, replayed.take)
        return replayed.moved

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

    def _forget_failed(self) -> None:
        if self._staged and _CLAIM not in self._store.claims:
            self._staged = {}

    def _first(self, topic: str, queue_id: int, init_mode: int) -> int:
        low = self._store.min_offset(topic, queue_id)
        if init_mode == FIRST or topic.startswith(RETRY_PREFIX):
            return low
        high = self._store.max_offset(topic, queue_id)
        if low <= 0 and self._is_in_memory(topic, queue_id):
            return 0
        return max(high - 1, 0)

    def _is_in_memory(self, topic: str, queue_id: int) -> bool:
        """As 5.5.0 on JDK 17 has it, where every message of a queue counts as in memory."""
        return self._store.max_offset(topic, queue_id) > 0


class _Replayed:
    """Moves offsets by checkpoints that are in the log."""

    def __init__(
        self, offsets: ConsumerOffsets, revive_topic: str, known: Callable[[str, str], bool]
    ) -> None:
        self._offsets = offsets
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
        if self._known(normal_topic(point.t, point.c), point.c):
            self._offsets.commit("replay", point.c, point.t, point.q, following)
            self.moved += 1

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
