"""DELETE_TOPIC_IN_NAMESRV: forget a topic's route, in one cluster or everywhere."""

from trimq.codec.codes import RequestCode
from trimq.codec.headers.namesrv import DeleteTopicFromNamesrvRequestHeader
from trimq.namesrv.routes import RouteTable
from trimq.remoting.contract import Processor, Request, Response


class DeleteTopicInNamesrv(Processor[DeleteTopicFromNamesrvRequestHeader]):
    codes = (RequestCode.DELETE_TOPIC_IN_NAMESRV,)
    header = DeleteTopicFromNamesrvRequestHeader

    def __init__(self, routes: RouteTable) -> None:
        self._routes = routes

    def handle(self, request: Request[DeleteTopicFromNamesrvRequestHeader]) -> Response:
        topic = request.header.topic
        if topic is not None:
            self._routes.delete_topic(topic, request.header.cluster_name)
        return Response()
