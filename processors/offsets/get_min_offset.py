"""GET_MIN_OFFSET: the first offset that can still be read; 0 for an unknown queue."""

from codec.codes import RequestCode
from codec.headers.offsets import GetMinOffsetRequestHeader, GetMinOffsetResponseHeader
from processors.offsets._queues import QueueReader
from remoting.contract import Processor, Request, Response


class GetMinOffset(Processor[GetMinOffsetRequestHeader]):
    codes = (RequestCode.GET_MIN_OFFSET,)
    header = GetMinOffsetRequestHeader

    def __init__(self, store: QueueReader) -> None:
        self._store = store

    def handle(self, request: Request[GetMinOffsetRequestHeader]) -> Response:
        offset = self._store.min_offset(request.header.topic, request.header.queue_id)
        # The real broker answers this one through its RPC client, which leaves an empty remark.
        return Response(remark="", header=GetMinOffsetResponseHeader(offset=offset))
