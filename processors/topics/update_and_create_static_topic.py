"""UPDATE_AND_CREATE_STATIC_TOPIC: a topic whose queues have cluster-wide numbers."""

from trimq.broker.config import BrokerConfig
from trimq.broker.topics.checks import (
    Announced,
    asked_for,
    check_name,
    check_not_elastic,
    check_not_system,
)
from trimq.broker.topics.table import Topics
from trimq.codec.bodies.base import decode_request
from trimq.codec.bodies.static_topics import TopicQueueMappingDetail
from trimq.codec.codes import RequestCode
from trimq.codec.headers.topics import CreateTopicRequestHeader
from trimq.codec.names import REMARK_LEFT
from trimq.remoting.contract import Later, Processor, Request, Response


class UpdateAndCreateStaticTopic(Processor[CreateTopicRequestHeader]):
    """The body is this broker's part of the mapping.

    The real broker changes the topic even if it then refuses the mapping; here neither is changed.
    """

    codes = (RequestCode.UPDATE_AND_CREATE_STATIC_TOPIC,)
    header = CreateTopicRequestHeader

    def __init__(self, config: BrokerConfig, topics: Topics, announced: Announced) -> None:
        self._config = config
        self._topics = topics
        self._announced = announced

    def handle(self, request: Request[CreateTopicRequestHeader]) -> Later:
        return Later(request, self._answer)

    async def _answer(self, request: Request[CreateTopicRequestHeader]) -> Response:
        header = request.header
        topic = asked_for(header)
        detail = decode_request(TopicQueueMappingDetail, bytes(request.body))
        check_name(header.topic)
        check_not_system(self._config, self._topics, header.topic)
        check_not_elastic(self._topics, header.topic)
        detail.topic = header.topic
        self._topics.mappings.update(detail, force=header.force)
        self._topics.update(topic)
        await self._announced()
        return Response(remark=REMARK_LEFT)
