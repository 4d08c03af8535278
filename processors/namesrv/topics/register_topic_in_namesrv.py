"""REGISTER_TOPIC_IN_NAMESRV: queues of one topic (brokers with enableSingleTopicRegister)."""

from trimq.codec.bodies.base import decode_request
from trimq.codec.bodies.route import TopicRouteData
from trimq.codec.codes import RequestCode
from trimq.codec.headers.namesrv import RegisterTopicRequestHeader
from trimq.namesrv.routes import RouteTable
from trimq.remoting.contract import Processor, Request, Response


class RegisterTopicInNamesrv(Processor[RegisterTopicRequestHeader]):
    codes = (RequestCode.REGISTER_TOPIC_IN_NAMESRV,)
    header = RegisterTopicRequestHeader

    def __init__(self, routes: RouteTable) -> None:
        self._routes = routes

    def handle(self, request: Request[RegisterTopicRequestHeader]) -> Response:
        if request.body:
            queues = decode_request(TopicRouteData, request.body).queue_datas
            topic = request.header.topic
            if topic is not None:
                self._routes.register_topic(topic, queues)
        return Response()
