"""GET_ALL_DELAY_OFFSET (45): how far each delay level has got, for slaves (SlaveSynchronize)."""

from trimq.broker.delivery.delays import DelayService
from trimq.codec.codes import RequestCode
from trimq.processors._steps import WholeProcessor
from trimq.remoting.contract import Request, Response


class GetAllDelayOffset(WholeProcessor[None]):
    codes = (RequestCode.GET_ALL_DELAY_OFFSET,)

    def __init__(self, delays: DelayService) -> None:
        self._delays = delays

    def answer(self, request: Request[None]) -> Response:
        return Response(body=self._delays.encoded())
