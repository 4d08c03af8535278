"""GET_ALL_TOPIC_LIST_FROM_NAMESERVER: the names of all topics."""

from trimq.codec.codes import RequestCode, ResponseCode
from trimq.namesrv.config import NamesrvConfig
from trimq.namesrv.topic_queues import TopicQueues
from trimq.processors._steps import AnswerSteps, SteppedProcessor, topic_list
from trimq.remoting.contract import RemotingError, Request


class GetAllTopicListFromNameserver(SteppedProcessor[None]):
    codes = (RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER,)

    def __init__(self, topics: TopicQueues, config: NamesrvConfig) -> None:
        self._topics = topics
        self._config = config

    def steps(self, request: Request[None]) -> AnswerSteps:
        if not self._config.enable_all_topic_list:
            raise RemotingError(ResponseCode.SYSTEM_ERROR, "disable")
        return (yield from topic_list(self._topics.topics()))
