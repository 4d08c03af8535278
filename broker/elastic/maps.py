"""Which physical queue each logical partition of an elastic topic has now, and changing that.

A change happens between two receives: what is staged is written, the queues' ends are read, one record
with the topic's whole state is appended, and with it the map is another one. When that write fails, the
old map stays.
"""

import logging
from collections.abc import Callable, Collection, Iterable
from functools import partial
from typing import Final, Protocol

from trimq.broker.elastic.kept_records import NOWHERE
from trimq.broker.elastic.log import ElasticLog
from trimq.broker.elastic.model import Change, Move, PlanError, TopicMap
from trimq.broker.elastic.partition_routing import OldLists, PartitionRouting
from trimq.broker.elastic.state_records import record_of, state_of
from trimq.broker.steps import Steps, at_once
from trimq.broker.tables.attributes import is_compacted
from trimq.broker.topics.names import validate_topic
from trimq.broker.topics.queue_choice import existing_queue
from trimq.broker.topics.queue_types import NOT_ELASTIC_TYPES, has_batch_queues
from trimq.broker.topics.table import Topics
from trimq.codec.bodies.elastic import (
    ElasticDeletion,
    ElasticRecord,
    ElasticState,
    encode_short,
)
from trimq.codec.bodies.topics import TopicConfig
from trimq.codec.flags import Perm
from trimq.codec.names import is_system_topic
from trimq.store.errors import MessageTooLarge

log = logging.getLogger("trimq.elastic")

_ANOTHER: Final = "create another topic"
NOBODY: frozenset[str] = frozenset()


class QueueEnds(Protocol):
    def write_others(self) -> None:
        """Write what is staged. StoreError."""

    def next_offset(self, topic: str, queue_id: int) -> int: ...

    def min_offset(self, topic: str, queue_id: int) -> int: ...

    def max_offset(self, topic: str, queue_id: int) -> int: ...

    def begin_queue(self, topic: str, queue_id: int, offset: int) -> None:
        """It forgets all that it has and goes on there."""

    def queues(self, topic: str) -> list[int]:
        """Those that have had a message, ascending."""

    @property
    def longest_body(self) -> int:
        """Bytes of a record's body, at most."""


class ElasticMaps:
    """The state of every elastic topic, by name."""

    def __init__(self, records: ElasticLog, topics: Topics, store: QueueEnds) -> None:
        self._records = records
        self._topics = topics
        self._store = store
        # Elastic topics and static ones: all others need no look.
        self.special: set[str] = topics.mappings.special
        self._states: dict[str, TopicMap] = {}
        # The same for puts.
        self.places = PartitionRouting(records.millis)
        # Where the record of each state lies.
        self._positions: dict[str, int] = {}
        self._listeners: list[Callable[[str, Change], None]] = []
        # Groups that are there and lack an offset in one of these queues.
        self.newcomers: Callable[[str, Collection[int]], frozenset[str]] = lambda *_: NOBODY
        # Whether such a group has still to begin where a change has told it.
        self.is_awaited: Callable[[str, Change], bool] = lambda *_: False
        records.add_taker(self._take, self._forget_all)

    # --- putting

    def place(self, topic: str, queue_id: int) -> int:
        """The queue that a message is put into that was sent before, as the last step before that.

        Of an ordinary topic the same one, unless that is not there any more.
        """
        if topic in self.special:
            return self.places.place(topic, queue_id)
        config = self._topics.get(topic)
        return queue_id if config is None else existing_queue(config, queue_id)

    # --- looking

    def state(self, topic: str) -> TopicMap | None:
        return self._states.get(topic)

    def topics(self) -> list[str]:
        """The names of all elastic topics."""
        return list(self._states)

    def counts(self, topic: str) -> list[int]:
        """How many messages each partition has got since the start, by LP."""
        return self.places.counts(topic)

    def old_lists(self, topic: str) -> OldLists | None:
        """Which connections seem to have the list of queues from before it became elastic; None if it had none."""
        placing = self.places.find(topic)
        return None if placing is None else placing.old_lists

    def left_queues(self, topic: str) -> list[int]:
        """Queues that are not in the route and have messages, ascending; an ordinary topic has none."""
        config = self._topics.get(topic)
        if topic not in self._states or config is None:
            return []
        return [
            queue
            for queue in self._store.queues(topic)
            if queue >= config.read_queue_nums
            and self._store.min_offset(topic, queue) < self._store.max_offset(topic, queue)
        ]

    def refusal(self, topic: str) -> str | None:
        """Why this topic cannot become elastic, if so; with what to do."""
        if topic in self._states:
            return f"{topic} is elastic already: scale it"
        wrong = validate_topic(topic)
        if wrong is not None:
            return f"{wrong}: choose another name"
        if topic.startswith("%") or is_system_topic(topic) or self._topics.is_system_topic(topic):
            return f"{topic} is one of the broker's own topics: choose another name"
        if self._topics.mappings.get(topic) is not None:
            return f"{topic} is a static topic, its queues are mapped already: {_ANOTHER}"
        config = self._topics.get(topic)
        if config is None:
            return None
        kind = (config.attributes or {}).get("message.type")
        if kind in NOT_ELASTIC_TYPES:
            return (
                f"{topic} has messages of type {kind}, which choose their queues otherwise:"
                f" {_ANOTHER}, or give it another message.type (updateTopic) if no such messages come"
            )
        if has_batch_queues(config):
            return f"{topic} has queues of type BatchCQ: {_ANOTHER}"
        if is_compacted(config.attributes):
            return f"{topic} is compacted (cleanup.policy=COMPACTION): {_ANOTHER}"
        return None

    # --- changing

    def create(self, topic: str, first: TopicMap) -> None:
        """Make a topic elastic, the existing or a new one. PlanError, StoreError: nothing has changed.

        An existing topic must have as many write queues as the map uses.
        """
        self.check_new(topic, first)
        queues = first.in_use
        if self._topics.get(topic) is None:
            self._topics.update(_ordinary(topic, queues))
        self._records.append(record_of(topic, first))
        self._topics.tell(topic)
        log.info(
            "topic is elastic: topic=%s queues=%d partitions=%d", topic, queues, len(first.queues)
        )

    def check_new(self, topic: str, first: TopicMap) -> None:
        """PlanError, LimitReached: `create` would refuse it, as things are."""
        refused = self.refusal(topic)
        if refused is not None:
            raise PlanError(refused)
        config = self._topics.get(topic)
        queues = first.in_use
        if config is None:
            self._topics.check_room(_ordinary(topic, queues))
        elif config.write_queue_nums != queues:
            raise PlanError(f"{topic} has {config.write_queue_nums} write queues, not {queues}")
        elif config.read_queue_nums < queues:
            raise PlanError(
                f"{topic} has {queues} write queues and {config.read_queue_nums} read queues:"
                " make them the same first (updateTopic)"
            )
        size = len(encode_short(record_of(topic, first)))
        if size > self._store.longest_body:
            raise _too_large(topic, f"{size} bytes, {self._store.longest_body} at most")

    def resize(self, topic: str, read: int, write: int) -> None:
        """What clients are told of queues to read, and what the table keeps as those to write."""
        state = self._known(topic)
        if read < state.in_use:
            raise PlanError(f"{state.in_use} queues are in use: {read} read queues are too few")
        self._topics.resize(topic, read, write)

    def check_moves(self, topic: str, moves: Iterable[Move]) -> None:
        """PlanError when these changes could not all be made, one after the other, as things are."""
        state = self._still_needed(topic, self._known(topic))
        for move in moves:
            told = self.newcomers(topic, set(move.targets.values()))
            # Ends may have a digit more by then.
            state = state.apply(
                move,
                lambda queue: 10 * self._store.next_offset(topic, queue) + 9,
                told,
                self._records.millis(),
            )
        size = len(encode_short(record_of(topic, state)))
        if size > self._store.longest_body:
            raise _too_large(topic, f"{size} bytes, {self._store.longest_body} at most")

    def change(self, topic: str, move: Move) -> Change:
        """The change that has happened. PlanError, StoreError: nothing has changed, or it is not certain to.

        The receivers must be read queues already.
        """
        state = self._known(topic)
        config = self._topics.get(topic)
        highest = max(move.targets.values(), default=0)
        if config is None or highest >= config.read_queue_nums:
            raise PlanError(
                f"queue {highest} is not a read queue of {topic} yet: announce it first"
            )
        state = self._still_needed(topic, state)
        state.check(move)
        self._store.write_others()
        told = self.newcomers(topic, set(move.targets.values()))
        changed = state.apply(
            move, lambda queue: self._store.next_offset(topic, queue), told, self._records.millis()
        )
        try:
            self._records.append(record_of(topic, changed))
        except MessageTooLarge as error:
            raise _too_large(topic, str(error)) from error
        change = changed.changes[-1]
        log.info(
            "elastic topic changed: topic=%s version=%d ends=%s starts=%s partitions=%d",
            topic,
            change.version,
            change.ends,
            change.starts,
            change.moved,
        )
        for listener in self._listeners:
            listener(topic, change)
        return change

    def add_listener(self, listener: Callable[[str, Change], None]) -> None:
        """Called after each change that happens here (not for those found at start)."""
        self._listeners.append(listener)

    def forget_topic(self, topic: str) -> None:
        """The topic is deleted, and what groups have passed in it. StoreError."""
        if topic in self._states:
            self._records.append(ElasticDeletion(topic=topic))

    def mend(self) -> None:
        """After the start: a kill may have kept the last of the topics' table from its file. StoreError."""
        for topic in self.topics():
            if self._topics.get(topic) is None:
                # It was being created, or deleted.
                self.forget_topic(topic)
        self.widen()
        self._go_on()

    def _go_on(self) -> None:
        """A queue whose records are all gone, and its files too, does not begin anew: changes name offsets in it."""
        for topic, state in self._states.items():
            for change in state.changes:
                for queue, offset in (*change.ends.items(), *change.starts.items()):
                    end = self._store.max_offset(topic, queue)
                    if self._store.min_offset(topic, queue) == end < offset:
                        self._store.begin_queue(topic, queue, offset)

    def widen(self) -> None:
        """All queues in use can be read, also when the table is older than the log, as a slave's may be."""
        for topic, state in self._states.items():
            config = self._topics.get(topic)
            if config is not None and config.read_queue_nums < state.in_use:
                self._topics.resize(topic, state.in_use, config.write_queue_nums)

    def keep(self, end: int) -> None:
        """The log before this offset is about to be deleted: states that lie there are appended anew. StoreError."""
        at_once(self.keep_in_steps(end))

    def keep_in_steps(self, end: int) -> Steps[None]:
        for topic in list(self._positions):
            if self._positions.get(topic, end) < end:
                state = self._still_needed(topic, self._states[topic])
                self._records.append(record_of(topic, state), again=True)
                yield

    def needs(self) -> int:
        """Where in the log the oldest record lies that says what is so."""
        return min(self._positions.values(), default=NOWHERE)

    # --- inside

    def _known(self, topic: str) -> TopicMap:
        state = self._states.get(topic)
        if state is None:
            raise PlanError(f"{topic} is not an elastic topic")
        return state

    def _still_needed(self, topic: str, state: TopicMap) -> TopicMap:
        """Without the changes that nobody can be behind any more."""
        return state.forget(
            lambda queue: self._store.min_offset(topic, queue), partial(self.is_awaited, topic)
        )

    def _take(self, record: ElasticRecord, position: int) -> None:
        if isinstance(record, ElasticState):
            if not record.queues:
                return
            state = self._states[record.topic] = state_of(record)
            self.places.lay(record.topic, list(state.queues), state.old_queues)
            self._positions[record.topic] = position
            self._topics.mappings.special.add(record.topic)
            self._topics.partitions[record.topic] = len(record.queues)
        elif isinstance(record, ElasticDeletion) and record.group is None:
            self._forget(record.topic or "")

    def _forget(self, topic: str) -> None:
        if self._states.pop(topic, None) is not None:
            del self._positions[topic]
            self.places.forget(topic)
            self._topics.mappings.special.discard(topic)
            del self._topics.partitions[topic]

    def _forget_all(self) -> None:
        for topic in list(self._states):
            self._forget(topic)


def _ordinary(topic: str, queues: int) -> TopicConfig:
    """What the table has of a new topic."""
    return TopicConfig(
        topic_name=topic,
        read_queue_nums=queues,
        write_queue_nums=queues,
        perm=Perm.READ | Perm.WRITE,
    )


def _too_large(topic: str, why: str) -> PlanError:
    return PlanError(
        f"the state of {topic} would not fit into a message (maxMessageSize): {why};"
        " move fewer partitions at a time, or wait until retention has deleted the messages"
        " before its oldest changes"
    )
