"""UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST: several groups; a bad name refuses them all."""

from trimq.broker.groups.subscription_groups import SubscriptionGroups
from trimq.broker.topics.names import validate_group
from trimq.codec.bodies.base import decode_body
from trimq.codec.bodies.groups import SubscriptionGroupList
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.remoting.contract import Processor, RemotingError, Request, Response


class UpdateAndCreateSubscriptiongroupList(Processor[None]):
    codes = (RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST,)

    def __init__(self, groups: SubscriptionGroups) -> None:
        self._groups = groups

    def handle(self, request: Request[None]) -> Response:
        groups = decode_body(SubscriptionGroupList, request.body).group_config_list
        for group in groups:
            remark = validate_group(group.group_name)
            if remark is not None:
                raise RemotingError(ResponseCode.INVALID_PARAMETER, remark)
        self._groups.update_all(groups)
        return Response()
