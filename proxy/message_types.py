"""A topic takes one type of message (DefaultTopicMessageTypeValidator)."""

from __future__ import annotations

from trimq.proxy.config import ProxyConfig
from trimq.proxy.metadata import Metadata
from trimq.proxy.protos.definition_pb2 import Code
from trimq.proxy.statuses import inner_error


class MessageTypes:
    def __init__(self, config: ProxyConfig, metadata: Metadata) -> None:
        self._config = config
        self._metadata = metadata

    async def check(self, topic: str, found: str) -> None:
        """ProxyError when the topic takes others. `found`: NORMAL, FIFO, ..."""
        if not self._config.enable_topic_message_type_check:
            return
        wanted = await self._metadata.message_type(topic) or "UNSPECIFIED"
        if wanted not in {found, "MIXED"}:
            raise inner_error(
                Code.MESSAGE_PROPERTY_CONFLICT_WITH_TYPE,
                f"TopicMessageType validate failed, the expected type is {wanted},"
                f" but actual type is {found}",
            )
