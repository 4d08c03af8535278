"""Locking queues for orderly consumption."""

import msgspec

from trimq.codec.bodies.base import Body, Int32


class MessageQueue(msgspec.Struct, rename="camel", kw_only=True, frozen=True, order=True):
    """A queue of a topic on a broker; frozen, because it is a key of sets and maps."""

    broker_name: str = ""
    queue_id: Int32 = 0
    topic: str = ""


class LockBatchRequestBody(Body, kw_only=True):
    """LOCK_BATCH_MQ."""

    client_id: str | None = None
    consumer_group: str | None = None
    mq_set: set[MessageQueue] = msgspec.field(default_factory=set)
    only_this_broker: bool = False


class LockBatchResponseBody(Body, kw_only=True):
    """LOCK_BATCH_MQ: the queues that the client holds now."""

    lock_ok_mq_set: set[MessageQueue] = msgspec.field(name="lockOKMQSet", default_factory=set)


class UnlockBatchRequestBody(Body, kw_only=True):
    """UNLOCK_BATCH_MQ."""

    client_id: str | None = None
    consumer_group: str | None = None
    mq_set: set[MessageQueue] = msgspec.field(default_factory=set)
    only_this_broker: bool = False
