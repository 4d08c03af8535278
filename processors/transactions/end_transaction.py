"""END_TRANSACTION (37): a producer says what becomes of its half message."""

from trimq.codec.codes import RequestCode
from trimq.codec.headers.fast import EndHeader, decode_end
from trimq.codec.headers.transactions import EndTransactionRequestHeader
from trimq.processors._end_replies import EndReplies
from trimq.remoting.contract import Later, Processor, Request, Response


class EndTransaction(Processor[EndHeader]):
    codes = (RequestCode.END_TRANSACTION,)
    joins_rounds = True
    header = EndTransactionRequestHeader

    def __init__(self, replies: EndReplies) -> None:
        self._replies = replies

    def decode_header(self, ext_fields: dict[str, str]) -> EndHeader:
        return decode_end(ext_fields)

    def handle(self, request: Request[EndHeader]) -> Response | Later:
        return self._replies.answer(request)
