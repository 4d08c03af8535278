"""SEARCH_OFFSET_BY_TIMESTAMP: the offset stored at a time; boundaryType says which of several."""

from codec.codes import RequestCode
from codec.headers.offsets import SearchOffsetRequestHeader, SearchOffsetResponseHeader
from processors.offsets._queues import QueueReader
from remoting.contract import Processor, Request, Response


class SearchOffsetByTimestamp(Processor[SearchOffsetRequestHeader]):
    codes = (RequestCode.SEARCH_OFFSET_BY_TIMESTAMP,)
    header = SearchOffsetRequestHeader

    def __init__(self, store: QueueReader) -> None:
        self._store = store

    def handle(self, request: Request[SearchOffsetRequestHeader]) -> Response:
        header = request.header
        # BoundaryType.getType: whatever is not "upper" means lower.
        upper = (header.boundary_type or "").lower() == "upper"
        offset = self._store.offset_by_time(header.topic, header.queue_id, header.timestamp, upper)
        return Response(header=SearchOffsetResponseHeader(offset=offset))
