"""LITE_PULL_MESSAGE (361): a pull of a consumer that assigns its queues itself.

The same as PULL_MESSAGE but for a switch of its own, litePullMessageEnable.
"""

from trimq.codec.codes import RequestCode
from trimq.codec.headers.fast import PullHeader, decode_pull
from trimq.codec.headers.pull import PullMessageRequestHeader
from trimq.processors.consume._pulling import Pulling
from trimq.remoting.contract import Processor, Request, Response


class LitePullMessage(Processor[PullHeader]):
    codes = (RequestCode.LITE_PULL_MESSAGE,)
    header = PullMessageRequestHeader
    waits = True
    keeps_body = False

    def __init__(self, pulling: Pulling) -> None:
        self._pulling = pulling

    def decode_header(self, ext_fields: dict[str, str]) -> PullHeader:
        return decode_pull(ext_fields)

    def handle_at_once(self, request: Request[PullHeader]) -> Response | None:
        return self._pulling.answer_at_once(request)

    async def handle(self, request: Request[PullHeader]) -> Response:
        return await self._pulling.answer(request)
