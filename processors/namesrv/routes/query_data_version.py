"""QUERY_DATA_VERSION: a broker asks whether its topics are known in their present version."""

from trimq.codec.bodies.base import decode_request, encode_body
from trimq.codec.bodies.topics import DataVersion
from trimq.codec.codes import RequestCode
from trimq.codec.headers.namesrv import (
    QueryDataVersionRequestHeader,
    QueryDataVersionResponseHeader,
)
from trimq.namesrv.routes import RouteTable
from trimq.remoting.contract import Processor, Request, Response


class QueryDataVersion(Processor[QueryDataVersionRequestHeader]):
    """It also shows that the broker is alive."""

    codes = (RequestCode.QUERY_DATA_VERSION,)
    shows_no_fields = True
    header = QueryDataVersionRequestHeader

    def __init__(self, routes: RouteTable) -> None:
        self._routes = routes

    def handle(self, request: Request[QueryDataVersionRequestHeader]) -> Response:
        cluster, address = request.header.cluster_name, request.header.broker_addr
        known = self._routes.data_version(cluster, address)
        self._routes.heard_of(cluster, address)
        asked = decode_request(DataVersion, request.body) if request.body else None
        changed = known is None or known != asked
        return Response(
            header=QueryDataVersionResponseHeader(changed=changed),
            body=b"" if known is None else encode_body(known),
        )
