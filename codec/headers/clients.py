"""Headers about producers and consumers that are connected."""

import msgspec

from trimq.codec.headers.base import Header, Integer, RpcHeader, TopicHeader


class HeartbeatRequestHeader(RpcHeader, kw_only=True):
    """Asks for HEART_BEAT."""


class UnregisterClientRequestHeader(RpcHeader, kw_only=True):
    """Asks for UNREGISTER_CLIENT."""

    client_id: str = msgspec.field(name="clientID")
    producer_group: str | None = None
    consumer_group: str | None = None


class GetConsumerListByGroupRequestHeader(RpcHeader, kw_only=True):
    """Asks for GET_CONSUMER_LIST_BY_GROUP."""

    consumer_group: str


class NotifyConsumerIdsChangedRequestHeader(RpcHeader, kw_only=True):
    """Asks for NOTIFY_CONSUMER_IDS_CHANGED."""

    consumer_group: str


class GetConsumerConnectionListRequestHeader(RpcHeader, kw_only=True):
    """Asks for GET_CONSUMER_CONNECTION_LIST."""

    consumer_group: str


class ListConnectionsAndMembersRequestHeader(GetConsumerConnectionListRequestHeader, kw_only=True):
    """Asks TriMQ for more: ConsumerConnectionAndMembers. RocketMQ ignores the field, its tools lack it."""

    with_members: bool | None = msgspec.field(name="trimqMembers", default=None)


class GetProducerConnectionListRequestHeader(RpcHeader, kw_only=True):
    """Asks for GET_PRODUCER_CONNECTION_LIST."""

    producer_group: str


class GetConsumerRunningInfoRequestHeader(RpcHeader, kw_only=True):
    """Asks for GET_CONSUMER_RUNNING_INFO."""

    consumer_group: str | None = None
    client_id: str | None = None
    jstack_enable: bool | None = None


class ConsumeMessageDirectlyResultRequestHeader(TopicHeader, kw_only=True):
    """Asks for CONSUME_MESSAGE_DIRECTLY."""

    consumer_group: str
    client_id: str | None = None
    msg_id: str | None = None
    broker_name: str | None = None
    topic: str | None = None
    topic_sys_flag: Integer | None = None
    group_sys_flag: Integer | None = None


class GetAllProducerInfoRequestHeader(Header, kw_only=True):
    """Asks for GET_ALL_PRODUCER_INFO."""
