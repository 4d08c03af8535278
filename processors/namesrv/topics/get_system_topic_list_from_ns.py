"""GET_SYSTEM_TOPIC_LIST_FROM_NS: cluster and broker names, which are topics too, and one broker.

The caller asks that broker for the rest (GET_SYSTEM_TOPIC_LIST_FROM_BROKER).
"""

from trimq.codec.bodies.base import encode_body
from trimq.codec.bodies.topics import TopicList
from trimq.codec.codes import RequestCode
from trimq.codec.java.tables import concurrent_order
from trimq.namesrv.routes import RouteTable
from trimq.processors._steps import WholeProcessor
from trimq.remoting.contract import Request, Response


class GetSystemTopicListFromNs(WholeProcessor[None]):
    codes = (RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_NS,)

    def __init__(self, routes: RouteTable) -> None:
        self._routes = routes

    def answer(self, request: Request[None]) -> Response:
        names: list[str] = []
        for cluster, brokers in self._routes.clusters().items():
            names += [cluster, *brokers]
        listed = concurrent_order(names)
        return Response(body=encode_body(TopicList(topic_list=listed, broker_addr=self._any())))

    def _any(self) -> str | None:
        for group in self._routes.groups().values():
            if group.broker_addrs:
                return group.broker_addrs[min(group.broker_addrs)]
        return None
