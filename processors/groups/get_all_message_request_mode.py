"""GET_ALL_MESSAGE_REQUEST_MODE: every mode that has been set, for slaves and tools."""

from trimq.broker.groups.rebalance.request_modes import RequestModes
from trimq.codec.codes import RequestCode
from trimq.processors._steps import WholeProcessor
from trimq.remoting.contract import Request, Response


class GetAllMessageRequestMode(WholeProcessor[None]):
    codes = (RequestCode.GET_ALL_MESSAGE_REQUEST_MODE,)

    def __init__(self, modes: RequestModes) -> None:
        self._modes = modes

    def answer(self, request: Request[None]) -> Response:
        return Response(body=self._modes.encoded())
