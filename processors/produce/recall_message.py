"""RECALL_MESSAGE (370): a producer takes a timer message back, by the handle of its send's answer."""

from trimq.broker.produce.puts.outcomes import Refused
from trimq.broker.produce.returns.recalling import Recalling
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.headers.messages import RecallMessageRequestHeader, RecallMessageResponseHeader
from trimq.codec.names import REMARK_LEFT
from trimq.codec.records.property_keys import MSG_REGION
from trimq.remoting.contract import Processor, Request, Response


class RecallMessage(Processor[RecallMessageRequestHeader]):
    codes = (RequestCode.RECALL_MESSAGE,)
    shows_no_fields = True
    header = RecallMessageRequestHeader

    def __init__(self, recalling: Recalling) -> None:
        self._recalling = recalling

    def handle(self, request: Request[RecallMessageRequestHeader]) -> Response:
        outcome = self._recalling.recall(request.header, request.peer)
        told = {MSG_REGION: self._recalling.region}
        if isinstance(outcome, Refused):
            return Response(outcome.code, outcome.remark, ext_fields=told)
        # A disk that is too slow makes no failure of it.
        return Response(
            ResponseCode.SUCCESS,
            REMARK_LEFT,
            RecallMessageResponseHeader(msg_id=outcome.unique),
            told,
            staged=True,
            durable_at=outcome.durable_at,
            durable_timeout_code=ResponseCode.SUCCESS,
        )
