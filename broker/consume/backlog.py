"""How far behind a group is in one topic, without what is in flight."""

import logging
from typing import NamedTuple

from trimq.base.step_queue import Steps
from trimq.broker.config import BrokerConfig
from trimq.broker.groups.consumers.online import Consumers
from trimq.broker.groups.offsets.committed import ConsumerOffsets
from trimq.broker.stats.broker_stats import BrokerStats
from trimq.broker.store_views import QueueReader
from trimq.broker.topics.table import Topics
from trimq.codec.bodies.locks import MessageQueue
from trimq.codec.bodies.progress import OffsetWrapper
from trimq.codec.java import fastjson
from trimq.codec.java.rows import Rows

log = logging.getLogger("trimq.admin")


class TopicBacklog(NamedTuple):
    """A topic's ConsumeStats as JSON, and the sums of its queues."""

    stats: bytes
    behind: int
    in_flight: int


class Backlog:
    """Adds up every queue that can be written to."""

    def __init__(
        self,
        config: BrokerConfig,
        topics: Topics,
        consumers: Consumers,
        offsets: ConsumerOffsets,
        store: QueueReader,
        stats: BrokerStats,
    ) -> None:
        self._config = config
        self._topics = topics
        self._consumers = consumers
        self._offsets = offsets
        self._store = store
        self._stats = stats

    def of_topic(self, group: str, name: str, only_ordered: bool) -> Steps[TopicBacklog | None]:
        """None for a topic that does not count: unknown, not ordered, or no longer subscribed."""
        topic = self._topics.get(name)
        if topic is None:
            log.warning("consume stats of an unknown topic: group=%s topic=%s", group, name)
            return None
        if only_ordered and not topic.order:
            return None
        if self._consumers.subscription_count(group) and not self._consumers.find_subscription(
            group, name
        ):
            return None
        rows = Rows()
        behind = in_flight = 0
        for queue_id in range(topic.write_queue_nums):
            queue = MessageQueue(
                broker_name=self._config.broker_name, queue_id=queue_id, topic=name
            )
            progress = self._queue(group, name, queue_id)
            behind += progress.broker_offset - progress.consumer_offset
            in_flight += progress.pull_offset - progress.consumer_offset
            if rows.put(queue, progress):
                yield rows.encode()
        rate = fastjson.dumps(self._stats.pulled_per_second(group, name))
        stats = b'{"consumeTps":%b,"offsetTable":%b}' % (rate, rows.object())
        return TopicBacklog(stats, behind, in_flight)

    def _queue(self, group: str, topic: str, queue_id: int) -> OffsetWrapper:
        consumed = max(0, self._offsets.query(group, topic, queue_id))
        last = self._store.store_time(topic, queue_id, consumed - 1) if consumed else 0
        return OffsetWrapper(
            broker_offset=max(0, self._store.max_offset(topic, queue_id)),
            consumer_offset=consumed,
            last_timestamp=max(0, last),
        )
