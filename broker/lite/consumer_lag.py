"""How far groups are behind in lite topics (LiteConsumerLagCalculator): the ones that are furthest behind."""

from collections.abc import Iterator
from heapq import nlargest, nsmallest
from typing import Final

from trimq.broker.config import BrokerConfig
from trimq.broker.groups.offsets.committed import ConsumerOffsets
from trimq.broker.pop.order.rules import OrderedQueue
from trimq.codec.bodies.lite import LiteLagInfo
from trimq.codec.names import is_lite_queue, lite_queue_parts
from trimq.store.message_store import MessageStore

NOTHING: Final = -1


class LiteConsumerLag:
    """`popped` remembers when the oldest message was stored that a full pop has left (liteLagLatencyCollectEnable)."""

    def __init__(self, config: BrokerConfig, offsets: ConsumerOffsets, store: MessageStore) -> None:
        self._config = config
        self._offsets = offsets
        self._store = store
        # By group and topic.
        self._left: dict[str, dict[str, dict[str, int]]] = {}

    def popped(self, queue: OrderedQueue, topic: str, following: int, full: bool) -> None:
        """A pop took messages up to `following`; `full`: it had no room for more."""
        if not self._config.lite_lag_latency_collect_enable:
            return
        stored = self._store.store_time(queue.topic, 0, following) if full else NOTHING
        left = self._left.setdefault(queue.group, {}).setdefault(topic, {})
        left.pop(queue.topic, None)
        if stored > 0:
            left[queue.topic] = stored
            if len(left) > self._config.lite_lag_latency_top_k:
                # The youngest matters least.
                del left[max(left, key=left.__getitem__)]

    def forget_group(self, group: str) -> None:
        """The group was deleted."""
        self._left.pop(group, None)

    def by_count(self, group: str, most: int) -> tuple[list[LiteLagInfo], int]:
        """The lite topics with most messages that the group has not read, and how many it has in all."""
        behind = {name: lag for name, lag in self._lags(group) if lag > 0}
        names = nlargest(most, behind, key=behind.__getitem__)
        found = [self._info(group, name, behind[name], None) for name in names]
        return found, sum(behind.values())

    def by_time(self, group: str, topic: str, most: int) -> tuple[list[LiteLagInfo], int]:
        """Those whose unread messages are oldest, and when the oldest was stored; NOTHING without any."""
        left = self._left.get(group, {}).get(topic, {})
        names = nsmallest(most, left, key=left.__getitem__)
        found = [self._info(group, name, self._lag(group, name), left[name]) for name in names]
        return found, left[names[0]] if names else NOTHING

    def _lags(self, group: str) -> Iterator[tuple[str, int]]:
        for name in self._offsets.topics_of(group):
            if is_lite_queue(name):
                yield name, self._lag(group, name)

    def _lag(self, group: str, name: str) -> int:
        offset = self._offsets.query(group, name, 0)
        return 0 if offset < 0 else max(0, self._store.max_offset(name, 0) - offset)

    def _info(self, group: str, name: str, lag: int, stored: int | None) -> LiteLagInfo:
        if stored is None:
            stored = self._store.store_time(name, 0, self._offsets.query(group, name, 0))
        parts = lite_queue_parts(name)
        return LiteLagInfo(
            earliest_unconsumed_timestamp=stored,
            lag_count=lag,
            lite_topic=None if parts is None else parts[1],
        )
