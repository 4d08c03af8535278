"""UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST: several groups; a bad name refuses them all."""

from broker.subscription_groups import SubscriptionGroups
from broker.topic_names import validate_group
from codec.bodies.base import decode_body
from codec.bodies.groups import SubscriptionGroupList
from codec.codes import RequestCode, ResponseCode
from remoting.contract import Processor, RemotingError, Request, Response


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
