"""GET_PARENT_TOPIC_INFO: how long a topic's lite topics live, and who reads them."""

from codec.bodies.base import encode_body
from codec.bodies.lite import GetParentTopicInfoResponseBody
from codec.codes import RequestCode
from codec.headers.lite import GetParentTopicInfoRequestHeader
from processors.lite._checks import LiteChecks, lifetime
from remoting.contract import Processor, Request, Response


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
