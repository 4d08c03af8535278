"""TRIGGER_LITE_DISPATCH: tell a lite group's clients what there is to read; here nothing ever is."""

from trimq.broker.groups.lite import LiteChecks
from trimq.codec.codes import RequestCode
from trimq.codec.headers.lite import TriggerLiteDispatchRequestHeader
from trimq.codec.names import REMARK_LEFT
from trimq.remoting.contract import Processor, Request, Response


class TriggerLiteDispatch(Processor[TriggerLiteDispatchRequestHeader]):
    codes = (RequestCode.TRIGGER_LITE_DISPATCH,)
    header = TriggerLiteDispatchRequestHeader

    def __init__(self, checks: LiteChecks) -> None:
        self._checks = checks

    def handle(self, request: Request[TriggerLiteDispatchRequestHeader]) -> Response:
        self._checks.bound_topic(request.header.group)
        return Response(remark=REMARK_LEFT)
