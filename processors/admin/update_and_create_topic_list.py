"""UPDATE_AND_CREATE_TOPIC_LIST: several topics at once; one that may not be refuses them all."""

from trimq.broker.config import BrokerConfig
from trimq.broker.topics import Topics
from trimq.codec.bodies.base import decode_body
from trimq.codec.bodies.topics import CreateTopicListRequestBody
from trimq.codec.codes import RequestCode
from trimq.processors.admin._topic_checks import (
    SUCCESS_REMARK,
    Announced,
    check_cleanup_policy,
    check_message_type,
    check_name,
    check_not_system,
)
from trimq.remoting.contract import Processor, Request, Response


class UpdateAndCreateTopicList(Processor[None]):
    """As the real one does it: one topic that is already as asked for ends the request, with 0."""

    codes = (RequestCode.UPDATE_AND_CREATE_TOPIC_LIST,)
    waits = True

    def __init__(self, config: BrokerConfig, topics: Topics, announced: Announced) -> None:
        self._config = config
        self._topics = topics
        self._announced = announced

    async def handle(self, request: Request[None]) -> Response:
        wanted = decode_body(CreateTopicListRequestBody, request.body).topic_config_list
        for topic in wanted:
            check_name(topic.topic_name)
            check_not_system(self._config, self._topics, topic.topic_name)
            check_message_type(self._config, topic)
            check_cleanup_policy(self._topics, topic)
            if topic == self._topics.get(topic.topic_name):
                return Response(remark=SUCCESS_REMARK)
        self._topics.update_all(wanted)
        await self._announced()
        return Response(remark=SUCCESS_REMARK)
