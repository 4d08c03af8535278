"""UPDATE_AND_GET_GROUP_FORBIDDEN: whether a group may read a topic, and changing that."""

from typing import Final

from trimq.broker.groups.subscription_groups import SubscriptionGroups
from trimq.codec.bodies.base import encode_body
from trimq.codec.bodies.progress import GroupForbidden
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.headers.groups import UpdateGroupForbiddenRequestHeader
from trimq.remoting.contract import Processor, RemotingError, Request, Response

# PermName.INDEX_PERM_READ: the bit of the ban that stands for reading.
_READ_BIT: Final = 2


class UpdateAndGetGroupForbidden(Processor[UpdateGroupForbiddenRequestHeader]):
    """Without `readable` it only answers. The ban is kept in subscriptionGroup.json."""

    codes = (RequestCode.UPDATE_AND_GET_GROUP_FORBIDDEN,)
    header = UpdateGroupForbiddenRequestHeader

    def __init__(self, groups: SubscriptionGroups) -> None:
        self._groups = groups

    def handle(self, request: Request[UpdateGroupForbiddenRequestHeader]) -> Response:
        group, topic = request.header.group, request.header.topic
        readable = request.header.readable
        if readable is not None:
            if topic is None:
                raise RemotingError(
                    ResponseCode.SYSTEM_ERROR, "the request names no topic to ban or not: set topic"
                )
            self._groups.set_forbidden(group, topic, _READ_BIT, banned=not readable)
        banned = topic is not None and self._groups.is_forbidden(group, topic, _READ_BIT)
        body = GroupForbidden(group=group, readable=not banned, topic=topic)
        return Response(remark="", body=encode_body(body))
