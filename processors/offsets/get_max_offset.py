"""GET_MAX_OFFSET: the offset that the queue's next message will get; 0 for an unknown queue."""

from trimq.broker.store_views import QueueReader
from trimq.broker.topics.static_queues import StaticQueue, StaticQueues, own_header
from trimq.codec.codes import RequestCode
from trimq.codec.headers.offsets import GetMaxOffsetRequestHeader, GetMaxOffsetResponseHeader
from trimq.processors._queue_requests import QueueProcessor
from trimq.remoting.contract import Request, Response


class GetMaxOffset(QueueProcessor[GetMaxOffsetRequestHeader]):
    """While a queue moves, its end is the old part's, by that part's own number.

    The real broker asks there for the new part's number.
    """

    codes = (RequestCode.GET_MAX_OFFSET,)
    header = GetMaxOffsetRequestHeader

    def __init__(self, static: StaticQueues, store: QueueReader) -> None:
        super().__init__(static)
        self._store = store

    def plain(self, request: Request[GetMaxOffsetRequestHeader]) -> Response:
        offset = self._store.max_offset(request.header.topic, request.header.queue_id)
        return Response(header=GetMaxOffsetResponseHeader(offset=offset))

    async def of_parts(
        self, request: Request[GetMaxOffsetRequestHeader], queue: StaticQueue
    ) -> Response:
        queue.leader()
        part = queue.last_part()
        if queue.is_here(part):
            offset = self._store.max_offset(queue.topic, part.queue_id)
        else:
            header = own_header(request.header, part)
            told = await self._static.ask(part, request.code, header, GetMaxOffsetResponseHeader)
            offset = told.offset
        return Response(header=GetMaxOffsetResponseHeader(offset=part.to_global(offset)))
