"""QUERY_MESSAGE: by key, by unique key, by tag; counts, times, what is not found."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from compat_tests.wire import reading
from compat_tests.wire.asks import ask, changed, create_topic, properties, send, send_batch
from compat_tests.wire.case import Case
from compat_tests.wire.frames import BINARY_CODING, Frame
from compat_tests.wire.records import batch_body, read_records
from compat_tests.wire.stage import Stage

EVER: Final = 9_223_372_036_854_775_807
QUERY: Final = 12
FOUND: Final = 0
UNIQUE: Final = "_UNIQUE_KEY_QUERY"
FIELDS: Final = ["topic", "key", "maxNum", "beginTimestamp", "endTimestamp"]


def query(key: object = "k", **fields: object) -> Frame:
    usual: dict[str, object] = {
        "topic": "$T",
        "key": key,
        "maxNum": 32,
        "beginTimestamp": 0,
        "endTimestamp": EVER,
    }
    return ask(QUERY, {**usual, **fields})


def message(number: int, queue: int = 0, **pairs: str) -> Frame:
    packed = properties(UNIQ_KEY=f"U{number}-$G", **pairs)
    return send(f"m{number}".encode(), queueId=queue, properties=packed)


SENT: Final = [
    message(0, KEYS="k one", TAGS="A"),
    message(1, KEYS="k", TAGS="B"),
    message(2, KEYS="two  k  three "),
    message(3, queue=1, KEYS="Aa", TAGS="A"),
    message(4, queue=1, KEYS="BB", TAGS="AA"),
    message(5, KEYS="twice twice", TAGS="k"),
    message(6, KEYS="über \U0001f600"),
    message(7, KEYS="last"),
]


def bodies(body: bytes) -> list[str]:
    return [record.body[:20].decode() for record in read_records(body)]


def fill(stage: Stage, sent: list[Frame], last: str = "last") -> None:
    """The real index follows the queues in the background."""
    stage.must(create_topic())
    for frame in sent:
        stage.must(frame)
    reply = stage.until(query(last), lambda reply: reply.code == FOUND)
    assert reply.code == FOUND, reply.remark


def show(stage: Stage, what: str, request: Frame, on: str = "broker") -> Frame:
    """The index is everybody's, so how far it reaches depends on the other cases."""
    reply = stage.ask(request, on)
    seen = reading.reply(reply, bodies)
    if reply.code == FOUND and "indexLastUpdatePhyoffset" in seen["ext"]:
        seen["ext"]["indexLastUpdatePhyoffset"] = (
            f"position {reply.ext['indexLastUpdatePhyoffset']}"
        )
    stage.record(what, seen)
    return reply


def cases() -> Iterator[Case]:
    yield Case("query: by key", by_key)
    yield Case("query: by unique key", by_unique_key)
    yield Case("query: by tag", by_tag)
    yield Case("query: counts", counts)
    yield Case("query: more than fit", more_than_fit)
    yield Case("query: times", times)
    yield Case("query: items of a batch", batch)
    yield Case("query: fields", fields)


def by_key(stage: Stage) -> None:
    fill(stage, SENT)
    for key in ("k", "one", "two", "three", "twice", "über", "\U0001f600", "none", "", " ", "K"):
        show(stage, f"key {key!r}", query(key))
    # Hashes collide: the real keys are compared by clients.
    for key in ("Aa", "BB"):
        show(stage, f"key {key}", query(key))
    show(stage, "another topic", query("k", topic="other-$T"))
    show(stage, "on the fast port", query("k"), on="fast")
    show(stage, "binary header", replace(query("k"), coding=BINARY_CODING))
    for kind in ("K", "U", "T", "X", ""):
        show(stage, f"index type {kind!r}", query("k", indexType=kind))
    show(stage, "behind a last key", query("k", lastKey="x"))


def by_unique_key(stage: Stage) -> None:
    fill(stage, SENT)
    for flag in ("true", "TRUE", "false", "1", ""):
        request = query("U1-$G", maxNum=0, indexType="T", **{UNIQUE: flag})
        show(stage, f"flag {flag!r}, another type, no message wanted", request)
    show(stage, "no flag", query("U1-$G"))
    show(stage, "a key with the flag", query("k", **{UNIQUE: "true"}))


def by_tag(stage: Stage) -> None:
    fill(stage, SENT)
    for tag in ("A", "AA", "B", "k", "none"):
        show(stage, f"tag {tag}", query(tag, indexType="T"))
        show(stage, f"tag {tag} as a key", query(f"T#{tag}"))


def counts(stage: Stage) -> None:
    fill(stage, SENT)
    for number in (0, 1, 2, 3, 2147483647):
        show(stage, f"at most {number}", query("k", maxNum=number))
    show(stage, "at most -1", query("k", maxNum=-1))


def more_than_fit(stage: Stage) -> None:
    fill(stage, [message(n, KEYS="k", TAGS="A") for n in range(70)] + [message(70, KEYS="last")])
    show(stage, "33", query("k", maxNum=33))
    show(stage, "1000", query("k", maxNum=1000))
    show(stage, "with the flag", query("k", maxNum=1000, **{UNIQUE: "true"}))


def times(stage: Stage) -> None:
    """The seconds of an entry count from the begin of its file, so only far times are certain."""
    fill(stage, SENT)
    for what, begin, end in (
        ("long ago", 0, 1_000_000_000_000),
        ("in the future", 8_000_000_000_000, EVER),
        ("until the future", 1_000_000_000_000, 8_000_000_000_000),
        ("backwards", EVER, 0),
        ("nothing", 0, 0),
        ("below zero", -5, EVER),
    ):
        show(stage, what, query("k", beginTimestamp=begin, endTimestamp=end))


def batch(stage: Stage) -> None:
    items = [(b"i%d" % n, {"UNIQ_KEY": f"I{n}", "KEYS": f"k i{n}"}) for n in range(3)]
    fill(stage, [send_batch(batch_body(items)), message(7, KEYS="last")])
    for key in ("k", "i1", "I2"):
        show(stage, f"key {key}", query(key))


def fields(stage: Stage) -> None:
    fill(stage, SENT)
    for name in FIELDS:
        show(stage, f"without {name}", changed(query(), **{name: None}))
    for name in FIELDS[2:]:
        show(stage, f"{name} is no number", changed(query(), **{name: "many"}))
    show(stage, "no fields at all", ask(QUERY))
