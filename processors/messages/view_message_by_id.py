"""VIEW_MESSAGE_BY_ID: the record at a physical offset, which clients take from a message id."""

from trimq.broker.records import sound_record
from trimq.broker.store_views import RecordReader
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.headers.messages import ViewMessageRequestHeader
from trimq.remoting.contract import Processor, RemotingError, Request, Response


class ViewMessageById(Processor[ViewMessageRequestHeader]):
    codes = (RequestCode.VIEW_MESSAGE_BY_ID,)
    header = ViewMessageRequestHeader

    def __init__(self, store: RecordReader) -> None:
        self._store = store

    def handle(self, request: Request[ViewMessageRequestHeader]) -> Response:
        offset = request.header.offset
        record = self._store.record_at(offset)
        if record is None or sound_record(record) is None:
            raise RemotingError(
                ResponseCode.SYSTEM_ERROR, f"can not find message by the offset, {offset}"
            )
        return Response(body=record)
