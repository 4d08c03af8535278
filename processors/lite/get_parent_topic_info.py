"""GET_PARENT_TOPIC_INFO: how long a topic's lite topics live, and who reads them."""

from trimq.broker.groups.lite import LiteChecks, lifetime
from trimq.codec.bodies.base import encode_body
from trimq.codec.bodies.lite import GetParentTopicInfoResponseBody
from trimq.codec.codes import RequestCode
from trimq.codec.headers.lite import GetParentTopicInfoRequestHeader
from trimq.remoting.contract import Processor, Request, Response


class GetParentTopicInfo(Processor[GetParentTopicInfoRequestHeader]):
    codes = (RequestCode.GET_PARENT_TOPIC_INFO,)
    header = GetParentTopicInfoRequestHeader

    def __init__(self, checks: LiteChecks) -> None:
        self._checks = checks

    def handle(self, request: Request[GetParentTopicInfoRequestHeader]) -> Response:
        topic = self._checks.topic(request.header.topic)
        name = topic.topic_name
        body = GetParentTopicInfoResponseBody(
            topic=name, ttl=lifetime(topic), groups=self._checks.groups_by_topic().get(name)
        )
        return Response(body=encode_body(body))
