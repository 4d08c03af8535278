"""What clients say in heartbeats and ask before they start."""

import msgspec

from trimq.codec.bodies.base import Body, Int32, Int64
from trimq.codec.enums import ConsumeFromWhere, ConsumeType, MessageModel


class SubscriptionData(Body, kw_only=True):
    """What a group wants from one topic."""

    class_filter_mode: bool = False
    code_set: set[Int32] = msgspec.field(default_factory=set)
    expression_type: str | None = "TAG"
    sub_string: str | None = None
    sub_version: Int64 = 0
    tags_set: set[str] = msgspec.field(default_factory=set)
    topic: str = ""

    @property
    def wish(self) -> tuple[str, str]:
        """(type, expression): equal for subscriptions that let the same messages through.

        A missing type or expression means its default; the order of tags does not matter.
        """
        kind = self.expression_type or "TAG"
        expression = self.sub_string or "*"
        if kind == "TAG":
            tags = {tag.strip() for tag in expression.split("||")} - {""}
            expression = " || ".join(sorted(tags))
        return kind, expression


class ConsumerData(Body, kw_only=True):
    """One consumer group that a client is a member of."""

    consume_from_where: ConsumeFromWhere | None = None
    consume_type: ConsumeType | None = None
    group_name: str = ""
    message_model: MessageModel | None = None
    subscription_data_set: list[SubscriptionData] = msgspec.field(default_factory=list)
    unit_mode: bool = False


class ProducerData(Body, kw_only=True):
    """One producer group that a client is a member of."""

    group_name: str = ""


class HeartbeatData(Body, kw_only=True):
    """HEART_BEAT. `without_sub` marks version 2's short form: fingerprint only."""

    client_id: str = msgspec.field(name="clientID", default="")
    consumer_data_set: list[ConsumerData] = msgspec.field(default_factory=list)
    heartbeat_fingerprint: Int32 = 0
    producer_data_set: list[ProducerData] = msgspec.field(default_factory=list)
    without_sub: bool = False


class CheckClientRequestBody(Body, kw_only=True):
    """CHECK_CLIENT_CONFIG."""

    client_id: str | None = None
    group: str | None = None
    namespace: str | None = None
    subscription_data: SubscriptionData | None = None
