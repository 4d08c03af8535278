"""GET_BROKER_MEMBER_GROUP: ids and addresses of one broker group; an unknown one has none."""

from trimq.codec.bodies.base import encode_body
from trimq.codec.bodies.cluster import BrokerMemberGroup, GetBrokerMemberGroupResponseBody
from trimq.codec.codes import RequestCode
from trimq.codec.headers.namesrv import GetBrokerMemberGroupRequestHeader
from trimq.codec.names import REMARK_LEFT
from trimq.namesrv.routes import RouteTable
from trimq.remoting.contract import Processor, Request, Response


class GetBrokerMemberGroup(Processor[GetBrokerMemberGroupRequestHeader]):
    codes = (RequestCode.GET_BROKER_MEMBER_GROUP,)
    header = GetBrokerMemberGroupRequestHeader

    def __init__(self, routes: RouteTable) -> None:
        self._routes = routes

    def handle(self, request: Request[GetBrokerMemberGroupRequestHeader]) -> Response:
        cluster, name = request.header.cluster_name, request.header.broker_name
        group = BrokerMemberGroup(
            cluster=cluster, broker_name=name, broker_addrs=self._routes.members(name or "")
        )
        body = encode_body(GetBrokerMemberGroupResponseBody(broker_member_group=group))
        # The real NameServer forgets to remove this remark of a new response.
        return Response(remark=REMARK_LEFT, body=body)
