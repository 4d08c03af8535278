"""Groups that lock queues of elastic topics, and which changes each of them has passed.

A group is gated from its first lock of a topic on. It passes a change when its committed offsets have
reached the donors' ends (`model.TopicMap.newly_passed`); that is recorded, and in effect when readers
could see it: with SYNC_FLUSH when it is on the disk. A reset takes passes back, at once.
"""

import logging
from collections import deque
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from trimq.base.clock import Clock
from trimq.broker.elastic.kept_records import NOWHERE
from trimq.broker.elastic.log import ElasticLog
from trimq.broker.elastic.maps import ElasticMaps
from trimq.broker.elastic.model import Change, TopicMap
from trimq.broker.elastic.newcomers import Newcomers, Queues
from trimq.broker.groups.consumers.online import Consumers
from trimq.broker.groups.offsets.committed import ConsumerOffsets
from trimq.broker.steps import Steps, at_once
from trimq.broker.topics.table import Topics
from trimq.codec.bodies.elastic import (
    ElasticDeletion,
    ElasticRecord,
    ElasticState,
    GatedGroup,
    GroupPasses,
)
from trimq.codec.names import ELASTIC_MAP_TOPIC
from trimq.store.errors import StoreError
from trimq.store.messages.message import Dispatched

log = logging.getLogger("trimq.elastic")

NONE: frozenset[int] = frozenset()
_PAST_ALL: Final = (1 << 63) - 1
_FROM_LAST: Final = "CONSUME_FROM_LAST_OFFSET"


class Behind(NamedTuple):
    """A change that a group has not passed: it must commit `end` in the queue `donor`, and has `committed`.

    `since`: when the change came; `last_commit`: when the group last committed the donor. Both in milliseconds
    since 1970; 0: not known, as commits before the broker's start are.
    """

    version: int
    donor: int
    end: int
    committed: int
    since: int
    last_commit: int


class _Gated:
    """One group in one topic. `recorded`: passed by the log; `passed`: and in effect."""

    __slots__ = ("asked", "closed", "passed", "position", "recorded")

    def __init__(self) -> None:
        # Queue -> when a consumer asked for messages last.
        self.asked: dict[int, int] = {}
        self.recorded = NONE
        self.passed = NONE
        self.position = -1
        # Queue -> the first closed start; None: to be computed.
        self.closed: dict[int, int] | None = None


class GatedGroups:
    """By topic and name. Listeners are told of a group and a topic when gates have opened."""

    def __init__(
        self,
        records: ElasticLog,
        maps: ElasticMaps,
        topics: Topics,
        offsets: ConsumerOffsets,
        consumers: Consumers,
        store: Queues,
        clock: Clock,
    ) -> None:
        self._clock = clock
        self._records = records
        self._maps = maps
        self._topics = topics
        self._offsets = offsets
        self._consumers = consumers
        self._store = store
        self._gated: dict[str, dict[str, _Gated]] = {}
        # Passes that are in the log and not in effect: where their record lies, topic, group.
        self._unseen: deque[tuple[int, str, str]] = deque()
        self._listeners: list[Callable[[str, str], None]] = []
        self._is_failing = False
        records.add_taker(self._take, self._forget_all)
        maps.add_listener(self._changed)
        newcomers = Newcomers(self.groups, topics, offsets, consumers, store)
        maps.newcomers = newcomers.of_change
        maps.is_awaited = newcomers.is_awaited

    def add_listener(self, opened: Callable[[str, str], None]) -> None:
        """Called with group and topic when gates have opened, or closed."""
        self._listeners.append(opened)

    # --- looking

    def groups(self, topic: str) -> list[str]:
        """The gated groups of a topic."""
        return list(self._gated.get(topic, ()))

    def is_gated(self, group: str, topic: str) -> bool:
        return group in self._gated.get(topic, ())

    def passed(self, group: str, topic: str) -> frozenset[int]:
        """The versions that the group has passed, of those that are not forgotten."""
        state, gated = self._maps.state(topic), self._find(group, topic)
        if state is None or gated is None:
            return NONE
        return gated.passed & {change.version for change in state.changes}

    def held_up_by(self, group: str, topic: str) -> list[Behind]:
        """What keeps the group from changes that it has not passed, oldest first; empty when it has passed all."""
        state, gated = self._maps.state(topic), self._find(group, topic)
        if state is None or gated is None:
            return []
        return [
            Behind(
                change.version,
                donor,
                end,
                reached,
                change.at,
                self._offsets.last_commit(group, topic, donor),
            )
            for change in state.changes
            if change.version not in gated.passed
            for donor, end in change.ends.items()
            if (reached := self._reached(group, topic, donor)) < end
        ]

    def readable_until(self, group: str, topic: str, queue: int) -> int | None:
        """Where the group's reads of a queue end; None: nowhere.

        A closed gate is looked at once more: messages may have been deleted unread.
        """
        gated = self._find(group, topic)
        if gated is None:
            return None
        if queue in self._closed(gated, topic):
            self.look(group, topic)
        return self._closed(gated, topic).get(queue)

    def waits_for(self, group: str, topic: str, queue: int, offset: int) -> bool:
        """Whether a gate waits for a commit of this queue that a consumer which has got to `offset` could make."""
        state, gated = self._maps.state(topic), self._find(group, topic)
        if state is None or gated is None or not self._closed(gated, topic):
            return False
        ends = [
            change.ends[queue]
            for change in state.changes
            if queue in change.ends and change.version not in gated.passed
        ]
        reached = self._reached(group, topic, queue)
        return any(reached < end <= offset for end in ends)

    def reads(self, group: str, topic: str, queue: int) -> None:
        """A consumer of the group has asked for messages of the queue, now."""
        gated = self._find(group, topic)
        if gated is not None:
            gated.asked[queue] = self._clock.steady_millis()

    def last_read(self, group: str, topic: str, queue: int) -> int:
        """When a consumer of the group asked last, in milliseconds since 1970; -1: not since the start."""
        gated = self._find(group, topic)
        return -1 if gated is None else gated.asked.get(queue, -1)

    def first_offset(self, group: str, topic: str, queue: int) -> int | None:
        """Where a group that was there at a change begins in a receiver; None: as by the real broker.

        That is for those that would skip what has come since: they consume from the last offset.
        """
        state = self._maps.state(topic)
        if state is None:
            return None
        return state.first_offset(queue, group) if self.begins_last(group) else None

    def begins_last(self, group: str) -> bool:
        """Whether its consumers skip what is there when they begin."""
        online = self._consumers.group(group)
        return online is not None and online.consume_from_where == _FROM_LAST

    def min_offset(self, topic: str, queue: int) -> int:
        return self._store.min_offset(topic, queue)

    def known_offset(self, group: str, topic: str, queue: int) -> int:
        """Where a consumer of the group begins: its offset, but not below a passed end; -1: by its own rules."""
        found = self._offsets.query(group, topic, queue)
        if found < 0:
            first = self.first_offset(group, topic, queue)
            found = -1 if first is None else first
        passed = self.passed_end(group, topic, queue)
        return max(found, passed) if passed else found

    def known_offsets(self, group: str, topic: str) -> dict[int, int]:
        """The same of every queue that a change has to do with."""
        state = self._maps.state(topic)
        changes = () if state is None else state.changes
        queues = {queue for change in changes for queue in (*change.ends, *change.starts)}
        return {queue: self.known_offset(group, topic, queue) for queue in queues}

    def passed_end(self, group: str, topic: str, queue: int) -> int:
        """No consumer of the group may be told to begin below, nor commit it; 0 mostly."""
        state, gated = self._maps.state(topic), self._find(group, topic)
        if state is None or gated is None:
            return 0
        return state.passed_end(queue, gated.recorded)

    # --- changing

    def gate(self, group: str, topic: str) -> int:
        """From now on the group's reads end at closed starts; the end of the record, -1 if that was so.

        StoreError: it is not recorded, and not gated.
        """
        if self._maps.state(topic) is None or self.is_gated(group, topic):
            return -1
        end = self._records.append(GatedGroup(topic=topic, group=group))
        log.info("group reads in order: group=%s topic=%s", group, topic)
        self.look(group, topic)
        return end

    def look(self, group: str, topic: str) -> bool:
        """Record what the group has passed by its commits; whether it has passed anything more."""
        state, gated = self._maps.state(topic), self._find(group, topic)
        if state is None or gated is None or not self._has_unpassed(state, gated.recorded):
            return False
        found = state.newly_passed(gated.recorded, lambda queue: self._reached(group, topic, queue))
        if not found:
            return False
        versions = gated.recorded & {change.version for change in state.changes} | found
        try:
            self._records.append(GroupPasses(topic=topic, group=group, versions=sorted(versions)))
        except StoreError as error:
            # Every pull at a closed start tries again.
            level = logging.DEBUG if self._is_failing else logging.WARNING
            self._is_failing = True
            log.log(level, "pass not recorded: group=%s topic=%s reason=%s", group, topic, error)
            return False
        self._is_failing = False
        log.info("group has passed: group=%s topic=%s versions=%s", group, topic, sorted(found))
        return True

    def reset(self, group: str, topic: str, offsets: Mapping[int, int]) -> None:
        """Close the gates behind queues that are about to be set back. StoreError: nothing has changed."""
        state, gated = self._maps.state(topic), self._find(group, topic)
        if state is None or gated is None:
            return
        kept = gated.recorded
        for queue, offset in offsets.items():
            kept = state.kept_passes(kept, queue, offset)
        if kept != gated.recorded:
            self._records.append(GroupPasses(topic=topic, group=group, versions=sorted(kept)))
            log.info("gates closed by a reset: group=%s topic=%s", group, topic)
            self._tell(group, topic)

    def closed_queues(self, group: str, topic: str) -> Mapping[int, int]:
        """Queue -> the first closed start, for queues that have one."""
        gated = self._find(group, topic)
        return {} if gated is None else self._closed(gated, topic)

    def drop(self, group: str, topic: str | None = None) -> None:
        """The group is gated no longer, in one topic or in all. StoreError."""
        topics = list(self._gated) if topic is None else [topic]
        if any(group in self._gated.get(name, ()) for name in topics):
            self._records.append(ElasticDeletion(topic=topic, group=group))

    def forget_group(self, group: str) -> None:
        """The group is deleted. StoreError."""
        self.drop(group)

    def keep(self, end: int) -> None:
        """The log before this offset is about to be deleted: what lies there is appended anew. StoreError."""
        at_once(self.keep_in_steps(end))

    def keep_in_steps(self, end: int) -> Steps[None]:
        for topic, groups in list(self._gated.items()):
            for group, gated in list(groups.items()):
                if gated.position < end and self._find(group, topic) is gated:
                    versions = sorted(gated.recorded)
                    record = GroupPasses(topic=topic, group=group, versions=versions)
                    self._records.append(record, again=True)
                    yield

    def needs(self) -> int:
        """Where in the log the oldest record lies that says what is so."""
        gated = (one.position for groups in self._gated.values() for one in groups.values())
        return min(gated, default=NOWHERE)

    # --- listening

    def stored(self, records: list[Dispatched]) -> None:
        """The store's listener: readers may see these, so what they record is in effect."""
        if not self._unseen:
            return
        last = -1
        for record in records:
            if record.topic == ELASTIC_MAP_TOPIC:
                last = record.physical_offset
        self._show(last)

    def show_all(self) -> None:
        """After the start: everything that was found is in effect."""
        self._show(_PAST_ALL)

    def _show(self, last: int) -> None:
        while self._unseen and self._unseen[0][0] <= last:
            _, topic, group = self._unseen.popleft()
            gated = self._find(group, topic)
            if gated is not None and gated.passed != gated.recorded:
                gated.passed = gated.recorded
                gated.closed = None
                self._tell(group, topic)

    def _changed(self, topic: str, change: Change) -> None:
        """Whoever has committed everything has passed it already."""
        for group in self.groups(topic):
            self.look(group, topic)

    def _take(self, record: ElasticRecord, position: int) -> None:
        if isinstance(record, ElasticState):
            for gated in self._gated.get(record.topic, {}).values():
                gated.closed = None
        elif isinstance(record, GatedGroup):
            gated = self._gated.setdefault(record.topic, {}).setdefault(record.group, _Gated())
            gated.position = position
        elif isinstance(record, GroupPasses):
            gated = self._gated.setdefault(record.topic, {}).setdefault(record.group, _Gated())
            gated.position = position
            gated.recorded = frozenset(record.versions)
            # What is closed is closed at once; what opens waits until readers could see it.
            gated.passed &= gated.recorded
            gated.closed = None
            self._unseen.append((position, record.topic, record.group))
        elif isinstance(record, ElasticDeletion):
            self._forget(record)

    def _forget_all(self) -> None:
        self._gated.clear()
        self._unseen.clear()

    def _forget(self, record: ElasticDeletion) -> None:
        if record.group is None:
            self._gated.pop(record.topic or "", None)
            return
        for topic in list(self._gated) if record.topic is None else [record.topic]:
            groups = self._gated.get(topic, {})
            if groups.pop(record.group, None) is not None and not groups:
                del self._gated[topic]

    # --- inside

    def _find(self, group: str, topic: str) -> _Gated | None:
        groups = self._gated.get(topic)
        return None if groups is None else groups.get(group)

    def _closed(self, gated: _Gated, topic: str) -> dict[int, int]:
        if gated.closed is None:
            closed: dict[int, int] = {}
            state = self._maps.state(topic)
            for change in () if state is None else state.changes:
                if change.version not in gated.passed:
                    for queue, start in change.starts.items():
                        closed[queue] = min(start, closed.get(queue, start))
            gated.closed = closed
        return gated.closed

    def _has_unpassed(self, state: TopicMap, passed: frozenset[int]) -> bool:
        return any(change.version not in passed for change in reversed(state.changes))

    def _reached(self, group: str, topic: str, queue: int) -> int:
        """What counts as committed: what was deleted unread is lost.

        Whoever begins with the last message skips a queue that had left the route before.
        """
        committed = self._offsets.query(group, topic, queue)
        if committed < 0 and self.begins_last(group):
            config = self._topics.get(topic)
            has_left = config is not None and queue >= config.read_queue_nums
            if has_left and self.first_offset(group, topic, queue) is None:
                return _PAST_ALL
        return max(committed, self._store.min_offset(topic, queue))

    def _tell(self, group: str, topic: str) -> None:
        for listener in self._listeners:
            listener(group, topic)
