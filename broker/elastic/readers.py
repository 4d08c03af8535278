"""Who reads an elastic topic, and how far: what scaling, tails and showing ask."""

from collections.abc import Iterable, Sequence
from typing import Protocol

from trimq.broker.groups.consumers.online import Consumers
from trimq.broker.groups.offsets.committed import ConsumerOffsets
from trimq.broker.store_views import QueueReader


class Gated(Protocol):
    """What of GatedGroups is needed here."""

    def groups(self, topic: str) -> Iterable[str]: ...

    def passed(self, group: str, topic: str) -> frozenset[int]: ...

    def known_offset(self, group: str, topic: str, queue: int) -> int: ...

    def last_read(self, group: str, topic: str, queue: int) -> int: ...

    def begins_last(self, group: str) -> bool: ...


class ElasticReaders:
    """Groups that lock the topic's queues, and everybody's offsets."""

    def __init__(
        self, gated: Gated, consumers: Consumers, offsets: ConsumerOffsets, store: QueueReader
    ) -> None:
        self._gated = gated
        self._consumers = consumers
        self._offsets = offsets
        self._store = store

    def online(self, topic: str) -> Sequence[str]:
        """The groups that read the topic in order and have members."""
        return [group for group in sorted(self._gated.groups(topic)) if self.members(group)]

    def members(self, group: str) -> int:
        """How many members of a group are online."""
        found = self._consumers.group(group)
        return 0 if found is None else len(found.client_ids())

    def passed(self, group: str, topic: str) -> frozenset[int]:
        """The versions that a group has passed."""
        return self._gated.passed(group, topic)

    def last_read(self, group: str, topic: str, queue: int) -> int:
        """When a consumer of the group asked for messages last, in milliseconds since 1970; -1: never."""
        return self._gated.last_read(group, topic, queue)

    def behind(self, topic: str, queue: int) -> Sequence[str]:
        """The groups that have offsets of the topic, or want messages, and have not read a queue to its end.

        What was deleted unread counts as read. A group that broadcasts has no offsets here.
        """
        end = self._store.max_offset(topic, queue)
        if self._store.min_offset(topic, queue) >= end:
            return []
        behind = {
            group for group in self._groups(topic) if self._offsets.query(group, topic, queue) < end
        }
        return sorted(behind.union(self.wanting(topic, queue)))

    def wanting(self, topic: str, queue: int) -> Sequence[str]:
        """The groups that are online and would read more of a queue, if it was in the route."""
        end = self._store.max_offset(topic, queue)
        if self._store.min_offset(topic, queue) >= end:
            return []
        online = self._consumers.groups_consuming(topic)
        return sorted(group for group in online if self._wants(group, topic, queue, end))

    def _wants(self, group: str, topic: str, queue: int, end: int) -> bool:
        """Not what comes only later: a group that begins with the last message skips what is there."""
        online = self._consumers.group(group)
        if online is None or online.broadcasting:
            return False
        known = self._gated.known_offset(group, topic, queue)
        return known < end if known >= 0 else not self._gated.begins_last(group)

    def is_unseen(self, topic: str, queue: int) -> bool:
        """Whether a queue has messages, and no group has read the topic yet: nobody would find them."""
        if self._store.min_offset(topic, queue) >= self._store.max_offset(topic, queue):
            return False
        return not self._groups(topic)

    def _groups(self, topic: str) -> set[str]:
        return self._offsets.groups_of(topic) | set(self._gated.groups(topic))
