"""UNREGISTER_BROKER: a broker takes its leave."""

from codec.codes import RequestCode
from codec.headers.namesrv import UnRegisterBrokerRequestHeader
from namesrv.routes import RouteTable
from remoting.contract import Processor, Request, Response


class UnregisterBroker(Processor[UnRegisterBrokerRequestHeader]):
    codes = (RequestCode.UNREGISTER_BROKER,)
    header = UnRegisterBrokerRequestHeader

    def __init__(self, routes: RouteTable) -> None:
        self._routes = routes

    def handle(self, request: Request[UnRegisterBrokerRequestHeader]) -> Response:
        header = request.header
        self._routes.unregister_broker(
            header.cluster_name, header.broker_addr, header.broker_name, header.broker_id
        )
        return Response()
