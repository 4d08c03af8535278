"""GET_TOPICS_BY_CLUSTER: the topics that brokers of one cluster serve; none for an unknown one."""

from trimq.codec.codes import RequestCode
from trimq.codec.headers.topics import GetTopicsByClusterRequestHeader
from trimq.namesrv.config import NamesrvConfig
from trimq.namesrv.routes import RouteTable
from trimq.processors._steps import AnswerSteps, SteppedProcessor, topic_list
from trimq.processors.namesrv._topic_lists import check_listing
from trimq.remoting.contract import Request


class GetTopicsByCluster(SteppedProcessor[GetTopicsByClusterRequestHeader]):
    codes = (RequestCode.GET_TOPICS_BY_CLUSTER,)
    header = GetTopicsByClusterRequestHeader

    def __init__(self, routes: RouteTable, config: NamesrvConfig) -> None:
        self._routes = routes
        self._config = config

    def steps(self, request: Request[GetTopicsByClusterRequestHeader]) -> AnswerSteps:
        check_listing(self._config)
        names = self._routes.clusters().get(request.header.cluster or "", ())
        topics = yield from self._routes.topics.topics_of(names)
        return (yield from topic_list(topics))
