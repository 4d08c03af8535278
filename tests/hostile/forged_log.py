"""Logs with records that no send makes, between messages that have to be there whatever those are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from trimq.codec.flags import SysFlag
from trimq.codec.native import encode_record
from trimq.codec.records.record import parse_record

TOPIC = "T"
GOOD = 5
HOST = b"\x7f\x00\x00\x01\x00\x00\x2a\x9f"
LONG_MAX, INT_MAX = 2**63 - 1, 2**31 - 1
NOW = 1_700_000_000_000


class Forged(NamedTuple):
    """One record: what of it is not as in a message of `TOPIC`, queue 0, that comes next there."""

    topic: bytes = TOPIC.encode()
    queue_id: int = 0
    queue_offset: int = GOOD
    sys_flag: int = 0
    properties: bytes = b""
    body: bytes = b"forged"
    store_timestamp: int = NOW
    prepared: int = 0
    reconsume: int = 0

    def encode(self, position: int) -> bytes:
        return encode_record(
            self.topic,
            self.queue_id,
            0,
            self.queue_offset,
            position,
            self.sys_flag,
            NOW,
            HOST,
            self.store_timestamp,
            HOST,
            self.reconsume,
            self.prepared,
            self.body,
            self.properties,
        )


def log_of(forged: list[Forged], topic: str = TOPIC) -> bytes:
    """Messages of the topic's queue 0, the forged records, as many messages again."""
    log, good = b"", 0
    for record in [None, *forged, None]:
        if record is not None:
            log += record.encode(len(log))
            continue
        for _ in range(GOOD):
            log += Forged(topic.encode(), queue_offset=good, body=b"good").encode(len(log))
            good += 1
    return log


def good_places(log: bytes) -> list[int]:
    """Where the messages are that have to be there."""
    places, at = [], 0
    while at < len(log):
        size = int.from_bytes(log[at : at + 4], "big")
        body_length = int.from_bytes(log[at + 84 : at + 88], "big")
        if log[at + 88 : at + 88 + body_length] == b"good":
            places.append(at)
        at += size
    return places


def prop(**values: Any) -> bytes:
    return b"".join(f"{key}\x01{value}\x02".encode() for key, value in values.items())


_NAMES = {
    "none": b"",
    "dot": b".",
    "dots": b"..",
    "way out": b"../../escaped",
    "slash": b"a/b",
    "zero": b"a\0b",
    "zeros": b"\0" * 30,
    "not UTF-8": b"\xff\xfe",
    "half a character": "\u00e9".encode()[:1],
    "surrogate": b"\xed\xa0\x80",
    "no folder is that long": b"n" * 200 + "\u00e9".encode() * 28,
    "line break": b"a\nb",
    "blanks": b"  ",
    "light": b"%LMQ%",
    "retry": b"%RETRY%",
}
_OFFSETS = {
    "far ahead": GOOD + 1000,
    "next but one": GOOD + 1,
    "back": 2,
    "the first again": 0,
    "negative": -1,
    "lowest": -LONG_MAX - 1,
    "highest": LONG_MAX,
    "beyond any file": 1 << 60,
    "very far": 1 << 50,
}
_PROPERTIES = {
    "not text": bytes(range(1, 256)) * 20,
    "zeros": b"\0" * 2000,
    "zero at the end": b"KEYS\x01a\x02\0",
    "no end": b"TAGS",
    "only separators": b"\x01\x02" * 500,
    "light queues": prop(
        INNER_MULTI_DISPATCH="%LMQ%a,%LMQ%/x,,%LMQ%", INNER_MULTI_QUEUE_OFFSET="9,1,1,7"
    ),
    "light queues far": prop(INNER_MULTI_DISPATCH="%LMQ%b", INNER_MULTI_QUEUE_OFFSET="9" * 15),
    "light queues, not so many": prop(
        INNER_MULTI_DISPATCH="%LMQ%c", INNER_MULTI_QUEUE_OFFSET="1,2"
    ),
    "light queue of its own": prop(INNER_MULTI_DISPATCH="%LMQ%T", INNER_MULTI_QUEUE_OFFSET="-1"),
    "many messages": prop(INNER_NUM=99_999),
    "digits": prop(INNER_NUM="9" * 6000, DELAY="9" * 6000, TAGS="9" * 6000),
    "keys": b"KEYS\x01" + b"\xff k \xc3" * 900 + b"\x02UNIQ_KEY\x01\xff\x02TAGS\x01\xfe\x02",
}
_TIMES = {"lowest": -LONG_MAX - 1, "negative": -1, "none": 0, "highest": LONG_MAX}
_KINDS = [
    kind | batch
    for kind in (0, 4, 8, 12)
    for batch in (0, int(SysFlag.INNER_BATCH))
    if kind | batch
]


def forged_records() -> Iterator[tuple[str, Forged]]:
    """A record of each kind, with its name."""
    for name, topic in _NAMES.items():
        yield f"topic: {name}", Forged(topic, queue_offset=0)
        yield f"topic: {name}, last", Forged(topic, queue_offset=LONG_MAX)
    for name, offset in _OFFSETS.items():
        yield f"offset: {name}", Forged(queue_offset=offset)
        yield f"new queue: {name}", Forged(queue_id=1, queue_offset=offset)
    for queue_id in (-1, -INT_MAX - 1, INT_MAX):
        yield f"queue: {queue_id}", Forged(queue_id=queue_id, queue_offset=0)
    for name, properties in _PROPERTIES.items():
        for flag in (0, int(SysFlag.INNER_BATCH)):
            # Elsewhere, for in the queue itself it would be a message like others.
            yield f"properties: {name}, {flag}", Forged(b"U", properties=properties, sys_flag=flag)
        yield (
            f"properties: {name}, delayed",
            Forged(b"SCHEDULE_TOPIC_XXXX", 3, 0, properties=properties + prop(DELAY=4)),
        )
    for name, time in _TIMES.items():
        yield f"stored: {name}", Forged(b"U", store_timestamp=time, properties=prop(KEYS="k"))
        delayed = Forged(
            b"SCHEDULE_TOPIC_XXXX", 3, 0, store_timestamp=time, properties=prop(DELAY=4)
        )
        yield f"stored: {name}, delayed", delayed
    for flag in _KINDS:
        yield f"flags: {flag}", Forged(sys_flag=flag, queue_offset=GOOD + 7)
        yield f"flags elsewhere: {flag}", Forged(b"U", sys_flag=flag, queue_offset=0)


def system_records(cluster: str, broker: str) -> Iterator[Forged]:
    """Records of the topics in which the broker keeps what it has decided."""
    bodies = [
        b"",
        b"\0",
        b"{",
        b"{}",
        b"[]",
        b"null",
        b"1,2,x",
        b"9" * 5000,
        b"-1",
        b'{"d":[9999999999,-1],"n":127,"q":-1,"so":-1,"pt":9e99,"it":-1,"t":"../x","c":"g","bn":7}',
        b'{"ao":-1,"so":9223372036854775807,"c":null,"t":null,"q":"x","pt":-9223372036854775808}',
        b"\xff" * 300,
        b"[" * 2000,
    ]
    topics = [
        f"rmq_sys_REVIVE_LOG_{cluster}",
        "rmq_sys_wheel_timer",
        "rmq_sys_ELASTIC_MAP",
        "RMQ_SYS_TRANS_OP_HALF_TOPIC",
        "RMQ_SYS_TRANS_HALF_TOPIC",
        "TRANS_CHECK_MAX_TIME_TOPIC",
        "SCHEDULE_TOPIC_XXXX",
        "OFFSET_MOVED_EVENT",
        "rmq_sys_SYNC_BROKER_MEMBER_" + broker,
        "%RETRY%g",
        "%DLQ%g",
    ]
    blocks = [
        b"",
        prop(TAGS="ck"),
        prop(TAGS="ack"),
        prop(TAGS="bAck"),
        prop(TAGS="d"),
        prop(TIMER_OUT_MS="x" * 20, REAL_TOPIC="../x", REAL_QID="-7"),
        prop(TIMER_OUT_MS=LONG_MAX, REAL_TOPIC="T", REAL_QID=0),
        prop(TIMER_OUT_MS=1, REAL_TOPIC="T", REAL_QID="9" * 5000, TIMER_DEL_UNIQKEY="x"),
        prop(DELAY=1, REAL_TOPIC="../x", REAL_QID="q"),
        prop(DELAY="9" * 5000),
        b"\xff\x01\xfe\x02" * 50,
    ]
    offsets: dict[str, int] = {}
    for topic in topics:
        for body in bodies:
            for properties in blocks:
                offset = offsets.get(topic, 0)
                offsets[topic] = offset + 1
                yield Forged(topic.encode(), 0, offset, properties=properties, body=body)


def check_whole(log: bytes) -> None:
    """Each of these is a record: only what it says is odd."""
    at = 0
    while at < len(log):
        size = int.from_bytes(log[at : at + 4], "big")
        assert size > 0
        at += size
    assert parse_record(log).physical_offset == 0
