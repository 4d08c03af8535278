"""RESUME_CHECK_HALF_MESSAGE (323): a half message that was given up is taken up again."""

from trimq.broker.produce.receive_end import write_receive
from trimq.broker.records import ColdRecord, NoRecord, fetch_record, record_in_memory
from trimq.broker.transactions.resuming import Resuming, not_readable
from trimq.codec.codes import RequestCode
from trimq.codec.errors import CodecError
from trimq.codec.headers.transactions import ResumeCheckHalfMessageRequestHeader
from trimq.codec.records.message_id import parse_offset_message_id
from trimq.remoting.contract import Later, Processor, Request, Response
from trimq.store.config import StoreConfig
from trimq.store.message_store import MessageStore


class ResumeCheckHalfMessage(Processor[ResumeCheckHalfMessageRequestHeader]):
    codes = (RequestCode.RESUME_CHECK_HALF_MESSAGE,)
    header = ResumeCheckHalfMessageRequestHeader

    def __init__(self, resuming: Resuming, store: MessageStore, config: StoreConfig) -> None:
        self._resuming = resuming
        self._store = store
        self._config = config

    def handle(self, request: Request[ResumeCheckHalfMessageRequestHeader]) -> Response | Later:
        try:
            record = record_in_memory(self._store, _place(request))
        except ColdRecord:
            return Later(request, self._from_disk, keeps_body=False)
        except NoRecord:
            raise not_readable() from None
        self._resuming.resume(record)
        return Response(staged=True)

    async def _from_disk(self, request: Request[ResumeCheckHalfMessageRequestHeader]) -> Response:
        try:
            record = await fetch_record(self._store, _place(request))
        except NoRecord:
            raise not_readable() from None
        self._resuming.resume(record)
        # Its receive has ended.
        write_receive(self._store, self._config)
        return Response()


def _place(request: Request[ResumeCheckHalfMessageRequestHeader]) -> int:
    try:
        return parse_offset_message_id(request.header.msg_id or "")[1]
    except CodecError:
        raise not_readable() from None
