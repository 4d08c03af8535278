"""SEND_BATCH_MESSAGE (320): several messages for one queue, stored as separate records.

The header is that of SEND_MESSAGE_V2, from every client. Without the batch flag in it the body is
stored as one message, as the real broker does.
"""

from trimq.codec.codes import RequestCode
from trimq.codec.headers.fast import SendHeader, decode_send_v2
from trimq.codec.headers.send import SendMessageRequestHeaderV2
from trimq.processors._send_replies import SendReplies
from trimq.remoting.contract import Processor, Request, Response


class SendBatchMessage(Processor[SendHeader]):
    codes = (RequestCode.SEND_BATCH_MESSAGE,)
    joins_rounds = True
    header = SendMessageRequestHeaderV2

    def __init__(self, replies: SendReplies) -> None:
        self._replies = replies

    def decode_header(self, ext_fields: dict[str, str]) -> SendHeader:
        return decode_send_v2(ext_fields)

    def handle(self, request: Request[SendHeader]) -> Response:
        return self._replies.answer(request)
