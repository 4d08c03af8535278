"""GET_LITE_CLIENT_INFO: what one client has subscribed to; here, nothing."""

from trimq.broker.groups.lite import LiteChecks
from trimq.codec.bodies.base import encode_body
from trimq.codec.bodies.lite import GetLiteClientInfoResponseBody
from trimq.codec.codes import RequestCode
from trimq.codec.headers.lite import GetLiteClientInfoRequestHeader
from trimq.remoting.contract import Processor, Request, Response

_UNKNOWN = -1


class GetLiteClientInfo(Processor[GetLiteClientInfoRequestHeader]):
    codes = (RequestCode.GET_LITE_CLIENT_INFO,)
    header = GetLiteClientInfoRequestHeader

    def __init__(self, checks: LiteChecks) -> None:
        self._checks = checks

    def handle(self, request: Request[GetLiteClientInfoRequestHeader]) -> Response:
        header = request.header
        topic = self._checks.topic(header.parent_topic)
        self._checks.check_bound(header.group, topic.topic_name)
        body = GetLiteClientInfoResponseBody(
            parent_topic=topic.topic_name,
            group=header.group,
            client_id=header.client_id,
            lite_topic_count=_UNKNOWN,
            last_access_time=_UNKNOWN,
        )
        return Response(body=encode_body(body))
