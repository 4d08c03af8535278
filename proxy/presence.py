"""What a broker's tables would say of a consumer that is known here."""

from __future__ import annotations

from trimq.codec.bodies.heartbeat import SubscriptionData
from trimq.codec.enums import ConsumeType, MessageModel
from trimq.codec.java.hashes import string_hash
from trimq.proxy.clients import Client
from trimq.proxy.protos.definition_pb2 import ClientType, FilterType, SubscriptionEntry


def consume_type_of(client: Client) -> ConsumeType:
    """As the official proxy has it: a simple consumer asks by itself."""
    settings = client.settings
    is_simple = settings is not None and settings.client_type == ClientType.SIMPLE_CONSUMER
    return "CONSUME_ACTIVELY" if is_simple else "CONSUME_PASSIVELY"


def message_model_of(client: Client) -> MessageModel:
    """A lite one has only what it chose."""
    settings = client.settings
    is_lite = settings is not None and settings.client_type == ClientType.LITE_PUSH_CONSUMER
    return "LITE_SELECTIVE" if is_lite else "CLUSTERING"


def subscriptions_of(client: Client) -> list[SubscriptionData]:
    """What it wants, topic by topic."""
    settings = client.settings
    entries = [] if settings is None else settings.subscription.subscriptions
    return [_subscription(entry) for entry in entries]


def _subscription(entry: SubscriptionEntry) -> SubscriptionData:
    text = entry.expression.expression or "*"
    if entry.expression.type == FilterType.SQL:
        return SubscriptionData(topic=entry.topic.name, expression_type="SQL92", sub_string=text)
    tags = {tag.strip() for tag in text.split("||")} - {"", "*"}
    return SubscriptionData(
        topic=entry.topic.name,
        sub_string=text,
        tags_set=tags,
        code_set={string_hash(tag) for tag in tags},
    )
