"""GET_EARLIEST_MSG_STORETIME: when the queue's first message was stored; -1 when it has none."""

from trimq.broker.store_views import QueueReader
from trimq.broker.topics.static_queues import StaticQueue, StaticQueues, own_header
from trimq.codec.codes import RequestCode
from trimq.codec.headers.offsets import (
    GetEarliestMsgStoretimeRequestHeader,
    GetEarliestMsgStoretimeResponseHeader,
)
from trimq.processors._queue_requests import QueueProcessor
from trimq.remoting.contract import Request, Response


class GetEarliestMsgStoretime(QueueProcessor[GetEarliestMsgStoretimeRequestHeader]):
    """For a static topic's queue the first part counts, by that part's own number.

    The real broker asks for the queue's global number there.
    """

    codes = (RequestCode.GET_EARLIEST_MSG_STORETIME,)
    header = GetEarliestMsgStoretimeRequestHeader

    def __init__(self, static: StaticQueues, store: QueueReader) -> None:
        super().__init__(static)
        self._store = store

    def plain(self, request: Request[GetEarliestMsgStoretimeRequestHeader]) -> Response:
        return self._here(request.header.topic, request.header.queue_id)

    async def of_parts(
        self, request: Request[GetEarliestMsgStoretimeRequestHeader], queue: StaticQueue
    ) -> Response:
        queue.leader()
        part = queue.first_part()
        if queue.is_here(part):
            return self._here(queue.topic, part.queue_id)
        header = own_header(request.header, part)
        told = await self._static.ask(
            part, request.code, header, GetEarliestMsgStoretimeResponseHeader
        )
        return Response(header=told)

    def _here(self, topic: str, queue_id: int) -> Response:
        timestamp = self._store.earliest_store_time(topic, queue_id)
        return Response(header=GetEarliestMsgStoretimeResponseHeader(timestamp=timestamp))
