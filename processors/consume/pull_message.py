"""PULL_MESSAGE (11): the messages of a queue from an offset on, or waiting for one."""

from trimq.broker.consume.pulling import Pulling
from trimq.codec.codes import RequestCode
from trimq.codec.headers.fast import PullHeader, decode_pull
from trimq.codec.headers.pull import PullMessageRequestHeader
from trimq.processors._pull_replies import answer_pull
from trimq.remoting.contract import Later, Processor, Request, Response


class PullMessage(Processor[PullHeader]):
    codes = (RequestCode.PULL_MESSAGE,)
    shows_no_fields = True
    joins_rounds = True
    header = PullMessageRequestHeader

    def __init__(self, pulling: Pulling) -> None:
        self._pulling = pulling

    def decode_header(self, ext_fields: dict[str, str]) -> PullHeader:
        return decode_pull(ext_fields)

    def handle(self, request: Request[PullHeader]) -> Response | Later:
        return answer_pull(self._pulling, request, lite=False)
