"""GET_TOPIC_STATS_INFO: first and next offset of each queue, and when it was last written to."""

from trimq.broker.config import BrokerConfig
from trimq.broker.stats.broker_stats import BrokerStats
from trimq.broker.store_views import QueueReader
from trimq.broker.topics.table import Topics
from trimq.codec.bodies.locks import MessageQueue
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.headers.topics import GetTopicStatsInfoRequestHeader
from trimq.codec.java import fastjson
from trimq.codec.java.rows import Rows
from trimq.processors._steps import AnswerSteps, SteppedProcessor
from trimq.remoting.contract import RemotingError, Request, Response


class GetTopicStatsInfo(SteppedProcessor[GetTopicStatsInfoRequestHeader]):
    """TopicStatsTable: offsets of every queue, and messages written per second in the last minute."""

    codes = (RequestCode.GET_TOPIC_STATS_INFO,)
    header = GetTopicStatsInfoRequestHeader

    def __init__(
        self, config: BrokerConfig, topics: Topics, store: QueueReader, stats: BrokerStats
    ) -> None:
        self._config = config
        self._topics = topics
        self._store = store
        self._stats = stats

    def steps(self, request: Request[GetTopicStatsInfoRequestHeader]) -> AnswerSteps:
        name = request.header.topic
        topic = self._topics.get(name)
        if topic is None:
            raise RemotingError(ResponseCode.TOPIC_NOT_EXIST, f"topic[{name}] not exist")
        rows = Rows()
        for queue_id in range(max(topic.write_queue_nums, topic.read_queue_nums)):
            queue = MessageQueue(
                broker_name=self._config.broker_name, queue_id=queue_id, topic=name
            )
            if rows.put(queue, self._queue(name, queue_id)):
                yield rows.encode()
        rate = fastjson.dumps(self._stats.written_per_second(name))
        return Response(body=b'{"offsetTable":%b,"topicPutTps":%b}' % (rows.object(), rate))

    def _queue(self, topic: str, queue_id: int) -> dict[str, int]:
        first = max(0, self._store.min_offset(topic, queue_id))
        following = max(0, self._store.max_offset(topic, queue_id))
        stored = self._store.store_time(topic, queue_id, following - 1) if following else 0
        return {"lastUpdateTimestamp": stored, "maxOffset": following, "minOffset": first}
