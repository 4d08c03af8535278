"""What is stored because of a half message: copies of it, and the op that settles it.

Properties as the real broker has them: EndTransactionProcessor.endMessageTransaction,
TransactionalMessageBridge.renewHalfMessageInner and renewImmunityHalfMessageInner,
DefaultTransactionalMessageCheckListener, AdminBrokerProcessor.resumeCheckHalfMessage. Each function
returns the message and its properties, for PutRules to complete. Unlike there, a half that is put back
keeps its flag and its count of retries, and a put-back for immunity does not count as a check.

Hot: compiled by mypyc when a compiler is there.
"""

from __future__ import annotations

from typing import Final

from trimq.codec.flags import SysFlag
from trimq.codec.java.numbers import parse_int
from trimq.codec.names import (
    ROCKSDB_TRANS_HALF_TOPIC,
    TRANS_CHECK_MAX_TIME_TOPIC,
    TRANS_HALF_TOPIC,
)
from trimq.codec.records.properties import format_properties, parse_properties
from trimq.codec.records.property_keys import (
    REAL_QID,
    REAL_TOPIC,
    TAGS,
    TRAN_PREPARED_QUEUE_OFFSET,
    TRANSACTION_CHECK_TIMES,
    WAIT,
)
from trimq.codec.records.record import Record
from trimq.store.messages.message import Message, copy_to

Copy = tuple[Message, dict[str, str]]

# What the real broker's ops have, in its order.
OP_PROPERTIES: Final = format_properties({WAIT: "true", TAGS: "d"})


class BadHalf(Exception):
    """The record is no half message that could ever be delivered."""


def real_place(properties: dict[str, str]) -> tuple[str, int]:
    """Where a half message belongs: topic and queue. BadHalf."""
    topic = properties.get(REAL_TOPIC)
    queue_id = parse_int(properties.get(REAL_QID, ""))
    if topic is None or queue_id is None:
        raise BadHalf("it does not say where it belongs")
    if topic in (TRANS_HALF_TOPIC, ROCKSDB_TRANS_HALF_TOPIC):
        # A delay was asked for as well, and overwrote where it belongs.
        raise BadHalf("it belongs to the topic of half messages")
    return topic, queue_id


def committed(record: Record, half_at: int) -> Copy:
    """The message for consumers; `half_at`: the physical offset of the half that it settles. BadHalf."""
    properties = parse_properties(record.properties)
    topic, queue_id = real_place(properties)
    del properties[REAL_TOPIC]
    del properties[REAL_QID]
    copy = copy_to(topic, queue_id, record)
    copy.sys_flag = copy.sys_flag & ~SysFlag.TRANSACTION_MASK | SysFlag.COMMIT
    copy.prepared_transaction_offset = half_at
    return copy, properties


def put_back_to_ask(record: Record, checks: int) -> Copy:
    """The half once more, at the end of its queue; `checks`: with the one that follows."""
    properties = parse_properties(record.properties)
    properties[TRANSACTION_CHECK_TIMES] = str(checks)
    return copy_to(TRANS_HALF_TOPIC, 0, record), properties


def put_back_immune(record: Record) -> Copy:
    """The half once more, at the end of its queue; it says where it lay first."""
    properties = parse_properties(record.properties)
    properties.setdefault(TRAN_PREPARED_QUEUE_OFFSET, str(record.queue_offset))
    properties[WAIT] = "false"
    return copy_to(TRANS_HALF_TOPIC, 0, record), properties


def given_up(record: Record, checks: int) -> Copy:
    """Nobody was willing to end it: it is kept where an operator finds it; `checks`: what it says."""
    properties = parse_properties(record.properties)
    properties[TRANSACTION_CHECK_TIMES] = str(checks)
    return copy_to(TRANS_CHECK_MAX_TIME_TOPIC, 0, record), properties


def resumed(record: Record) -> Copy:
    """A half that was given up, taken up again; nobody was asked about it yet."""
    return put_back_to_ask(record, 0)


def op_body(offsets: list[int]) -> bytes:
    """That the halves at these queue offsets are settled."""
    return "".join([f"{offset}," for offset in offsets]).encode()
