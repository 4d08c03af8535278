"""GET_TIMER_METRICS (61): how many messages of each topic wait on the wheel, for slaves (SlaveSynchronize)."""

from trimq.broker.timers.interface import Timers
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.processors._steps import WholeProcessor
from trimq.remoting.contract import RemotingError, Request, Response


class GetTimerMetrics(WholeProcessor[None]):
    codes = (RequestCode.GET_TIMER_METRICS,)

    def __init__(self, timers: Timers | None) -> None:
        self._timers = timers

    def answer(self, request: Request[None]) -> Response:
        if self._timers is None:
            raise RemotingError(ResponseCode.SYSTEM_ERROR, "The timer message store is null")
        return Response(body=self._timers.metrics())
