"""What POP records about the messages that it handed out, as records of the revive topic."""

import msgspec

from trimq.codec.bodies.base import Body, Int8, Int32, Int64
from trimq.codec.bodies.locks import MessageQueue
from trimq.codec.enums import MessageModel, MessageRequestMode


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
        """When what is not acknowledged comes again, in milliseconds since 1970."""
        return self.pt + self.it

    def offsets(self) -> list[int]:
        """The offsets of all its messages."""
        return [self.so + far for far in self.d or range(self.n)]

    def open_offsets(self) -> list[int]:
        """The offsets of the messages that nobody has acknowledged."""
        distances = self.d or range(self.n)
        return [self.so + far for bit, far in enumerate(distances) if not self.bm >> bit & 1]


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
