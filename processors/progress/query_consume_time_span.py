"""QUERY_CONSUME_TIME_SPAN: from when to when a topic has messages, and where a group stands."""

from trimq.base.clock import Clock
from trimq.broker.config import BrokerConfig
from trimq.broker.groups.offsets.committed import ConsumerOffsets
from trimq.broker.store_views import QueueReader
from trimq.broker.topics.table import Topics
from trimq.codec.bodies.locks import MessageQueue
from trimq.codec.bodies.progress import QueueTimeSpan
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.headers.offsets import QueryConsumeTimeSpanRequestHeader
from trimq.codec.java.moments import local_time
from trimq.codec.java.rows import Rows
from trimq.processors._steps import AnswerSteps, SteppedProcessor
from trimq.remoting.contract import RemotingError, Request, Response


class QueryConsumeTimeSpan(SteppedProcessor[QueryConsumeTimeSpanRequestHeader]):
    """Store times of each queue's first, last and last consumed message; -1 without one.

    `delayTime` is the age of the next message to consume (AdminBrokerProcessor.queryConsumeTimeSpan).
    """

    codes = (RequestCode.QUERY_CONSUME_TIME_SPAN,)
    header = QueryConsumeTimeSpanRequestHeader

    def __init__(
        self,
        config: BrokerConfig,
        topics: Topics,
        offsets: ConsumerOffsets,
        store: QueueReader,
        clock: Clock,
    ) -> None:
        self._config = config
        self._topics = topics
        self._offsets = offsets
        self._store = store
        self._clock = clock

    def steps(self, request: Request[QueryConsumeTimeSpanRequestHeader]) -> AnswerSteps:
        name = request.header.topic
        topic = self._topics.get(name)
        if topic is None:
            raise RemotingError(ResponseCode.TOPIC_NOT_EXIST, f"topic[{name}] not exist")
        rows = Rows()
        for queue_id in range(topic.write_queue_nums):
            if rows.add(self._span(request.header.group, name, queue_id)):
                yield rows.encode()
        return Response(body=b'{"consumeTimeSpanSet":%b}' % rows.array())

    def _span(self, group: str, topic: str, queue_id: int) -> QueueTimeSpan:
        first = self._store.earliest_store_time(topic, queue_id)
        following = self._store.max_offset(topic, queue_id)
        last = self._store.store_time(topic, queue_id, following - 1)
        consumed = self._offsets.query(group, topic, queue_id)
        reached = self._store.store_time(topic, queue_id, consumed - 1) if consumed > 0 else first
        delay = 0
        if consumed < following:
            delay = self._clock.millis() - self._store.store_time(topic, queue_id, consumed)
        return QueueTimeSpan(
            consume_time_stamp=reached,
            consume_time_stamp_str=_local_time(reached),
            delay_time=delay,
            max_time_stamp=last,
            max_time_stamp_str=_local_time(last),
            message_queue=MessageQueue(
                broker_name=self._config.broker_name, queue_id=queue_id, topic=topic
            ),
            min_time_stamp=first,
            min_time_stamp_str=_local_time(first),
        )


def _local_time(millis: int) -> str:
    """`2026-11-22#00:03:00:212` (UtilAll.YYYY_MM_DD_HH_MM_SS_SSS)."""
    return local_time(millis, between="#", point=":")
