"""Several messages in one request of a broker (MessageBatch)."""

from __future__ import annotations

from trimq.codec.names import RETRY_PREFIX
from trimq.codec.records.batch import BatchItem, join_batch
from trimq.codec.records.properties import format_properties
from trimq.proxy import properties as names
from trimq.proxy.protos.definition_pb2 import Code
from trimq.proxy.protos.service_pb2 import SendMessageRequest
from trimq.proxy.statuses import ProxyError


def check_batch(topic: str, several: list[dict[str, str]]) -> None:
    """What a batch cannot hold (MessageBatch.generateFromList)."""
    if any(_is_delayed(properties) for properties in several):
        text = "Delayed messages are not supported for batching"
    elif topic.startswith(RETRY_PREFIX):
        text = "Retry Group is not supported for batching"
    else:
        return
    raise ProxyError(Code.INTERNAL_SERVER_ERROR, f"{text}. UnsupportedOperationException")


def _is_delayed(properties: dict[str, str]) -> bool:
    values = [properties.get(name) for name in (names.DELAY_LEVEL, names.TIMER_DELIVER_MS)]
    return any(value is not None and int(value) > 0 for value in values)


def batch_body(request: SendMessageRequest, several: list[dict[str, str]]) -> bytes:
    """`several`: the properties of each."""
    items = [
        BatchItem(0, message.body, format_properties(properties))
        for message, properties in zip(request.messages, several, strict=True)
    ]
    return join_batch(items)
