"""GET_LITE_CLIENT_INFO: which lite topics one client reads."""

from typing import Final

from trimq.broker.lite.events import LiteEvents
from trimq.broker.lite.metadata import LiteMetadata
from trimq.broker.lite.registry import LiteSubscriptions
from trimq.codec.bodies.base import encode_body
from trimq.codec.bodies.lite import GetLiteClientInfoResponseBody
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.headers.lite import GetLiteClientInfoRequestHeader
from trimq.processors._steps import WholeProcessor
from trimq.remoting.contract import RemotingError, Request, Response

_UNKNOWN: Final = -1
_MOST: Final = 10_000


class GetLiteClientInfo(WholeProcessor[GetLiteClientInfoRequestHeader]):
    codes = (RequestCode.GET_LITE_CLIENT_INFO,)
    header = GetLiteClientInfoRequestHeader

    def __init__(
        self, metadata: LiteMetadata, subscriptions: LiteSubscriptions, events: LiteEvents
    ) -> None:
        self._metadata = metadata
        self._subscriptions = subscriptions
        self._events = events

    def answer(self, request: Request[GetLiteClientInfoRequestHeader]) -> Response:
        header = request.header
        if header.max_count <= 0:
            raise RemotingError(ResponseCode.SYSTEM_ERROR, "[maxCount] field invalid")
        topic = self._metadata.topic(header.parent_topic)
        self._metadata.check_bound(header.group, topic.topic_name)
        if header.client_id is None:
            raise RemotingError(
                ResponseCode.SYSTEM_ERROR, "the request names no client: set clientId"
            )
        client_id = header.client_id
        found = self._subscriptions.find(client_id)
        queues = None if found is None or found.unseen else found.shown()
        body = GetLiteClientInfoResponseBody(
            parent_topic=topic.topic_name,
            group=header.group,
            client_id=header.client_id,
            lite_topic_count=_UNKNOWN if queues is None else len(queues),
            lite_topic_set=None if queues is None else queues[: min(header.max_count, _MOST)],
            last_access_time=self._events.last_access(client_id),
        )
        return Response(body=encode_body(body))
