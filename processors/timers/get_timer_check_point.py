"""GET_TIMER_CHECK_POINT (60): how far the timer wheel has got, for slaves (SlaveSynchronize)."""

from trimq.broker.timers.interface import Timers
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.remoting.contract import Processor, RemotingError, Request, Response


class GetTimerCheckPoint(Processor[None]):
    codes = (RequestCode.GET_TIMER_CHECK_POINT,)

    def __init__(self, timers: Timers | None) -> None:
        self._timers = timers

    def handle(self, request: Request[None]) -> Response:
        if self._timers is None:
            raise RemotingError(ResponseCode.SYSTEM_ERROR, "The checkpoint is null")
        return Response(body=self._timers.checkpoint())
