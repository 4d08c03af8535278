"""What a client acknowledges a message with: the broker's handle, and where the message lies (ReceiptHandle)."""

from __future__ import annotations

from dataclasses import dataclass

from trimq.codec.errors import CodecError
from trimq.codec.java.numbers import parse_int, parse_long
from trimq.codec.pop.handle import Handle, parse_handle, real_topic
from trimq.proxy.protos.definition_pb2 import Code
from trimq.proxy.statuses import ProxyError


@dataclass(frozen=True, slots=True)
class Receipt:
    """`text`: as the client has it. `log_offset`: -1 when it does not say."""

    text: str
    handle: Handle
    queue_id: int
    offset: int
    log_offset: int

    @property
    def broker_name(self) -> str:
        return self.handle.broker_name

    def topic(self, topic: str, group: str) -> str:
        """The one that the message lies in: the topic itself, or one of the group's retries."""
        return real_topic(topic, group, self.handle.retry)


def parse_receipt(text: str) -> Receipt:
    """ProxyError INVALID_RECEIPT_HANDLE when it is none."""
    fields = text.split(" ")
    if len(fields) < 8:
        raise ProxyError(
            Code.INTERNAL_SERVER_ERROR,
            f"IllegalArgumentException: Parse failed, dataList size {len(fields)}",
        )
    try:
        handle = parse_handle(text)
    except CodecError as error:
        raise ProxyError(Code.INVALID_RECEIPT_HANDLE, str(error)) from error
    queue_id, offset = parse_int(fields[6]), parse_long(fields[7])
    log_offset = parse_long(fields[8]) if len(fields) > 8 else -1
    if queue_id is None or offset is None or log_offset is None:
        raise ProxyError(Code.INVALID_RECEIPT_HANDLE, f"not a receipt handle: {text[:80]!r}")
    return Receipt(text, handle, queue_id, offset, log_offset)
