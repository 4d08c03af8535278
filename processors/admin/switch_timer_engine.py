"""SWITCH_TIMER_ENGINE: refused as by a broker with `timerWheelEnable=false`."""

from trimq.codec.codes import RequestCode, ResponseCode
from trimq.remoting.contract import Processor, RemotingError, Request, Response


class SwitchTimerEngine(Processor[None]):
    codes = (RequestCode.SWITCH_TIMER_ENGINE,)

    def handle(self, request: Request[None]) -> Response:
        raise RemotingError(ResponseCode.INVALID_PARAMETER, "broker timerWheelEnable is false")
