"""TRIGGER_LITE_DISPATCH: look at all lite topics of a client, or of a group's clients, for messages."""

from functools import partial

from trimq.broker.lite.events import LiteEvents
from trimq.broker.lite.metadata import LiteMetadata
from trimq.broker.steps import DiskSteps, begun, in_steps
from trimq.codec.codes import RequestCode
from trimq.codec.headers.lite import TriggerLiteDispatchRequestHeader
from trimq.codec.names import REMARK_LEFT
from trimq.remoting.contract import Later, Processor, Request, Response

Asked = Request[TriggerLiteDispatchRequestHeader]
# Looked at before the answer, without a task of its own.
_AT_ONCE = 100


class TriggerLiteDispatch(Processor[TriggerLiteDispatchRequestHeader]):
    codes = (RequestCode.TRIGGER_LITE_DISPATCH,)
    header = TriggerLiteDispatchRequestHeader

    def __init__(self, metadata: LiteMetadata, events: LiteEvents) -> None:
        self._metadata = metadata
        self._events = events

    def handle(self, request: Asked) -> Response | Later:
        header = request.header
        self._metadata.bound_topic(header.group)
        if header.client_id:
            looks = self._events.look_at_client(header.client_id, header.group)
        else:
            looks = self._events.look_at_group(header.group)
        rest = begun(looks, _AT_ONCE)
        if rest is None:
            return Response(remark=REMARK_LEFT)
        return Later(request, partial(_go_on, rest), keeps_body=False)


async def _go_on(looks: DiskSteps[None], request: Asked) -> Response:
    await in_steps(looks)
    return Response(remark=REMARK_LEFT)
