"""Answers about connected clients."""

import msgspec

from trimq.codec.bodies.base import Body, Int32, Int64
from trimq.codec.bodies.heartbeat import SubscriptionData


class GetConsumerListByGroupResponseBody(Body, kw_only=True):
    """GET_CONSUMER_LIST_BY_GROUP."""

    consumer_id_list: list[str] = msgspec.field(default_factory=list)


class Connection(Body, kw_only=True):
    """One connected client."""

    client_addr: str | None = None
    client_id: str | None = None
    language: str | None = None
    version: Int32 = 0


class ConsumerConnection(Body, kw_only=True):
    """GET_CONSUMER_CONNECTION_LIST."""

    connection_set: list[Connection] = msgspec.field(default_factory=list)
    consume_from_where: str | None = None
    consume_type: str | None = None
    message_model: str | None = None
    subscription_table: dict[str, SubscriptionData] = msgspec.field(default_factory=dict)


class MemberAccount(Body, kw_only=True):
    """What a member's own heartbeats say, and since when (milliseconds since 1970)."""

    client_addr: str | None = None
    client_id: str = ""
    consume_from_where: str | None = None
    consume_type: str | None = None
    message_model: str | None = None
    since: Int64 = 0
    subscriptions: list[SubscriptionData] | None = None


class DisputeBegin(Body, kw_only=True):
    """Since when members differ about a topic, or (without one) about what `about` names."""

    about: str = ""
    since: Int64 = 0
    topic: str | None = None


class OverwriteCount(Body, kw_only=True):
    """How often the member `by` replaced the entry of the member `of`; times in milliseconds.

    Expressions are absent if the topic was removed, or came back after that.
    """

    after: str | None = None
    before: str | None = None
    by: str = ""
    count: Int32 = 0
    first: Int64 = 0
    last: Int64 = 0
    of: str = ""
    topic: str = ""


class ConsumerConnectionAndMembers(ConsumerConnection, kw_only=True):
    """What only TriMQ reports, and only on request; None from RocketMQ."""

    disputes: list[DisputeBegin] | None = None
    members: list[MemberAccount] | None = None
    overwrites: list[OverwriteCount] | None = None


class ProducerConnection(Body, kw_only=True):
    """GET_PRODUCER_CONNECTION_LIST."""

    connection_set: list[Connection] = msgspec.field(default_factory=list)
