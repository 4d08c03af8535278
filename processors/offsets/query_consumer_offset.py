"""QUERY_CONSUMER_OFFSET: from where a group reads a queue (ConsumerManageProcessor).

A group without an offset starts at 0 only when the queue still has its first message: then the queue
is young, and nothing would be skipped. Otherwise it is told
QUERY_NOT_FOUND and decides itself (its ConsumeFromWhere).
"""

from broker.offsets import ConsumerOffsets
from codec.codes import RequestCode, ResponseCode
from codec.headers.offsets import (
    QueryConsumerOffsetRequestHeader,
    QueryConsumerOffsetResponseHeader,
)
from processors.offsets._queues import QueueReader
from remoting.contract import Processor, RemotingError, Request, Response


class QueryConsumerOffset(Processor[QueryConsumerOffsetRequestHeader]):
    codes = (RequestCode.QUERY_CONSUMER_OFFSET,)
    header = QueryConsumerOffsetRequestHeader

    def __init__(self, offsets: ConsumerOffsets, store: QueueReader) -> None:
        self._offsets = offsets
        self._store = store

    def decode_header(self, ext_fields: dict[str, str]) -> QueryConsumerOffsetRequestHeader:
        """No group is a group that is unknown, under the name that Java gives to nothing."""
        return super().decode_header({"consumerGroup": "null", **ext_fields})

    def handle(self, request: Request[QueryConsumerOffsetRequestHeader]) -> Response:
        header = request.header
        topic, queue_id = header.topic, header.queue_id
        offset = self._offsets.query(header.consumer_group, topic, queue_id)
        if offset < 0:
            if header.set_zero_if_not_found is False:
                raise RemotingError(
                    ResponseCode.QUERY_NOT_FOUND,
                    "Not found, do not set to zero, maybe this group boot first",
                )
            first = self._store.min_offset(topic, queue_id)
            if first > 0 or not self._store.has_message(topic, queue_id, 0):
                raise RemotingError(
                    ResponseCode.QUERY_NOT_FOUND,
                    "Not found, V3_0_6_SNAPSHOT maybe this group consumer boot first",
                )
            offset = 0
        return Response(header=QueryConsumerOffsetResponseHeader(offset=offset))
