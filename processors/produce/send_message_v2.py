"""SEND_MESSAGE_V2 (310): one message, header fields by one letter each. Used by the Java client.

The header's flag says whether it is a batch, not the code.
"""

from trimq.codec.codes import RequestCode
from trimq.codec.headers.fast import SendHeader, decode_send_v2
from trimq.codec.headers.send import SendMessageRequestHeaderV2
from trimq.processors._send_replies import SendReplies
from trimq.remoting.contract import Processor, Request, Response


class SendMessageV2(Processor[SendHeader]):
    codes = (RequestCode.SEND_MESSAGE_V2,)
    joins_rounds = True
    header = SendMessageRequestHeaderV2

    def __init__(self, replies: SendReplies) -> None:
        self._replies = replies

    def decode_header(self, ext_fields: dict[str, str]) -> SendHeader:
        return decode_send_v2(ext_fields)

    def handle(self, request: Request[SendHeader]) -> Response:
        return self._replies.answer(request)
