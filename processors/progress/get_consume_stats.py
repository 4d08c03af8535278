"""GET_CONSUME_STATS: how far a group is behind, queue by queue."""

import logging

from trimq.broker.config import BrokerConfig
from trimq.broker.groups.consumers.online import Consumers
from trimq.broker.groups.offsets.committed import ConsumerOffsets
from trimq.broker.stats.broker_stats import BrokerStats
from trimq.broker.store_views import QueueReader
from trimq.broker.topics.table import Topics
from trimq.codec.bodies.locks import MessageQueue
from trimq.codec.codes import RequestCode
from trimq.codec.headers.groups import GetConsumeStatsRequestHeader
from trimq.codec.java import fastjson
from trimq.codec.java.rows import Rows
from trimq.processors._steps import AnswerSteps, SteppedProcessor
from trimq.remoting.contract import Request, Response

log = logging.getLogger("trimq.broker")


class GetConsumeStats(SteppedProcessor[GetConsumeStatsRequestHeader]):
    """ConsumeStats: positions in every queue, and messages pulled per second in the last minute."""

    codes = (RequestCode.GET_CONSUME_STATS,)
    header = GetConsumeStatsRequestHeader

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

    def steps(self, request: Request[GetConsumeStatsRequestHeader]) -> AnswerSteps:
        group = request.header.consumer_group
        rows = Rows()
        rate = 0.0
        for name in self._chosen(request.header):
            topic = self._topics.get(name)
            if topic is None:
                log.warning("consume stats of an unknown topic: group=%s topic=%s", group, name)
                continue
            for queue_id in range(topic.read_queue_nums):
                queue = MessageQueue(
                    broker_name=self._config.broker_name, queue_id=queue_id, topic=name
                )
                if rows.put(queue, self._queue(group, name, queue_id)):
                    yield rows.encode()
            rate += self._stats.pulled_per_second(group, name)
        body = b'{"consumeTps":%b,"offsetTable":%b}' % (fastjson.dumps(rate), rows.object())
        return Response(body=body)

    def _chosen(self, header: GetConsumeStatsRequestHeader) -> list[str]:
        """Topics named in a list count as they are, others only if the group subscribes them."""
        listed = list(dict.fromkeys(filter(None, (header.topic_list or "").split(";"))))
        if listed:
            return listed
        group = header.consumer_group
        topic = (header.topic or "").strip()
        names = [topic] if topic else sorted(self._offsets.topics_of(group))
        if not self._consumers.subscription_count(group):
            return names
        return [name for name in names if self._consumers.find_subscription(group, name)]

    def _queue(self, group: str, topic: str, queue_id: int) -> dict[str, int]:
        consumed = self._offsets.query(group, topic, queue_id)
        if consumed < 0 and self._topics.mappings.get(topic) is None:
            # For a static topic's queue, another part may have the offset: -1 says that this one
            # does not.
            consumed = 0
        pulled = self._offsets.query_pull(group, topic, queue_id)
        last = self._store.store_time(topic, queue_id, consumed - 1) if consumed > 0 else 0
        return {
            "brokerOffset": max(0, self._store.max_offset(topic, queue_id)),
            "consumerOffset": consumed,
            "lastTimestamp": max(0, last),
            "pullOffset": max(consumed, pulled),
        }
