"""SEND_BATCH_MESSAGE, and the batch flag of the other sends."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any, Final

from compat_tests.wire.asks import create_topic, properties, pull, send, send_batch, send_v2
from compat_tests.wire.case import Case, in_binary, row
from compat_tests.wire.records import batch_body, batch_item

THREE: Final = batch_body((f"item {n}".encode(), {"UNIQ_KEY": f"U{n}"}) for n in range(3))


def cases() -> Iterator[Case]:
    stored: dict[str, Any] = {"before": [create_topic()], "after": [pull()]}
    yield row("batch: three items", send_batch(THREE), **stored)
    yield in_binary("batch: three items", send_batch(THREE), **stored)
    yield row("batch: one item", send_batch(batch_item(b"only", {"UNIQ_KEY": "U1"})), **stored)
    yield row("batch: under SEND_MESSAGE", send(THREE, batch=True), **stored)
    yield row("batch: under SEND_MESSAGE_V2", send_v2(THREE, batch=True), **stored)
    yield row("batch: without its flag", send_batch(THREE, batch=False), **stored)
    yield row("batch: flag left out", send_batch(THREE, batch=None), **stored)
    yield row("batch: creates its topic", send_batch(THREE), after=[pull()])
    yield row("batch: queue out of range", send_batch(THREE, queueId=4), **stored)
    one: dict[str, Any] = {"before": [create_topic(queues=1)], "after": [pull()]}
    yield row("batch: the broker chooses the queue", send_batch(THREE, queueId=-1), **one)
    yield row("batch: to a retry topic", send_batch(THREE, topic="%RETRY%$G"))
    yield row("batch: to a dead letter topic", send_batch(THREE, topic="%DLQ%$G"))
    yield row("batch: to SCHEDULE_TOPIC_XXXX", send_batch(THREE, topic="SCHEDULE_TOPIC_XXXX"))
    yield row("batch: to an illegal topic", send_batch(THREE, topic="a.b"))
    yield row("batch: empty body", send_batch(b""), **stored)
    outer = properties(UNIQ_KEY="OUTER", TAGS="Outer", DELAY="1", WAIT="false")
    yield row("batch: outer properties", send_batch(THREE, properties=outer), **stored)
    yield row("batch: outer flags", send_batch(THREE, flag=5, sysFlag=1), **stored)
    yield from items()
    yield from broken()
    yield row(
        "batch: again at the end of the queue",
        send_batch(THREE),
        before=[create_topic(), send(b"before")],
        after=[pull()],
    )


def items() -> Iterator[Case]:
    stored: dict[str, Any] = {"before": [create_topic()], "after": [pull()]}
    of_all_kinds = {
        "tags and keys": {"UNIQ_KEY": "U1", "TAGS": "TagA", "KEYS": "k1 k2"},
        "a delay level": {"UNIQ_KEY": "U1", "DELAY": "1"},
        "no unique key": {"TAGS": "TagA"},
        "its own region": {"UNIQ_KEY": "U1", "MSG_REGION": "Elsewhere"},
        "no properties": {},
        "letters beyond ASCII": {"UNIQ_KEY": "U1", "größe": "你好 😀"},
    }
    for what, pairs in of_all_kinds.items():
        body = batch_item(b"first", pairs) + batch_item(b"second", {"UNIQ_KEY": "U2"})
        yield row(f"batch: an item with {what}", send_batch(body), **stored)
    flagged = batch_item(b"first", {"UNIQ_KEY": "U1"}, flag=3) + batch_item(b"", {"UNIQ_KEY": "U2"})
    yield row("batch: an item's flag, an item's empty body", send_batch(flagged), **stored)
    many = batch_body((b"x" * 10, {"UNIQ_KEY": f"U{n}"}) for n in range(100))
    yield row("batch: a hundred items", send_batch(many), **stored)
    half = batch_item(b"x" * (2 << 20), {"UNIQ_KEY": "U1"})
    yield row("batch: 4 MiB in two items", send_batch(half + half), **stored)
    under = batch_item(b"x" * (2000 << 10), {"UNIQ_KEY": "U1"})
    yield row("batch: just under 4 MiB", send_batch(under + under), **stored)
    long = batch_item(b"first", {"UNIQ_KEY": "U1", "k": "v" * 32000})
    yield row("batch: an item's properties of 32 KiB", send_batch(long), **stored)


def broken() -> Iterator[Case]:
    stored: dict[str, Any] = {"before": [create_topic()], "after": [pull()]}
    good = batch_item(b"hello", {"UNIQ_KEY": "U1"})
    pieces = {
        "one byte short": good[:-1],
        "one byte long": good + b"\x00",
        "only a size": good[:4],
        "size zero": struct.pack(">i", 0) + good[4:],
        "size negative": struct.pack(">i", -1) + good[4:],
        "size too large": struct.pack(">i", len(good) + 100) + good[4:],
        "body length too large": good[:16] + struct.pack(">i", 1000) + good[20:],
        "body length negative": good[:16] + struct.pack(">i", -5) + good[20:],
        "not a batch": b"just some text that is no batch",
    }
    for what, body in pieces.items():
        yield row(f"batch: broken: {what}", send_batch(body), **stored)
