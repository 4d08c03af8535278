"""QUERY_CONSUME_QUEUE: the entries of one consume queue, for troubleshooting."""

from collections.abc import Iterator
from typing import Final

from trimq.broker.filters.consumer_filters import ConsumerFilters
from trimq.broker.groups.consumers.online import Consumers
from trimq.codec.bodies.base import encode_body
from trimq.codec.bodies.progress import ConsumeQueueData, QueryConsumeQueueResponseBody
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.headers.offsets import QueryConsumeQueueRequestHeader
from trimq.codec.java.rows import array_steps
from trimq.codec.names import REMARK_LEFT
from trimq.processors._steps import AnswerSteps, SteppedProcessor
from trimq.remoting.contract import RemotingError, Request, Response
from trimq.store.message_store import MessageStore

# An answer with that many entries has about 100 MB, which no frame exceeds by much.
_MOST_ENTRIES: Final = 1_000_000
_NO_ENTRIES: Final = b'"queueData":[]'
QueueRequest = Request[QueryConsumeQueueRequestHeader]


class QueryConsumeQueue(SteppedProcessor[QueryConsumeQueueRequestHeader]):
    """Up to `count` entries from `index` on (AdminBrokerProcessor.queryConsumeQueue).

    A batch of a BatchCQ queue has one entry. With a group, its subscription is included too. An
    index outside the queue is a success with only a remark. An answer that would be too long says so in its remark.
    """

    codes = (RequestCode.QUERY_CONSUME_QUEUE,)
    header = QueryConsumeQueueRequestHeader

    def __init__(self, consumers: Consumers, filters: ConsumerFilters, store: MessageStore) -> None:
        self._consumers = consumers
        self._filters = filters
        self._store = store

    def steps(self, request: QueueRequest) -> AnswerSteps:
        header = request.header
        topic = header.topic or ""
        where = f"{header.queue_id}@{topic}"
        if header.queue_id not in self._store.queues(topic):
            raise RemotingError(ResponseCode.SYSTEM_ERROR, f"{where} is not exist!")
        body = QueryConsumeQueueResponseBody(
            max_queue_index=self._store.max_offset(topic, header.queue_id),
            min_queue_index=self._store.min_offset(topic, header.queue_id),
        )
        if header.consumer_group is not None:
            self._add_subscription(body, header.consumer_group, topic)
        if not body.min_queue_index <= header.index < body.max_queue_index:
            return Response(remark=f"Index {header.index} of {where} is not exist!")
        body.queue_data = []
        # A quote within a text has a backslash: this cannot stand in one.
        before, _, after = encode_body(body).partition(_NO_ENTRIES)
        entries = yield from array_steps(self._entries(header, topic))
        remark = REMARK_LEFT
        if header.count > _MOST_ENTRIES:
            remark = f"the first {_MOST_ENTRIES} entries; ask again from index {header.index + _MOST_ENTRIES}"
        return Response(remark=remark, body=b'%b"queueData":%b%b' % (before, entries, after))

    def _add_subscription(
        self, body: QueryConsumeQueueResponseBody, group: str, topic: str
    ) -> None:
        body.subscription_data = self._consumers.find_subscription(group, topic)
        if body.subscription_data is None:
            body.filter_data = f"{group}@{topic} is not online!"
        else:
            known = self._filters.find(topic, group)
            body.filter_data = "null" if known is None else known.shown()

    def _entries(
        self, header: QueryConsumeQueueRequestHeader, topic: str
    ) -> Iterator[ConsumeQueueData]:
        end = header.index + min(header.count, _MOST_ENTRIES)
        last_position = -1
        for offset in range(header.index, end):
            entry = self._store.queue_entry(topic, header.queue_id, offset)
            if entry is None:
                break
            if entry.physical_offset == last_position:
                continue
            last_position = entry.physical_offset
            yield ConsumeQueueData(
                physic_offset=entry.physical_offset,
                physic_size=entry.size,
                tags_code=entry.tags_code,
            )
