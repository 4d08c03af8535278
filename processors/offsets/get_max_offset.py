"""GET_MAX_OFFSET: the offset that the queue's next message will get; 0 for an unknown queue."""

from codec.codes import RequestCode
from codec.headers.offsets import GetMaxOffsetRequestHeader, GetMaxOffsetResponseHeader
from processors.offsets._queues import QueueReader
from remoting.contract import Processor, Request, Response


class GetMaxOffset(Processor[GetMaxOffsetRequestHeader]):
    codes = (RequestCode.GET_MAX_OFFSET,)
    header = GetMaxOffsetRequestHeader

    def __init__(self, store: QueueReader) -> None:
        self._store = store

    def handle(self, request: Request[GetMaxOffsetRequestHeader]) -> Response:
        offset = self._store.max_offset(request.header.topic, request.header.queue_id)
        return Response(header=GetMaxOffsetResponseHeader(offset=offset))
