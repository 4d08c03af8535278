"""PROXY_CLIENTS: a proxy says who its clients are. TriMQ's own: RocketMQ knows no such request."""

import msgspec

from trimq.codec.bodies.base import Body, Int32
from trimq.codec.bodies.heartbeat import SubscriptionData
from trimq.codec.enums import ConsumeType, MessageModel


class ProxiedClient(Body, kw_only=True):
    """A member of a group, as the proxy knows it. `client_addr`: HOST:PORT that it came from."""

    client_addr: str = ""
    client_id: str = ""
    consume_type: ConsumeType | None = None
    group: str = ""
    language: str | None = None
    message_model: MessageModel | None = None
    subscriptions: list[SubscriptionData] = msgspec.field(default_factory=list)
    version: Int32 = 0


class ProxiedClients(Body, kw_only=True):
    """All of them, or some: `first` begins anew, and the others add to it."""

    clients: list[ProxiedClient] = msgspec.field(default_factory=list)
    first: bool = True
