"""UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST: several groups; a bad name refuses them all."""

from functools import partial
from typing import Final

from trimq.broker.groups.subscription_groups import SubscriptionGroups
from trimq.broker.steps import Pace
from trimq.broker.topics.names import validate_group
from trimq.codec.bodies.base import decode_body
from trimq.codec.bodies.groups import SubscriptionGroupConfig, SubscriptionGroupList
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.remoting.contract import Later, Processor, RemotingError, Request, Response

# Groups that are created in one step.
_AT_ONCE: Final = 20


class UpdateAndCreateSubscriptiongroupList(Processor[None]):
    codes = (RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST,)

    def __init__(self, groups: SubscriptionGroups) -> None:
        self._groups = groups

    def handle(self, request: Request[None]) -> Response | Later:
        groups = decode_body(SubscriptionGroupList, request.body).group_config_list
        if len(groups) > _AT_ONCE:
            return Later(request, partial(self._in_steps, groups), keeps_body=False)
        for group in groups:
            _check(group)
        self._groups.update_all(groups)
        return Response()

    async def _in_steps(
        self, groups: list[SubscriptionGroupConfig], request: Request[None]
    ) -> Response:
        pace = Pace()
        for group in groups:
            await pace.keep()
            _check(group)
        for first in range(0, len(groups), _AT_ONCE):
            await pace.keep()
            self._groups.update_all(groups[first : first + _AT_ONCE])
        return Response()


def _check(group: SubscriptionGroupConfig) -> None:
    remark = validate_group(group.group_name)
    if remark is not None:
        raise RemotingError(ResponseCode.INVALID_PARAMETER, remark)
