"""GET_TOPIC_CONFIG: one topic's settings, and a static topic's mapping for callers that ask for it."""

import msgspec

from trimq.broker.topics.table import Topics
from trimq.codec.bodies.base import encode_body
from trimq.codec.bodies.static_topics import TopicConfigAndQueueMapping
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.headers.topics import GetTopicConfigRequestHeader
from trimq.remoting.contract import Processor, RemotingError, Request, Response


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
        mapping = self._topics.mappings.get(name) if request.header.lo else None
        if mapping is None:
            return Response(body=encode_body(topic))
        fields = msgspec.structs.asdict(topic)
        return Response(
            body=encode_body(TopicConfigAndQueueMapping(**fields, mapping_detail=mapping))
        )
