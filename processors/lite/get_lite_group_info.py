"""GET_LITE_GROUP_INFO: how far a group is behind in lite topics; here it never is."""

from trimq.broker.groups.lite import LiteChecks
from trimq.codec.bodies.base import encode_body
from trimq.codec.bodies.lite import GetLiteGroupInfoResponseBody
from trimq.codec.codes import RequestCode
from trimq.codec.headers.lite import GetLiteGroupInfoRequestHeader
from trimq.codec.names import REMARK_LEFT
from trimq.remoting.contract import Processor, Request, Response

_NOTHING = -1


class GetLiteGroupInfo(Processor[GetLiteGroupInfoRequestHeader]):
    codes = (RequestCode.GET_LITE_GROUP_INFO,)
    header = GetLiteGroupInfoRequestHeader

    def __init__(self, checks: LiteChecks) -> None:
        self._checks = checks

    def handle(self, request: Request[GetLiteGroupInfoRequestHeader]) -> Response:
        header = request.header
        body = GetLiteGroupInfoResponseBody(
            group=header.group,
            parent_topic=self._checks.bound_topic(header.group),
            lite_topic=header.lite_topic,
        )
        if header.lite_topic:
            # One lite topic that has no message.
            body.total_lag_count = _NOTHING
        else:
            body.lag_count_top_k = []
            body.lag_timestamp_top_k = []
        return Response(remark=REMARK_LEFT, body=encode_body(body))
