"""SEND_REPLY_MESSAGE_V2 (325): a consumer's reply, header fields by one letter each. Used by the Java client."""

from trimq.codec.codes import RequestCode
from trimq.codec.headers.fast import SendHeader, decode_send_v2
from trimq.codec.headers.send import SendMessageRequestHeaderV2
from trimq.processors._reply_answers import ReplyAnswers
from trimq.remoting.contract import Later, Processor, Request, Response


class SendReplyMessageV2(Processor[SendHeader]):
    codes = (RequestCode.SEND_REPLY_MESSAGE_V2,)
    header = SendMessageRequestHeaderV2

    def __init__(self, answers: ReplyAnswers) -> None:
        self._answers = answers

    def decode_header(self, ext_fields: dict[str, str]) -> SendHeader:
        # A reply can do without them: the first is refused, the second is not looked at.
        return decode_send_v2({"b": "", "f": "0", **ext_fields})

    def handle(self, request: Request[SendHeader]) -> Response | Later:
        return self._answers.answer(request)
