"""What POP records about the messages that it handed out, as records of the revive topic."""

from typing import Final

import msgspec

from trimq.codec.bodies.base import Body, Int8, Int32, Int64, decode_body, decode_request
from trimq.codec.bodies.locks import MessageQueue
from trimq.codec.enums import MessageModel, MessageRequestMode
from trimq.codec.java.numbers import as_long

# Of a long, which a shift's distance is taken by.
_BITS: Final = 64


class PopCheckPoint(Body, kw_only=True):
    """A `ck` record: messages `so + distance` of a queue, and which of them are acknowledged.

    c group, t topic, q queue, bn broker, so first offset, n count, d distances of the messages from
    it (absent: they are consecutive), bm bits of those that are acknowledged, pt time of the pop,
    it milliseconds until they come again, reviveTime the sum of both, ro offset of this record, rp
    how often it was written anew, sp whether coming again counts as no attempt.
    """

    bm: Int32 = 0
    bn: str | None = None
    c: str | None = None
    d: list[Int32] | None = None
    it: Int64 = 0
    n: Int8 = 0
    pt: Int64 = 0
    q: Int32 = 0
    revive_time: Int64 = 0
    ro: Int64 = 0
    rp: str | None = None
    so: Int64 = 0
    sp: bool = False
    t: str | None = None

    @property
    def due(self) -> int:
        """When what is not acknowledged comes again, in milliseconds since 1970; it turns over as a long does."""
        return as_long(self.pt + self.it)

    def offsets(self) -> list[int]:
        """The offsets of all its messages: `n`, however many distances there are."""
        count = max(self.n, 0)
        return [self.so + far for far in (self.d[:count] if self.d else range(count))]

    def open_offsets(self) -> list[int]:
        """The offsets of the messages that nobody has acknowledged."""
        return [
            offset
            for index, offset in enumerate(self.offsets())
            if not self.bm >> index % _BITS & 1
        ]


class AckMsg(Body, kw_only=True):
    """An `ack` record, or with `aol` a `bAck`: the offsets ao or aol of one checkpoint."""

    ao: Int64 = -1
    aol: list[Int64] | None = None
    bn: str | None = None
    c: str | None = None
    pt: Int64 = 0
    q: Int32 = 0
    so: Int64 = 0
    t: str | None = None

    def offsets(self) -> list[int]:
        """The offsets that it acknowledges."""
        return [self.ao] if self.aol is None else self.aol


class LongAckMsg(AckMsg, kw_only=True):
    """An AckMsg whose properties have their long names, which Java reads as well."""

    ack_offset: Int64 | None = None
    ack_offset_list: list[Int64] | None = None
    broker_name: str | None = None
    consumer_group: str | None = None
    pop_time: Int64 | None = None
    queue_id: Int32 | None = None
    start_offset: Int64 | None = None
    topic: str | None = None


class BatchAck(Body, kw_only=True):
    """Messages of one checkpoint that a consumer acknowledges with others.

    c group, t topic that was asked for, r kind of topic (0, or the version of the retry topic), so
    first offset, q queue, rq revive queue, pt time of the pop, it invisible milliseconds, b bits of
    the messages as base64: bit i of the bytes, lowest first, is the message so + i.
    """

    b: str | None = None
    c: str | None = None
    it: Int64 = 0
    pt: Int64 = 0
    q: Int32 = 0
    r: str | None = None
    rq: Int32 = 0
    so: Int64 = 0
    t: str | None = None


class BatchAckMessageRequestBody(Body, kw_only=True):
    """Asks for BATCH_ACK_MESSAGE."""

    acks: list[BatchAck] | None = None
    broker_name: str | None = None


class LongBatchAck(BatchAck, kw_only=True):
    """A BatchAck whose properties have their long names, which Java reads as well."""

    bit_set: str | None = None
    consumer_group: str | None = None
    invisible_time: Int64 | None = None
    pop_time: Int64 | None = None
    queue_id: Int32 | None = None
    retry: str | None = None
    revive_queue_id: Int32 | None = None
    start_offset: Int64 | None = None
    topic: str | None = None


class LongBatchAckRequestBody(Body, kw_only=True):
    """BATCH_ACK_MESSAGE with entries of long names."""

    acks: list[LongBatchAck] | None = None
    broker_name: str | None = None


_SHORT_NAMES: Final = {
    "ack_offset": "ao",
    "ack_offset_list": "aol",
    "bit_set": "b",
    "broker_name": "bn",
    "consumer_group": "c",
    "invisible_time": "it",
    "pop_time": "pt",
    "queue_id": "q",
    "retry": "r",
    "revive_queue_id": "rq",
    "start_offset": "so",
    "topic": "t",
}


def decode_ack(data: bytes) -> AckMsg:
    """An acknowledgement's record. CodecError."""
    ack = decode_body(AckMsg, data)
    if ack.t is None:
        long = decode_body(LongAckMsg, data)
        _shorten(long)
        return long
    return ack


def decode_batch_ack(data: bytes) -> BatchAckMessageRequestBody:
    """What BATCH_ACK_MESSAGE brings. CodecError."""
    asked = decode_request(BatchAckMessageRequestBody, data)
    if asked.acks and any(entry.t is None for entry in asked.acks):
        entries = decode_request(LongBatchAckRequestBody, data).acks or []
        for entry in entries:
            _shorten(entry)
        asked.acks = list(entries)
    return asked


def _shorten(long: LongAckMsg | LongBatchAck) -> None:
    """What came by its long name counts as if it had the short one."""
    for name, short in _SHORT_NAMES.items():
        value = getattr(long, name, None)
        if value is not None:
            setattr(long, short, value)


class OrderInfo(Body, kw_only=True):
    """The last batch of an orderly pop in one queue (QueueLevelConsumerManager.OrderInfo).

    o the first offset and then distances from it, cm bits of those that are acknowledged, popTime, i
    milliseconds until they are visible again, ot when single ones are instead, oc how often they were
    consumed before, l when this was, a the attempt it was for. Maps are by offset.
    """

    a: str | None = None
    cm: Int64 = 0
    i: Int64 | None = None
    l: Int64 = 0  # noqa: E741
    o: list[Int64] | None = None
    oc: dict[Int64, Int32] | None = None
    ot: dict[Int64, Int64] | None = None
    pop_time: Int64 = 0


class ConsumerOrderInfo(Body, kw_only=True):
    """`consumerOrderInfo.json`: `topic@group` to the last batches by queue id. What else is there is only written."""

    table: dict[str, dict[Int32, OrderInfo]] = msgspec.field(default_factory=dict)


class QueryAssignmentRequestBody(Body, kw_only=True):
    """Asks for QUERY_ASSIGNMENT: which queues of the topic the client gets."""

    client_id: str = ""
    consumer_group: str | None = None
    message_model: MessageModel | None = None
    strategy_name: str | None = None
    topic: str | None = None


class MessageQueueAssignment(Body, kw_only=True):
    """A queue, and whether to pull or pop it; with POP, queue -1 is all of the broker's."""

    message_queue: MessageQueue | None = None
    mode: MessageRequestMode = "PULL"


class QueryAssignmentResponseBody(Body, kw_only=True):
    """Answers QUERY_ASSIGNMENT; without assignments the client keeps what it has."""

    message_queue_assignments: list[MessageQueueAssignment] | None = None
