"""GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST: topics of no unit with subscriptions of one."""

from trimq.codec.codes import RequestCode
from trimq.namesrv.config import NamesrvConfig
from trimq.namesrv.topic_queues import TopicQueues, has_unit_sub_only
from trimq.processors._steps import AnswerSteps, SteppedProcessor
from trimq.processors.namesrv._topic_lists import topics_with
from trimq.remoting.contract import Request


class GetHasUnitSubUnunitTopicList(SteppedProcessor[None]):
    codes = (RequestCode.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST,)

    def __init__(self, topics: TopicQueues, config: NamesrvConfig) -> None:
        self._topics = topics
        self._config = config

    def steps(self, request: Request[None]) -> AnswerSteps:
        return topics_with(self._topics, self._config, has_unit_sub_only)
