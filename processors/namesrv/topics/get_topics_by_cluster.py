"""GET_TOPICS_BY_CLUSTER: the topics that brokers of one cluster serve; none for an unknown one."""

from trimq.codec.bodies.base import encode_body
from trimq.codec.bodies.topics import TopicList
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.headers.topics import GetTopicsByClusterRequestHeader
from trimq.namesrv.config import NamesrvConfig
from trimq.namesrv.routes import RouteTable
from trimq.remoting.contract import Processor, RemotingError, Request, Response


class GetTopicsByCluster(Processor[GetTopicsByClusterRequestHeader]):
    codes = (RequestCode.GET_TOPICS_BY_CLUSTER,)
    header = GetTopicsByClusterRequestHeader

    def __init__(self, routes: RouteTable, config: NamesrvConfig) -> None:
        self._routes = routes
        self._config = config

    def handle(self, request: Request[GetTopicsByClusterRequestHeader]) -> Response:
        if not self._config.enable_topic_list:
            raise RemotingError(ResponseCode.SYSTEM_ERROR, "disable")
        names = self._routes.clusters().get(request.header.cluster or "", ())
        return Response(
            body=encode_body(TopicList(topic_list=self._routes.topics.topics_of(names)))
        )
