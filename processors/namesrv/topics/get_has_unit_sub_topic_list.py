"""GET_HAS_UNIT_SUB_TOPIC_LIST: the topics with subscriptions of units."""

from trimq.codec.bodies.base import encode_body
from trimq.codec.bodies.topics import TopicList
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.namesrv.config import NamesrvConfig
from trimq.namesrv.topic_queues import TopicQueues, has_unit_sub
from trimq.remoting.contract import Processor, RemotingError, Request, Response


class GetHasUnitSubTopicList(Processor[None]):
    codes = (RequestCode.GET_HAS_UNIT_SUB_TOPIC_LIST,)

    def __init__(self, topics: TopicQueues, config: NamesrvConfig) -> None:
        self._topics = topics
        self._config = config

    def handle(self, request: Request[None]) -> Response:
        if not self._config.enable_topic_list:
            raise RemotingError(ResponseCode.SYSTEM_ERROR, "disable")
        return Response(
            body=encode_body(TopicList(topic_list=self._topics.topics_with(has_unit_sub)))
        )
