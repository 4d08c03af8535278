"""GET_LITE_TOPIC_INFO: one lite topic's offsets and subscribers; here it is always an empty one."""

from trimq.broker.groups.lite import LiteChecks
from trimq.codec.bodies.base import encode_body
from trimq.codec.bodies.lite import GetLiteTopicInfoResponseBody
from trimq.codec.codes import RequestCode
from trimq.codec.headers.lite import GetLiteTopicInfoRequestHeader
from trimq.remoting.contract import Processor, Request, Response


class GetLiteTopicInfo(Processor[GetLiteTopicInfoRequestHeader]):
    """The real broker asks the route which broker of the topic a lite topic belongs to; here the
    answer is always this one.
    """

    codes = (RequestCode.GET_LITE_TOPIC_INFO,)
    header = GetLiteTopicInfoRequestHeader

    def __init__(self, checks: LiteChecks) -> None:
        self._checks = checks

    def handle(self, request: Request[GetLiteTopicInfoRequestHeader]) -> Response:
        topic = self._checks.topic(request.header.parent_topic)
        body = GetLiteTopicInfoResponseBody(
            parent_topic=topic.topic_name,
            lite_topic=request.header.lite_topic,
            subscriber=[],
            sharding_to_broker=True,
        )
        return Response(body=encode_body(body))
