"""Whether a consumer may be a member of its group (ClientActivity.registerConsumer, ClientProcessor)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from trimq.proxy.clients import CONSUMERS, kind_name
from trimq.proxy.filters import is_wrong
from trimq.proxy.metadata import Metadata
from trimq.proxy.protos.definition_pb2 import ClientType, Code, SubscriptionEntry
from trimq.proxy.statuses import ProxyError

_BIND_TOPIC: Final = "lite.bind.topic"


class Registration:
    def __init__(self, metadata: Metadata) -> None:
        self._metadata = metadata

    async def check(
        self, group: str, kind: ClientType, subscriptions: Sequence[SubscriptionEntry]
    ) -> None:
        """ProxyError: it may not."""
        if kind not in CONSUMERS:
            raise ProxyError(
                Code.INTERNAL_SERVER_ERROR,
                f"Client type is not consumer, type: {kind_name(kind)}",
            )
        if any(is_wrong(one.expression) for one in subscriptions):
            raise ProxyError(Code.ILLEGAL_FILTER_EXPRESSION, "expression format is not correct")
        config = await self._metadata.group(group)
        if config is None:
            raise ProxyError(Code.ILLEGAL_CONSUMER_GROUP, f"group not found: {group}")
        bound = config.attributes.get(_BIND_TOPIC, "")
        is_lite = kind == ClientType.LITE_PUSH_CONSUMER
        if is_lite and not bound:
            raise ProxyError(
                Code.ILLEGAL_CONSUMER_GROUP, f"regular group cannot use LITE mode: {group}"
            )
        if bound and not is_lite:
            raise ProxyError(Code.ILLEGAL_CONSUMER_GROUP, f"lite group must use LITE mode: {group}")
        if is_lite and subscriptions and subscriptions[0].topic.name != bound:
            raise ProxyError(
                Code.ILLEGAL_TOPIC,
                f"lite group {group} is expected to bind topic {bound},"
                f" but actual is {subscriptions[0].topic.name}",
            )
