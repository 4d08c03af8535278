"""Answers about connected clients."""

import msgspec

from codec.bodies.base import Body
from codec.bodies.heartbeat import SubscriptionData


class GetConsumerListByGroupResponseBody(Body, kw_only=True):
    """GET_CONSUMER_LIST_BY_GROUP."""

    consumer_id_list: list[str] = msgspec.field(default_factory=list)


class Connection(Body, kw_only=True):
    """One connected client."""

    client_addr: str | None = None
    client_id: str | None = None
    language: str | None = None
    version: int = 0


class ConsumerConnection(Body, kw_only=True):
    """GET_CONSUMER_CONNECTION_LIST."""

    connection_set: list[Connection] = msgspec.field(default_factory=list)
    consume_from_where: str | None = None
    consume_type: str | None = None
    message_model: str | None = None
    subscription_table: dict[str, SubscriptionData] = msgspec.field(default_factory=dict)


class ProducerConnection(Body, kw_only=True):
    """GET_PRODUCER_CONNECTION_LIST."""

    connection_set: list[Connection] = msgspec.field(default_factory=list)
