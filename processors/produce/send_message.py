"""SEND_MESSAGE (10): one message, header fields by their long names. Used by the Go client."""

from trimq.broker.topics.static_queues import is_forwarded
from trimq.codec.codes import RequestCode
from trimq.codec.headers.fast import SendHeader, decode_send
from trimq.codec.headers.send import SendMessageRequestHeader
from trimq.processors._send_replies import SendReplies
from trimq.remoting.contract import Processor, Request, Response


class SendMessage(Processor[SendHeader]):
    codes = (RequestCode.SEND_MESSAGE,)
    joins_rounds = True
    header = SendMessageRequestHeader

    def __init__(self, replies: SendReplies) -> None:
        self._replies = replies

    def decode_header(self, ext_fields: dict[str, str]) -> SendHeader:
        return decode_send(ext_fields)

    def handle(self, request: Request[SendHeader]) -> Response:
        # The short names of the other two codes have none for `lo`.
        return self._replies.answer(request, is_forwarded(request.ext_fields))
