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

from trimq.codec import native
from trimq.codec.flags import SysFlag
from trimq.codec.java.numbers import parse_int
from trimq.codec.names import (
    ROCKSDB_TRANS_HALF_TOPIC,
    TRANS_CHECK_MAX_TIME_TOPIC,
    TRANS_HALF_TOPIC,
    is_brokers_own,
)
from trimq.codec.records.properties import format_properties, parse_properties
from trimq.codec.records.property_keys import (
    CHECK_IMMUNITY_TIME_IN_SECONDS,
    DELAY,
    INNER_MULTI_DISPATCH,
    INNER_NUM,
    PGROUP,
    REAL_QID,
    REAL_TOPIC,
    TAGS,
    TIMER_DELAY_MS,
    TIMER_DELAY_SEC,
    TIMER_DELIVER_MS,
    TRAN_PREPARED_QUEUE_OFFSET,
    TRANSACTION_CHECK_TIMES,
    UNIQ_KEY,
    WAIT,
)
from trimq.codec.records.record import Record
from trimq.store.messages.message import Message, copy_to

Copy = tuple[Message, dict[str, str]]

# What the real broker's ops have, in its order.
OP_PROPERTIES: Final = format_properties({WAIT: "true", TAGS: "d"})

_HALF_TOPICS: Final = (TRANS_HALF_TOPIC, ROCKSDB_TRANS_HALF_TOPIC)
# What a half message has and its committed copy has not.
_REAL_PLACE: Final = (REAL_TOPIC.encode(), REAL_QID.encode())
# A copy with one of them needs a decision (PutRules.apply and check_light).
_DECIDING: Final = tuple(
    key.encode()
    for key in (
        DELAY,
        TIMER_DELAY_SEC,
        TIMER_DELAY_MS,
        TIMER_DELIVER_MS,
        INNER_NUM,
        INNER_MULTI_DISPATCH,
    )
)
_SAID: Final = tuple(
    key.encode()
    for key in (UNIQ_KEY, PGROUP, CHECK_IMMUNITY_TIME_IN_SECONDS, WAIT, REAL_TOPIC, REAL_QID)
)
_SAID_AS_STORED: Final = tuple(key + b"\x01" for key in _SAID[:3])
# Digits of a queue's number that is surely an int of Java's.
_FEW_DIGITS: Final = 9


class BadHalf(Exception):
    """The record is no half message that could ever be delivered."""


class HalfSays:
    """What the properties of a half message say about its end.

    `unique`, `group` and `immunity` are its UNIQ_KEY, PGROUP and CHECK_IMMUNITY_TIME_IN_SECONDS. `ordinary`: its
    committed copy needs no decision: it belongs to `queue_id` of `topic`, has the properties `block`, and its
    producer waits for the disk or not (`waits`).
    """

    __slots__ = (
        "block",
        "group",
        "immunity",
        "ordinary",
        "queue_id",
        "topic",
        "unique",
        "waits",
    )

    def __init__(self, record: Record) -> None:
        self.ordinary = False
        self.block = b""
        self.topic = ""
        self.queue_id = 0
        self.waits = True
        found = native.ordinary_properties(record.properties, _REAL_PLACE, _DECIDING, _SAID)
        if found is None:
            self.unique, self.group, self.immunity = native.property_values(
                record.properties, _SAID_AS_STORED
            )
            return
        self.block = found[0]
        self.unique, self.group, self.immunity, wait, topic, queue_id = found[1]
        if topic is None or queue_id is None or record.sys_flag & SysFlag.INNER_BATCH:
            return
        if len(queue_id) > _FEW_DIGITS or not queue_id.isdigit():
            return
        self.topic = topic.decode()
        self.queue_id = int(queue_id)
        self.waits = wait is None or wait.lower() == b"true"
        self.ordinary = not is_brokers_own(self.topic)


def real_place(properties: dict[str, str]) -> tuple[str, int]:
    """Where a half message belongs: topic and queue. BadHalf."""
    topic = properties.get(REAL_TOPIC)
    queue_id = parse_int(properties.get(REAL_QID, ""))
    if topic is None or queue_id is None:
        raise BadHalf("it does not say where it belongs")
    if topic in _HALF_TOPICS:
        # A delay was asked for as well, and overwrote where it belongs.
        raise BadHalf("it belongs to the topic of half messages")
    if is_brokers_own(topic):
        raise BadHalf(f"only the broker itself writes to {topic}")
    return topic, queue_id


def committed(record: Record, half_at: int) -> Copy:
    """The message for consumers; `half_at`: the physical offset of the half that it settles. BadHalf."""
    properties = parse_properties(record.properties)
    topic, queue_id = real_place(properties)
    del properties[REAL_TOPIC]
    del properties[REAL_QID]
    return _settling(topic, queue_id, record, half_at), properties


def committed_as_it_says(record: Record, half_at: int, says: HalfSays) -> Message:
    """The same of an ordinary half message, ready to be stored."""
    copy = _settling(says.topic, says.queue_id, record, half_at)
    copy.properties = says.block
    return copy


def _settling(topic: str, queue_id: int, record: Record, half_at: int) -> Message:
    copy = copy_to(topic, queue_id, record)
    copy.sys_flag = copy.sys_flag & ~SysFlag.TRANSACTION_MASK | SysFlag.COMMIT
    copy.prepared_transaction_offset = half_at
    return copy


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
