"""SEARCH_OFFSET_BY_TIMESTAMP: the offset stored at a time; boundaryType says which of several."""

from trimq.broker.store_views import QueueReader
from trimq.broker.topics.static_queues import StaticQueue, StaticQueues, own_header
from trimq.codec.bodies.static_topics import LogicQueueMappingItem
from trimq.codec.codes import RequestCode
from trimq.codec.headers.offsets import (
    GetMaxOffsetRequestHeader,
    GetMaxOffsetResponseHeader,
    SearchOffsetRequestHeader,
    SearchOffsetResponseHeader,
)
from trimq.codec.names import lite_queue
from trimq.processors._queue_requests import QueueProcessor
from trimq.remoting.contract import Request, Response


class SearchOffsetByTimestamp(QueueProcessor[SearchOffsetRequestHeader]):
    """For a static topic's queue, the first part counts that has a message at or after that time.

    The real broker stops at the first part of its own, and otherwise goes on even when it has found
    the message: it answers 0 for a time in an earlier part, or that part's end for a later time.
    """

    codes = (RequestCode.SEARCH_OFFSET_BY_TIMESTAMP,)
    header = SearchOffsetRequestHeader

    def __init__(self, static: StaticQueues, store: QueueReader) -> None:
        super().__init__(static)
        self._store = store

    def plain(self, request: Request[SearchOffsetRequestHeader]) -> Response:
        header, lite_topic = request.header, request.header.lite_topic or ""
        if lite_topic.strip():
            offset = self._search_lite(header, lite_queue(header.topic, lite_topic))
        else:
            offset = self._search(header, header.topic, header.queue_id)
        return Response(header=SearchOffsetResponseHeader(offset=offset))

    async def of_parts(
        self, request: Request[SearchOffsetRequestHeader], queue: StaticQueue
    ) -> Response:
        queue.leader()
        *earlier, last = queue.decided()
        for part in earlier:
            found, end = await self._search_part(request, queue, part)
            if found < end:
                break
        else:
            part = last
            found, _ = await self._search_part(request, queue, part)
        return Response(header=SearchOffsetResponseHeader(offset=part.to_global(found)))

    def _search_lite(self, header: SearchOffsetRequestHeader, queue: str) -> int:
        """A lite topic has one queue."""
        if header.queue_id != 0 or self._store.max_offset(queue, 0) <= 0:
            return 0
        return self._search(header, queue, 0)

    def _search(self, header: SearchOffsetRequestHeader, topic: str, queue_id: int) -> int:
        # BoundaryType.getType: whatever is not "upper" means lower.
        upper = (header.boundary_type or "").lower() == "upper"
        return self._store.offset_by_time(topic, queue_id, header.timestamp, upper)

    async def _search_part(
        self,
        request: Request[SearchOffsetRequestHeader],
        queue: StaticQueue,
        part: LogicQueueMappingItem,
    ) -> tuple[int, int]:
        """What was found, and where the part ends; in its own offsets."""
        if queue.is_here(part):
            found = self._search(request.header, request.header.topic, part.queue_id)
            end = self._store.max_offset(queue.topic, part.queue_id)
        else:
            ask = self._static.ask
            header = own_header(request.header, part)
            found = (await ask(part, request.code, header, SearchOffsetResponseHeader)).offset
            about = GetMaxOffsetRequestHeader(topic=queue.topic, queue_id=part.queue_id)
            about = own_header(about, part)
            code = RequestCode.GET_MAX_OFFSET
            end = (await ask(part, code, about, GetMaxOffsetResponseHeader)).offset
        return found, min(end, part.end_offset) if part.has_end else end
