"""GET_ALL_DELAY_OFFSET (45): how far each delay level has got, for slaves (SlaveSynchronize)."""

from trimq.broker.delivery.delays import DelayService
from trimq.codec.codes import RequestCode
from trimq.remoting.contract import Processor, Request, Response


class GetAllDelayOffset(Processor[None]):
    codes = (RequestCode.GET_ALL_DELAY_OFFSET,)

    def __init__(self, delays: DelayService) -> None:
        self._delays = delays

    def handle(self, request: Request[None]) -> Response:
        return Response(body=self._delays.encoded())
