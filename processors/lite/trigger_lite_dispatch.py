"""TRIGGER_LITE_DISPATCH: look at all lite topics of a client, or of a group's clients, for messages."""

from trimq.broker.lite.events import LiteEvents
from trimq.broker.lite.metadata import LiteMetadata
from trimq.codec.codes import RequestCode
from trimq.codec.headers.lite import TriggerLiteDispatchRequestHeader
from trimq.codec.names import REMARK_LEFT
from trimq.remoting.contract import Processor, Request, Response


class TriggerLiteDispatch(Processor[TriggerLiteDispatchRequestHeader]):
    codes = (RequestCode.TRIGGER_LITE_DISPATCH,)
    header = TriggerLiteDispatchRequestHeader

    def __init__(self, metadata: LiteMetadata, events: LiteEvents) -> None:
        self._metadata = metadata
        self._events = events

    def handle(self, request: Request[TriggerLiteDispatchRequestHeader]) -> Response:
        header = request.header
        self._metadata.bound_topic(header.group)
        if header.client_id:
            self._events.look_at_client(header.client_id, header.group)
        else:
            self._events.look_at_group(header.group)
        return Response(remark=REMARK_LEFT)
