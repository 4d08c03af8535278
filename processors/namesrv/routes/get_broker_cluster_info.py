"""GET_BROKER_CLUSTER_INFO: every cluster, its broker groups and their members."""

from trimq.codec.bodies.base import encode_body
from trimq.codec.bodies.cluster import ClusterInfo
from trimq.codec.codes import RequestCode
from trimq.namesrv.routes import RouteTable
from trimq.processors._steps import WholeProcessor
from trimq.remoting.contract import Request, Response


class GetBrokerClusterInfo(WholeProcessor[None]):
    codes = (RequestCode.GET_BROKER_CLUSTER_INFO,)

    def __init__(self, routes: RouteTable) -> None:
        self._routes = routes

    def answer(self, request: Request[None]) -> Response:
        info = ClusterInfo(
            broker_addr_table=self._routes.groups(),
            cluster_addr_table=self._routes.clusters(),
        )
        return Response(body=encode_body(info))
