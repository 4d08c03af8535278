"""GET_SUBSCRIPTIONGROUP_CONFIG: one group's settings; asking for a new group creates it."""

from trimq.broker.groups.subscription_groups import SubscriptionGroups
from trimq.codec.bodies.base import encode_body
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.headers.groups import GetSubscriptionGroupConfigRequestHeader
from trimq.remoting.contract import Processor, RemotingError, Request, Response


class GetSubscriptiongroupConfig(Processor[GetSubscriptionGroupConfigRequestHeader]):
    codes = (RequestCode.GET_SUBSCRIPTIONGROUP_CONFIG,)
    header = GetSubscriptionGroupConfigRequestHeader

    def __init__(self, groups: SubscriptionGroups) -> None:
        self._groups = groups

    def handle(self, request: Request[GetSubscriptionGroupConfigRequestHeader]) -> Response:
        group = self._groups.find(request.header.group, request.peer.remote_addr)
        if group is None:
            raise RemotingError(
                ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, "No group in this broker"
            )
        return Response(body=encode_body(group))
