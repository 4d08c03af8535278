"""GET_TOPIC_CONFIG: one topic's settings."""

from broker.topics import Topics
from codec.bodies.base import encode_body
from codec.codes import RequestCode, ResponseCode
from codec.headers.topics import GetTopicConfigRequestHeader
from remoting.contract import Processor, RemotingError, Request, Response


class GetTopicConfig(Processor[GetTopicConfigRequestHeader]):
    codes = (RequestCode.GET_TOPIC_CONFIG,)
    header = GetTopicConfigRequestHeader

    def __init__(self, topics: Topics) -> None:
        self._topics = topics

    def handle(self, request: Request[GetTopicConfigRequestHeader]) -> Response:
        name = request.header.topic
        topic = self._topics.get(name)
        if topic is None:
            raise RemotingError(
                ResponseCode.TOPIC_NOT_EXIST, f"No topic in this broker. topic: {name}"
            )
        return Response(body=encode_body(topic))
