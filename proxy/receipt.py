"""What a client acknowledges a message with: the broker's handle, and where the message lies (ReceiptHandle).

Hot: compiled by mypyc when a compiler is there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from trimq.codec.java.numbers import parse_int, parse_long
from trimq.codec.names import pop_retry_topic, pop_retry_topic_v2
from trimq.codec.pop.handle import Handle
from trimq.proxy.protos.definition_pb2 import Code
from trimq.proxy.statuses import ProxyError

_LEAST: Final = 8


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

    @property
    def place(self) -> tuple[str, int, int]:
        """Broker, queue and offset: of the receipts of one message those with the same place are the same."""
        return self.handle.broker_name, self.queue_id, self.offset

    def topic(self, topic: str, group: str) -> str:
        """The one that the message lies in: the topic itself, or one of the group's retries."""
        if self.handle.retry == "1":
            return pop_retry_topic(topic, group)
        if self.handle.retry == "2":
            return pop_retry_topic_v2(topic, group)
        return topic


def parse_receipt(text: str) -> Receipt:
    """ProxyError when it is none: there an exception of Java's, and so INTERNAL_SERVER_ERROR."""
    fields = text.split(" ")
    while len(fields) > 1 and not fields[-1]:
        fields.pop()
    if len(fields) < _LEAST:
        raise _not_one(f"Parse failed, dataList size {len(fields)}")
    handle = Handle(
        _long(fields[0]),
        _long(fields[1]),
        _long(fields[2]),
        _int(fields[3]),
        fields[4],
        fields[5],
    )
    log_offset = _long(fields[_LEAST]) if len(fields) > _LEAST else -1
    return Receipt(text, handle, _int(fields[6]), _long(fields[7]), log_offset)


def _long(text: str) -> int:
    value = parse_long(text)
    if value is None:
        raise _not_one(f'For input string: "{text[:80]}"')
    return value


def _int(text: str) -> int:
    value = parse_int(text)
    if value is None:
        raise _not_one(f'For input string: "{text[:80]}"')
    return value


def _not_one(text: str) -> ProxyError:
    return ProxyError(Code.INTERNAL_SERVER_ERROR, text)
