"""QUERY_SUBSCRIPTION_BY_CONSUMER: what a group wants from one topic."""

from trimq.broker.groups.consumers.online import Consumers
from trimq.codec.bodies.base import encode_body
from trimq.codec.bodies.progress import QuerySubscriptionResponseBody
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.headers.groups import QuerySubscriptionByConsumerRequestHeader
from trimq.remoting.contract import Processor, RemotingError, Request, Response


class QuerySubscriptionByConsumer(Processor[QuerySubscriptionByConsumerRequestHeader]):
    """Without a subscription the answer has none; that is not an error."""

    codes = (RequestCode.QUERY_SUBSCRIPTION_BY_CONSUMER,)
    header = QuerySubscriptionByConsumerRequestHeader

    def __init__(self, consumers: Consumers) -> None:
        self._consumers = consumers

    def handle(self, request: Request[QuerySubscriptionByConsumerRequestHeader]) -> Response:
        group, topic = request.header.group, request.header.topic
        if topic is None and self._consumers.group(group) is not None:
            raise RemotingError(
                ResponseCode.SYSTEM_ERROR, "the request names no topic of the group: set topic"
            )
        found = None if topic is None else self._consumers.find_subscription(group, topic)
        body = QuerySubscriptionResponseBody(group=group, subscription_data=found, topic=topic)
        return Response(body=encode_body(body))
