"""RESUME_CHECK_HALF_MESSAGE (323): a half message that was given up is taken up again."""

from trimq.broker.produce.puts.rules import put_answer
from trimq.broker.records import NoRecord, fetch_record
from trimq.broker.transactions.resuming import Resuming, not_readable
from trimq.codec.codes import RequestCode
from trimq.codec.errors import CodecError
from trimq.codec.headers.transactions import ResumeCheckHalfMessageRequestHeader
from trimq.codec.records.message_id import parse_offset_message_id
from trimq.remoting.contract import Later, Processor, RemotingError, Request, Response
from trimq.store.config import StoreConfig
from trimq.store.errors import StoreError
from trimq.store.message_store import MessageStore


class ResumeCheckHalfMessage(Processor[ResumeCheckHalfMessageRequestHeader]):
    codes = (RequestCode.RESUME_CHECK_HALF_MESSAGE,)
    header = ResumeCheckHalfMessageRequestHeader

    def __init__(self, resuming: Resuming, store: MessageStore, config: StoreConfig) -> None:
        self._resuming = resuming
        self._store = store
        self._config = config

    def handle(self, request: Request[ResumeCheckHalfMessageRequestHeader]) -> Later:
        return Later(request, self._answer, keeps_body=False)

    async def _answer(self, request: Request[ResumeCheckHalfMessageRequestHeader]) -> Response:
        try:
            record = await fetch_record(self._store, _place(request))
        except NoRecord:
            raise not_readable() from None
        try:
            await self._resuming.resume(record)
        except StoreError as error:
            raise RemotingError(*put_answer(error, self._config, self._store.disk_use)) from error
        return Response()


def _place(request: Request[ResumeCheckHalfMessageRequestHeader]) -> int:
    try:
        return parse_offset_message_id(request.header.msg_id or "")[1]
    except CodecError:
        raise not_readable() from None
