"""REGISTER_TOPIC_IN_NAMESRV: queues of one topic (brokers with enableSingleTopicRegister)."""

from codec.bodies.base import decode_body
from codec.bodies.route import TopicRouteData
from codec.codes import RequestCode
from codec.headers.namesrv import RegisterTopicRequestHeader
from namesrv.routes import RouteTable
from remoting.contract import Processor, Request, Response


class RegisterTopicInNamesrv(Processor[RegisterTopicRequestHeader]):
    codes = (RequestCode.REGISTER_TOPIC_IN_NAMESRV,)
    header = RegisterTopicRequestHeader

    def __init__(self, routes: RouteTable) -> None:
        self._routes = routes

    def handle(self, request: Request[RegisterTopicRequestHeader]) -> Response:
        if request.body:
            queues = decode_body(TopicRouteData, request.body).queue_datas
            topic = request.header.topic
            if topic is not None:
                self._routes.register_topic(topic, queues)
        return Response()
