"""UNREGISTER_BROKER: a broker leaves."""

from trimq.codec.codes import RequestCode
from trimq.codec.headers.namesrv import UnRegisterBrokerRequestHeader
from trimq.namesrv.routes import RouteTable
from trimq.remoting.contract import Processor, Request, Response


class UnregisterBroker(Processor[UnRegisterBrokerRequestHeader]):
    codes = (RequestCode.UNREGISTER_BROKER,)
    header = UnRegisterBrokerRequestHeader

    def __init__(self, routes: RouteTable) -> None:
        self._routes = routes

    def handle(self, request: Request[UnRegisterBrokerRequestHeader]) -> Response:
        cluster, address = request.header.cluster_name, request.header.broker_addr
        name, broker_id = request.header.broker_name, request.header.broker_id
        # The real NameServer queues whatever comes, and fails later where nobody sees it.
        if cluster is None or address is None or name is None or broker_id is None:
            return Response()
        self._routes.unregister_broker(cluster, address, name, broker_id)
        return Response()
