"""GET_MIN_OFFSET: the first offset that can still be read; 0 for an unknown queue."""

from trimq.broker.store_views import QueueReader
from trimq.broker.topics.static_queues import StaticQueue, StaticQueues, own_header
from trimq.codec.codes import RequestCode
from trimq.codec.headers.offsets import GetMinOffsetRequestHeader, GetMinOffsetResponseHeader
from trimq.processors._queue_requests import QueueProcessor
from trimq.remoting.contract import Request, Response


class GetMinOffset(QueueProcessor[GetMinOffsetRequestHeader]):
    """The real broker answers this through its RPC client, which leaves an empty remark."""

    codes = (RequestCode.GET_MIN_OFFSET,)
    header = GetMinOffsetRequestHeader

    def __init__(self, static: StaticQueues, store: QueueReader) -> None:
        super().__init__(static)
        self._store = store

    def plain(self, request: Request[GetMinOffsetRequestHeader]) -> Response:
        offset = self._store.min_offset(request.header.topic, request.header.queue_id)
        return Response(remark="", header=GetMinOffsetResponseHeader(offset=offset))

    async def of_parts(
        self, request: Request[GetMinOffsetRequestHeader], queue: StaticQueue
    ) -> Response:
        if not queue.leads:
            raise queue.not_leader(
                f"{queue} is not leader in broker {queue.broker_name},"
                f" request code {int(request.code)}"
            )
        part = queue.first_part()
        if queue.is_here(part):
            offset = self._store.min_offset(queue.topic, part.queue_id)
        else:
            header = own_header(request.header, part)
            told = await self._static.ask(part, request.code, header, GetMinOffsetResponseHeader)
            offset = told.offset
        first = part.to_global_within(offset)
        return Response(remark="", header=GetMinOffsetResponseHeader(offset=first))
