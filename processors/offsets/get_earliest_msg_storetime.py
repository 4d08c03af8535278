"""GET_EARLIEST_MSG_STORETIME: when the queue's first message was stored; -1 when it has none."""

from codec.codes import RequestCode
from codec.headers.offsets import (
    GetEarliestMsgStoretimeRequestHeader,
    GetEarliestMsgStoretimeResponseHeader,
)
from processors.offsets._queues import QueueReader
from remoting.contract import Processor, Request, Response


class GetEarliestMsgStoretime(Processor[GetEarliestMsgStoretimeRequestHeader]):
    codes = (RequestCode.GET_EARLIEST_MSG_STORETIME,)
    header = GetEarliestMsgStoretimeRequestHeader

    def __init__(self, store: QueueReader) -> None:
        self._store = store

    def handle(self, request: Request[GetEarliestMsgStoretimeRequestHeader]) -> Response:
        timestamp = self._store.earliest_store_time(request.header.topic, request.header.queue_id)
        return Response(header=GetEarliestMsgStoretimeResponseHeader(timestamp=timestamp))
