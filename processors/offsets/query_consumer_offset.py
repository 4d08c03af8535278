"""QUERY_CONSUMER_OFFSET: where a group reads a queue from (ConsumerManageProcessor).

A group without an offset begins as broker/consume/first_offsets.py says.
"""

from trimq.broker.consume.first_offsets import FirstOffsets
from trimq.broker.groups.offsets.committed import ConsumerOffsets
from trimq.broker.topics.static_queues import StaticQueue, StaticQueues, own_header, refused
from trimq.codec.bodies.static_topics import LogicQueueMappingItem
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.headers.base import decode_header
from trimq.codec.headers.offsets import (
    QueryConsumerOffsetRequestHeader,
    QueryConsumerOffsetResponseHeader,
)
from trimq.processors._queue_requests import QueueProcessor
from trimq.remoting.contract import RemotingError, Request, Response


class QueryConsumerOffset(QueueProcessor[QueryConsumerOffsetRequestHeader]):
    codes = (RequestCode.QUERY_CONSUMER_OFFSET,)
    shows_no_fields = True
    header = QueryConsumerOffsetRequestHeader

    def __init__(self, static: StaticQueues, offsets: ConsumerOffsets, first: FirstOffsets) -> None:
        super().__init__(static)
        self._offsets = offsets
        self._first = first

    def decode_header(self, ext_fields: dict[str, str]) -> QueryConsumerOffsetRequestHeader:
        """A missing group is an unknown group, under Java's name for null."""
        return super().decode_header({"consumerGroup": "null", **ext_fields})

    def plain(self, request: Request[QueryConsumerOffsetRequestHeader]) -> Response:
        offset = self._own(request.header, request.header.queue_id)
        return Response(header=QueryConsumerOffsetResponseHeader(offset=offset))

    async def of_parts(
        self, request: Request[QueryConsumerOffsetRequestHeader], queue: StaticQueue
    ) -> Response:
        """A queue that has moved: the last part in which the group has an offset counts."""
        leader = queue.leader()
        if len(queue.parts) == 1 and leader.logic_offset == 0:
            offset = leader.to_global(self._own(request.header, leader.queue_id))
            return Response(header=QueryConsumerOffsetResponseHeader(offset=offset))
        for part in reversed(queue.decided()):
            if queue.is_here(part):
                group = request.header.consumer_group
                found = self._offsets.query(group, queue.topic, part.queue_id)
            else:
                found = await self._elsewhere(request, part)
            if found >= 0:
                offset = part.to_global(found)
                return Response(header=QueryConsumerOffsetResponseHeader(offset=offset))
        raise RemotingError(
            ResponseCode.QUERY_NOT_FOUND, "Not found, maybe this group consumer boot first"
        )

    def _own(self, header: QueryConsumerOffsetRequestHeader, queue_id: int) -> int:
        """In a queue of this broker; RemotingError (QUERY_NOT_FOUND) when there is none."""
        zero_is_fine = header.set_zero_if_not_found is not False
        return self._first.for_pull(header.consumer_group, header.topic, queue_id, zero_is_fine)

    async def _elsewhere(
        self, request: Request[QueryConsumerOffsetRequestHeader], part: LogicQueueMappingItem
    ) -> int:
        """In a part on another broker; -1 when the group has none there."""
        header = own_header(request.header, part, set_zero_if_not_found=False)
        reply = await self._static.reply(part, request.code, header)
        if reply.code == ResponseCode.QUERY_NOT_FOUND:
            return -1
        if reply.code != ResponseCode.SUCCESS:
            raise refused(reply, part)
        return decode_header(QueryConsumerOffsetResponseHeader, reply.ext_fields).offset
