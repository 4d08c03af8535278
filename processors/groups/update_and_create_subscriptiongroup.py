"""UPDATE_AND_CREATE_SUBSCRIPTIONGROUP: create a consumer group or change its settings."""

from trimq.broker.groups.subscription_groups import SubscriptionGroups
from trimq.broker.topics.names import validate_group
from trimq.codec.bodies.base import decode_request
from trimq.codec.bodies.groups import SubscriptionGroupConfig
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.remoting.contract import Processor, RemotingError, Request, Response


class UpdateAndCreateSubscriptiongroup(Processor[None]):
    """A request without a group (no body, or `null`) changes nothing and succeeds, as with the real broker."""

    codes = (RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP,)

    def __init__(self, groups: SubscriptionGroups) -> None:
        self._groups = groups

    def handle(self, request: Request[None]) -> Response:
        if request.body and request.body.strip() != b"null":
            group = decode_request(SubscriptionGroupConfig, request.body)
            remark = validate_group(group.group_name)
            if remark is not None:
                raise RemotingError(ResponseCode.INVALID_PARAMETER, remark)
            self._groups.update(group)
        return Response()
