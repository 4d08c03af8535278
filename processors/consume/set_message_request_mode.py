"""SET_MESSAGE_REQUEST_MODE: whether a group pulls or pops a topic."""

from broker.request_modes import RequestModes
from broker.subscription_groups import SubscriptionGroups
from broker.topic_names import RETRY_PREFIX
from broker.topics import Topics
from codec.bodies.base import decode_body
from codec.bodies.request_modes import SetMessageRequestModeRequestBody
from codec.codes import RequestCode, ResponseCode
from remoting.contract import Processor, RemotingError, Request, Response


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
        mode = decode_body(SetMessageRequestModeRequestBody, bytes(request.body))
        if mode.topic.startswith(RETRY_PREFIX):
            raise RemotingError(
                ResponseCode.NO_PERMISSION, "retry topic is not allowed to set mode"
            )
        if self._topics.get(mode.topic) is None:
            raise RemotingError(ResponseCode.TOPIC_NOT_EXIST, f"topic[{mode.topic}] not exist")
        if self._groups.find(mode.consumer_group) is None:
            raise RemotingError(
                ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, "subscription group does not exist"
            )
        self._modes.put(mode)
        return Response()
