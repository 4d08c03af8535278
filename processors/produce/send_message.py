"""SEND_MESSAGE (10): one message, header fields by their long names. The Go client's way."""

from trimq.codec.codes import RequestCode
from trimq.codec.headers.fast import SendHeader, decode_send
from trimq.codec.headers.send import SendMessageRequestHeader
from trimq.processors.produce._sending import Sending
from trimq.remoting.contract import Processor, Request, Response


class SendMessage(Processor[SendHeader]):
    codes = (RequestCode.SEND_MESSAGE,)
    header = SendMessageRequestHeader

    def __init__(self, sending: Sending) -> None:
        self._sending = sending

    def decode_header(self, ext_fields: dict[str, str]) -> SendHeader:
        return decode_send(ext_fields)

    def handle(self, request: Request[SendHeader]) -> Response:
        return self._sending.answer(request)
