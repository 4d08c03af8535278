"""Messages at and beyond each bound, of each type to topics of each type, alone and in batches."""

from __future__ import annotations

import gzip
from typing import Final

from compat_tests.proxy.case import Case, Topic
from compat_tests.proxy.cases.usual import MISSING, Fields, message, sending, table

MOST_BODY: Final = 4 * 1024 * 1024
_LATER: Final[Fields] = {"seconds": "{now+60}"}

ONE: Final[dict[str, Fields]] = {
    "usual": message(),
    "everything": message(
        user={"a": "1", "\u00e4": "\u00f6"}, tag="T", keys=["k1", "k2"], trace_context="trace"
    ),
    "empty body": message(b""),
    "body of 4 MiB": message(b"x" * MOST_BODY),
    "body beyond 4 MiB": message(b"x" * (MOST_BODY + 1)),
    "gzip": message(gzip.compress(b"hello" * 100, mtime=0), body_encoding="GZIP"),
    "gzip that is none": message(b"plain", body_encoding="GZIP"),
    "unknown encoding": message(body_encoding=9),
    "no message id": message(message_id=None),
    "blank message id": message(message_id=" "),
    "odd message id": message(message_id="x"),
    "128 properties": message(user={f"k{n}": "v" for n in range(128)}),
    "129 properties": message(user={f"k{n}": "v" for n in range(129)}),
    "properties of 16 KiB": message(user={"k": "v" * (16 * 1024 - 1)}),
    "properties beyond 16 KiB": message(user={"k": "v" * (16 * 1024)}),
    "properties and keys beyond 16 KiB": message(user={"k": "v" * (16 * 1024 - 9)}, keys=["k" * 9]),
    "properties and tag beyond 16 KiB": message(user={"k": "v" * (16 * 1024 - 9)}, tag="t" * 9),
    "reserved key": message(user={"TAGS": "x"}),
    "reserved key KEYS": message(user={"KEYS": "x"}),
    "reserved key of timers": message(user={"TIMER_DELIVER_MS": "1"}),
    "reserved key __SHARDINGKEY": message(user={"__SHARDINGKEY": "x"}),
    "reserved key of a transaction": message(user={"TRAN_MSG": "true"}),
    "empty property key": message(user={"": "x"}),
    "empty property value": message(user={"k": ""}),
    "control character in a key": message(user={"a\x01": "x"}),
    "control character in a value": message(user={"a": "\x02"}),
    "line feed in a value": message(user={"a": "x\ny"}),
    "blank tag": message(tag=" "),
    "tag with a bar": message(tag="a|b"),
    "tag with a control character": message(tag="a\x01"),
    "tag with a delete character": message(tag="a\x7f"),
    "empty tag": message(tag=""),
    "blank key": message(keys=[" "]),
    "empty key": message(keys=[""]),
    "key with a control character": message(keys=["a\x02"]),
    "key with a space": message(keys=["a b"]),
    "keys twice": message(keys=["a", "a"]),
    "message group to a normal topic": message(message_group="g"),
    "delivery time to a normal topic": message(delivery_timestamp=_LATER),
    "priority to a normal topic": message(priority=1),
    "lite topic to a normal topic": message(lite_topic="l"),
    "transaction to a normal topic": message(message_type="TRANSACTION"),
    "type FIFO without a group": message(message_type="FIFO"),
    "type DELAY without a time": message(message_type="DELAY"),
    "no type": message(message_type=None),
    "unknown type": message(message_type=77),
    "negative priority": message(priority=-1),
    "blank born host": message(born_host=" "),
    "no born host": message(born_host=None),
    "no born time": message(born_timestamp=None),
    "born beyond year 9999": message(born_timestamp={"seconds": 253402300800}),
    "born before 1970": message(born_timestamp={"seconds": -5}),
    "delivery attempt": message(delivery_attempt=3),
    "a queue id": message(queue_id=0),
    "a receipt handle": message(receipt_handle="h", store_host="x:1", queue_offset=7),
    "a wrong digest": message(body_digest={"type": "CRC32", "checksum": "1234"}),
    "orphaned duration without a transaction": message(
        orphaned_transaction_recovery_duration={"seconds": 10}
    ),
}
FIFO: Final[dict[str, Fields]] = {
    "with a group": message(message_group="g", message_type="FIFO"),
    "group of 63": message(message_group="g" * 63, message_type="FIFO"),
    "group of 64": message(message_group="g" * 64, message_type="FIFO"),
    "group of 65": message(message_group="g" * 65, message_type="FIFO"),
    "group of 32 umlauts": message(message_group="\u00e4" * 32, message_type="FIFO"),
    "blank group": message(message_group=" ", message_type="FIFO"),
    "empty group": message(message_group="", message_type="FIFO"),
    "group with a control character": message(message_group="a\x01", message_type="FIFO"),
    "without a group": message(),
    "group and delivery time": message(message_group="g", delivery_timestamp=_LATER),
    "group and priority": message(message_group="g", priority=1),
    "group of other letters": message(message_group="\u4e2d\u6587", message_type="FIFO"),
}
DELAY: Final[dict[str, Fields]] = {
    "in a minute": message(delivery_timestamp=_LATER, message_type="DELAY"),
    "in the past": message(delivery_timestamp={"seconds": "{now-60}"}, message_type="DELAY"),
    "in 1970": message(delivery_timestamp={"seconds": 0}, message_type="DELAY"),
    "before 1970": message(delivery_timestamp={"seconds": -60}, message_type="DELAY"),
    "in nearly a day": message(delivery_timestamp={"seconds": "{now+86340}"}, message_type="DELAY"),
    "beyond a day": message(delivery_timestamp={"seconds": "{now+86500}"}, message_type="DELAY"),
    "beyond year 9999": message(delivery_timestamp={"seconds": 253402300800}, message_type="DELAY"),
    "nanoseconds beyond a second": message(
        delivery_timestamp={"seconds": "{now+60}", "nanos": 2_000_000_000}, message_type="DELAY"
    ),
    "without a time": message(),
}
TRANSACTION: Final[dict[str, Fields]] = {
    "half": message(message_type="TRANSACTION"),
    "checked after 10 s": message(
        message_type="TRANSACTION", orphaned_transaction_recovery_duration={"seconds": 10}
    ),
    "checked after an hour": message(
        message_type="TRANSACTION", orphaned_transaction_recovery_duration={"seconds": 3600}
    ),
    "checked after more than an hour": message(
        message_type="TRANSACTION", orphaned_transaction_recovery_duration={"seconds": 3601}
    ),
    "checked before it was sent": message(
        message_type="TRANSACTION", orphaned_transaction_recovery_duration={"seconds": -1}
    ),
    "of type NORMAL": message(),
    "half with a delivery time": message(message_type="TRANSACTION", delivery_timestamp=_LATER),
    "half with a group": message(message_type="TRANSACTION", message_group="g"),
}
PRIORITY: Final[dict[str, Fields]] = {
    "0": message(priority=0, message_type="PRIORITY"),
    "9": message(priority=9, message_type="PRIORITY"),
    "2147483647": message(priority=2147483647, message_type="PRIORITY"),
    "negative": message(priority=-1, message_type="PRIORITY"),
    "none": message(message_type="PRIORITY"),
}
LITE: Final[dict[str, Fields]] = {
    "usual": message(lite_topic="l-1_A", message_type="LITE"),
    "empty": message(lite_topic="", message_type="LITE"),
    "blank": message(lite_topic=" ", message_type="LITE"),
    "64 long": message(lite_topic="l" * 64, message_type="LITE"),
    "65 long": message(lite_topic="l" * 65, message_type="LITE"),
    "with a dot": message(lite_topic="a.b", message_type="LITE"),
    "none": message(),
}
BATCHES: Final[dict[str, Fields]] = {
    "no message": sending(),
    "two": sending(message(b"1", tag="a"), message(b"2", tag="b", message_id="M2")),
    "of two topics": sending(message(), message(topic="{topic}2")),
    "of two namespaces": sending(
        message(), {**message(), "topic": {"resource_namespace": "n", "name": "{topic}"}}
    ),
    "second one empty": sending(message(), message(b"")),
    "second one with a reserved key": sending(message(), message(user={"KEYS": "x"})),
    "second one delayed": sending(message(), message(delivery_timestamp=_LATER)),
    "second one half": sending(message(), message(message_type="TRANSACTION")),
    "equal ids": sending(message(b"1"), message(b"2")),
    "gzip": sending(
        message(gzip.compress(b"1", mtime=0), body_encoding="GZIP"),
        message(gzip.compress(b"2", mtime=0), body_encoding="GZIP", message_id="M2"),
    ),
    "1000": sending(*(message(b"x", message_id=f"M{n}") for n in range(1000))),
    "8 MiB": sending(*(message(b"x" * (MOST_BODY // 2), message_id=f"M{n}") for n in range(4))),
}
TO_TOPICS: Final = {
    "not there": MISSING,
    "read-only": Topic(perm=4),
    "write-only": Topic(perm=2),
    "closed": Topic(perm=0),
    "MIXED": Topic("MIXED"),
    "UNSPECIFIED": Topic("UNSPECIFIED"),
}


def _each(prefix: str, rows: dict[str, Fields], topic: Topic) -> list[Case]:
    wrapped = {name: sending(row) for name, row in rows.items()}
    return table(prefix, "SendMessage", wrapped, topic=topic)


CASES: Final = [
    *_each("send", ONE, Topic()),
    *_each("send to FIFO", FIFO, Topic("FIFO", 8, 8)),
    *_each("send to DELAY", DELAY, Topic("DELAY")),
    *_each("send to TRANSACTION", TRANSACTION, Topic("TRANSACTION")),
    *_each("send to PRIORITY", PRIORITY, Topic("PRIORITY")),
    *_each("send to LITE", LITE, Topic("LITE")),
    *table("batch", "SendMessage", BATCHES),
    Case(
        "batch: two groups to FIFO",
        "SendMessage",
        sending(message(message_group="a"), message(message_group="b", message_id="M2")),
        topic=Topic("FIFO"),
    ),
    Case(
        "batch: two of one group to FIFO",
        "SendMessage",
        sending(message(message_group="a"), message(message_group="a", message_id="M2")),
        topic=Topic("FIFO"),
    ),
    *(
        Case(f"send to a topic: {name}", "SendMessage", sending(message()), topic=topic)
        for name, topic in TO_TOPICS.items()
    ),
    Case(
        "send to a topic: MIXED, with a group",
        "SendMessage",
        sending(message(message_group="g")),
        topic=Topic("MIXED"),
    ),
]
