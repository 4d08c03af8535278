"""SEND_REPLY_MESSAGE (324): a consumer's reply, header fields by their long names. Used by the Go client."""

from trimq.codec.codes import RequestCode
from trimq.codec.headers.fast import SendHeader, decode_send
from trimq.codec.headers.send import SendMessageRequestHeader
from trimq.codec.java.numbers import parse_int
from trimq.processors._reply_answers import ReplyAnswers
from trimq.remoting.contract import Later, Processor, Request, Response


class SendReplyMessage(Processor[SendHeader]):
    codes = (RequestCode.SEND_REPLY_MESSAGE,)
    header = SendMessageRequestHeader

    def __init__(self, answers: ReplyAnswers) -> None:
        self._answers = answers

    def decode_header(self, ext_fields: dict[str, str]) -> SendHeader:
        # A reply can do without them: the first is refused, the second is not looked at, whatever it is.
        fields = {"topic": "", **ext_fields}
        if parse_int(fields.get("sysFlag", "")) is None:
            fields["sysFlag"] = "0"
        return decode_send(fields)

    def handle(self, request: Request[SendHeader]) -> Response | Later:
        return self._answers.answer(request)
