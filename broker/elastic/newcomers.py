"""Groups that a change of a topic would let skip messages: they begin in a queue that was not there before."""

from collections.abc import Callable, Collection, Iterable
from typing import Protocol

from trimq.broker.elastic.model import Change
from trimq.broker.groups.consumers.online import Consumers
from trimq.broker.groups.offsets.committed import ConsumerOffsets
from trimq.broker.topics.table import Topics


class Queues(Protocol):
    def min_offset(self, topic: str, queue_id: int) -> int: ...

    def max_offset(self, topic: str, queue_id: int) -> int: ...


class Newcomers:
    """Who is there without an offset, at a change and until the change is forgotten."""

    def __init__(
        self,
        gated: Callable[[str], Iterable[str]],
        topics: Topics,
        offsets: ConsumerOffsets,
        consumers: Consumers,
        store: Queues,
    ) -> None:
        """`gated`: the gated groups of a topic."""
        self._gated = gated
        self._topics = topics
        self._offsets = offsets
        self._consumers = consumers
        self._store = store

    def of_change(self, topic: str, receivers: Collection[int]) -> frozenset[str]:
        """Gated or online, and without an offset in a receiver."""
        names = set(self._gated(topic))
        for name in self._consumers.groups_consuming(topic):
            online = self._consumers.group(name)
            if online is not None and not online.broadcasting:
                names.add(name)
        return frozenset(
            name
            for name in names
            if any(self._offsets.query(name, topic, queue) < 0 for queue in receivers)
        )

    def is_awaited(self, topic: str, change: Change) -> bool:
        """Whether a group that was told of the change would skip what has come since, once it is forgotten."""
        there = {*self._gated(topic), *self._offsets.groups_of(topic)}
        told = change.told & (there | self._consumers.groups_consuming(topic))
        return bool(told) and any(
            self._offsets.query(name, topic, queue) < 0
            for queue, start in change.starts.items()
            if self._has_from(topic, queue, start)
            for name in told
        )

    def _has_from(self, topic: str, queue: int, start: int) -> bool:
        """Whether nothing from a start on is deleted, and somebody may read there."""
        config, store = self._topics.get(topic), self._store
        is_read = config is not None and queue < config.read_queue_nums
        first = store.min_offset(topic, queue)
        return first <= start and (is_read or store.max_offset(topic, queue) > start)
