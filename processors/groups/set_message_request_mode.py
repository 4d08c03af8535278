"""SET_MESSAGE_REQUEST_MODE: whether a group pulls or pops a topic."""

from trimq.broker.groups.rebalance.request_modes import RequestModes
from trimq.broker.groups.subscription_groups import SubscriptionGroups
from trimq.broker.topics.table import Topics
from trimq.codec.bodies.base import decode_request
from trimq.codec.bodies.request_modes import SetMessageRequestModeRequestBody
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.names import RETRY_PREFIX
from trimq.remoting.contract import Processor, RemotingError, Request, Response


class SetMessageRequestMode(Processor[None]):
    """Refused for retry topics, and for topics and groups that do not exist.

    Java: QueryAssignmentProcessor.setMessageRequestMode.
    """

    codes = (RequestCode.SET_MESSAGE_REQUEST_MODE,)

    def __init__(self, topics: Topics, groups: SubscriptionGroups, modes: RequestModes) -> None:
        self._topics = topics
        self._groups = groups
        self._modes = modes

    def handle(self, request: Request[None]) -> Response:
        mode = decode_request(SetMessageRequestModeRequestBody, bytes(request.body))
        if mode.topic is None:
            raise RemotingError(ResponseCode.SYSTEM_ERROR, "the request names no topic: set topic")
        if mode.topic.startswith(RETRY_PREFIX):
            raise RemotingError(
                ResponseCode.NO_PERMISSION, "retry topic is not allowed to set mode"
            )
        if self._topics.get(mode.topic) is None:
            raise RemotingError(ResponseCode.TOPIC_NOT_EXIST, f"topic[{mode.topic}] not exist")
        if mode.consumer_group is None:
            raise RemotingError(
                ResponseCode.SYSTEM_ERROR, "the request names no group: set consumerGroup"
            )
        if self._groups.find(mode.consumer_group, request.peer.remote_addr) is None:
            raise RemotingError(
                ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, "subscription group does not exist"
            )
        self._modes.put(mode)
        return Response()
