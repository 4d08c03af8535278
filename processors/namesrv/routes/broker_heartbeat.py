"""BROKER_HEARTBEAT: a broker shows that it is alive (sent with enableSlaveActingMaster)."""

from trimq.codec.codes import RequestCode
from trimq.codec.headers.namesrv import BrokerHeartbeatRequestHeader
from trimq.namesrv.routes import RouteTable
from trimq.remoting.contract import Processor, Request, Response


class BrokerHeartbeat(Processor[BrokerHeartbeatRequestHeader]):
    codes = (RequestCode.BROKER_HEARTBEAT,)
    header = BrokerHeartbeatRequestHeader

    def __init__(self, routes: RouteTable) -> None:
        self._routes = routes

    def handle(self, request: Request[BrokerHeartbeatRequestHeader]) -> Response:
        self._routes.heard_of(request.header.cluster_name, request.header.broker_addr)
        return Response()
