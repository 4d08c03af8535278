"""GET_CONSUMER_CONNECTION_LIST: a group's members, how it consumes, and what it has subscribed."""

from broker.consumers import Consumers
from codec.bodies.base import encode_body
from codec.bodies.clients import ConsumerConnection
from codec.codes import RequestCode, ResponseCode
from codec.headers.clients import GetConsumerConnectionListRequestHeader
from processors.clients._connections import connections
from remoting.contract import Processor, RemotingError, Request, Response


class GetConsumerConnectionList(Processor[GetConsumerConnectionListRequestHeader]):
    codes = (RequestCode.GET_CONSUMER_CONNECTION_LIST,)
    header = GetConsumerConnectionListRequestHeader

    def __init__(self, consumers: Consumers) -> None:
        self._consumers = consumers

    def handle(self, request: Request[GetConsumerConnectionListRequestHeader]) -> Response:
        name = request.header.consumer_group
        group = self._consumers.group(name)
        if group is None:
            raise RemotingError(
                ResponseCode.CONSUMER_NOT_ONLINE, f"the consumer group[{name}] not online"
            )
        body = ConsumerConnection(
            connection_set=connections(group.clients()),
            consume_from_where=group.consume_from_where,
            consume_type=group.consume_type,
            message_model=group.message_model,
            subscription_table=group.subscriptions,
        )
        return Response(body=encode_body(body))
