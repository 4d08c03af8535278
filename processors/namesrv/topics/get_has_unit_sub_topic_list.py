"""GET_HAS_UNIT_SUB_TOPIC_LIST: the topics with subscriptions of units."""

from trimq.codec.codes import RequestCode, ResponseCode
from trimq.namesrv.config import NamesrvConfig
from trimq.namesrv.topic_queues import TopicQueues, has_unit_sub
from trimq.processors._steps import AnswerSteps, SteppedProcessor, topic_list
from trimq.remoting.contract import RemotingError, Request


class GetHasUnitSubTopicList(SteppedProcessor[None]):
    codes = (RequestCode.GET_HAS_UNIT_SUB_TOPIC_LIST,)

    def __init__(self, topics: TopicQueues, config: NamesrvConfig) -> None:
        self._topics = topics
        self._config = config

    def steps(self, request: Request[None]) -> AnswerSteps:
        if not self._config.enable_topic_list:
            raise RemotingError(ResponseCode.SYSTEM_ERROR, "disable")
        names = yield from self._topics.topics_with(has_unit_sub)
        return (yield from topic_list(names))
