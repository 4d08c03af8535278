"""Topics with queue.type=BatchCQ: batches that stay in one record, and what their queues answer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from compat_tests.wire.asks import (
    ask,
    changed,
    create_group,
    create_topic,
    properties,
    pull,
    query_offset,
    queue_question,
    search_offset,
    send,
    send_batch,
    send_v2,
)
from compat_tests.wire.case import Case, in_binary, row
from compat_tests.wire.frames import Frame
from compat_tests.wire.reading import as_json, as_records
from compat_tests.wire.records import batch_body, batch_item, read_records

CREATE: Final = changed(create_topic(), attributes="+queue.type=BatchCQ")
MAX, MIN, EARLIEST, STATS, CONSUME_STATS, DELETE = 30, 31, 32, 202, 208, 215
INNER: Final = 0xC0
FAR: Final = 1 << 42


def items(count: int, tag: str = "") -> bytes:
    more = {"TAGS": tag} if tag else {}
    return batch_body(
        (f"item {number}".encode(), {"UNIQ_KEY": f"U{number}", **more}) for number in range(count)
    )


def whole(count: int, key: str = "WHOLE", body: bytes | None = None, **outer: str) -> Frame:
    """A batch with a key of its own, as the 5.x client sends every batch."""
    fields = properties(**{"UNIQ_KEY": key, "WAIT": "true", **outer})
    return send_batch(items(count) if body is None else body, properties=fields)


# Queue offsets 0..2, 3, 4..5, 6..9.
TEN: Final = [
    CREATE,
    whole(3, TAGS="A"),
    send(b"alone", properties=properties(UNIQ_KEY="U1", TAGS="B")),
    whole(2, TAGS="B"),
    whole(4),
]


def brief(body: bytes) -> list[str]:
    """Which records a pull found."""
    return [f"{record.queue_offset}: {len(record.body)}" for record in read_records(body)]


def offset_table(body: bytes) -> object:
    """Statistics without the rate, which depends on the moment."""
    return as_json(body)["value"]["offsetTable"]


def cases() -> Iterator[Case]:
    yield from sending()
    yield from flags()
    yield from refusals()
    yield from pulling()
    yield from offsets()
    yield from empty()
    yield from life()


def sending() -> Iterator[Case]:
    stored: dict[str, Any] = {"before": [CREATE], "after": [pull()]}
    yield row("batch topic: a whole batch", whole(3), **stored)
    yield in_binary("batch topic: a whole batch", whole(3), **stored)
    yield row("batch topic: a batch of one", whole(1), **stored)
    yield row("batch topic: a batch of a hundred", whole(100), **stored)
    yield row("batch topic: behind others", whole(2), before=TEN, after=[pull()])
    yield row("batch topic: one message", send_v2(b"alone"), **stored)
    yield row("batch topic: one message behind others", send(b"x"), before=TEN, after=[pull()])
    bare = send_batch(items(3), properties="")
    yield row("batch topic: a batch without a key", bare, **stored)
    yield row("batch topic: a batch without a key behind others", bare, before=TEN, after=[pull()])
    some = whole(3, TAGS="Outer", KEYS="k1 k2", mine="größe", INNER_BASE="77", INNER_NUM="9")
    yield row("batch topic: outer properties", some, **stored)
    yield row("batch topic: does not wait", whole(3, WAIT="false"), **stored)
    yield row("batch topic: with a user flag", changed(whole(3), h=5, f=1, j=2), **stored)
    yield row("batch topic: to the last queue", changed(whole(3), e=3), **stored)
    yield row("batch topic: under SEND_MESSAGE_V2", changed_code(whole(3), 310), **stored)
    yield row("batch topic: without the batch flag", changed(whole(3), m="false"), **stored)
    yield row("batch topic: delay level in an item", whole(1, body=delayed_item()), **stored)


def changed_code(frame: Frame, code: int) -> Frame:
    frame = changed(frame)
    frame.code = code
    return frame


def delayed_item() -> bytes:
    return batch_item(b"later", {"UNIQ_KEY": "U1", "DELAY": "1"})


def flags() -> Iterator[Case]:
    """One message that says itself that it is a batch."""
    stored: dict[str, Any] = {"before": [CREATE], "after": [pull(), queue_question(MAX)]}
    counted = properties(UNIQ_KEY="U1", INNER_NUM="3")
    for what, flag in {"both flags": INNER, "inner batch": 0x80, "needs unwrap": 0x40}.items():
        yield row(f"batch topic: sent with {what}", send_v2(items(3), sysFlag=flag), **stored)
        request = send_v2(items(3), sysFlag=flag, properties=counted)
        yield row(f"batch topic: sent with {what} and a count", request, **stored)
    for number in ("0", "-2", "x", "40000"):
        many = properties(UNIQ_KEY="U1", INNER_NUM=number)
        request = send_v2(b"x", sysFlag=INNER, properties=many)
        yield row(f"batch topic: sent with a count of {number}", request, before=[CREATE])
    plain: dict[str, Any] = {"before": [create_topic()], "after": [pull()]}
    request = send_v2(items(3), sysFlag=INNER, properties=counted)
    yield row("batch topic: flags on another topic", request, **plain)
    yield row("batch topic: the same batch to another topic", whole(3), **plain)
    request = changed(whole(3), f=4)
    yield row("batch topic: a prepared batch", request, **stored)
    yield row("batch topic: a rolled-back batch", changed(whole(3), f=12), **stored)
    yield row("batch topic: a committed batch", changed(whole(3), f=8), **stored)


def refusals() -> Iterator[Case]:
    stored: dict[str, Any] = {"before": [CREATE], "after": [pull()]}
    yield row("batch topic: a delayed batch", whole(3, DELAY="1"), **stored)
    yield row("batch topic: a body of nothing", whole(0, body=b""), **stored)
    half = batch_item(b"x" * (2 << 20), {"UNIQ_KEY": "U1"})
    yield row("batch topic: above 4 MiB", whole(2, body=half + half), **stored)
    good = items(1)
    pieces = {
        "one byte short": good[:-1],
        "one byte long": good + b"\x00",
        "only half a size": good[:2],
        "size negative": b"\xff\xff\xff\xff" + good[4:],
        "size too large": b"\x00\x00\x10\x00" + good[4:],
    }
    for what, body in pieces.items():
        yield row(f"batch topic: broken: {what}", whole(1, body=body), **stored)
    many = batch_item(b"", {}) * 32768
    yield row("batch topic: more than can be counted", whole(1, body=many), before=[CREATE])
    yield row("batch topic: as many as can be counted", whole(1, body=many[22:]), before=[CREATE])
    long = whole(3, KEYS="k" * 32740)
    yield row("batch topic: properties of 32 KiB", long, before=[CREATE])


def pulling() -> Iterator[Case]:
    yield row("batch topic: pull everything", pull(), before=TEN, reader=as_records)
    for offset in (-2, -1, 0, 1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 100, 1 << 40):
        request = pull(queueOffset=offset)
        yield row(f"batch topic: pull at {offset} of 10", request, before=TEN, reader=brief)
    for number in (-1, 0, 1, 2, 3, 4, 5, 6, 9, 10, 33):
        request = pull(maxMsgNums=number)
        yield row(f"batch topic: pull at most {number}", request, before=TEN, reader=brief)
    request = pull(maxMsgNums=3, queueOffset=5)
    yield row("batch topic: pull at most 3 from within", request, before=TEN, reader=brief)
    crowd = [CREATE, *(whole(10, key=f"K{number}") for number in range(6))]
    for number in (10, 19, 20, 32, 33, 100):
        request = pull(maxMsgNums=number)
        name = f"batch topic: pull at most {number} of sixty in tens"
        yield row(name, request, before=crowd, reader=brief)
    for tags in ("A", "B", "A || B", "none"):
        request = pull(subscription=tags)
        yield row(f"batch topic: pull the tag {tags}", request, before=TEN, reader=brief)
    request = pull(subscription="B", queueOffset=1)
    yield row("batch topic: pull a tag from within", request, before=TEN, reader=brief)
    big = [CREATE, *(whole(1, body=batch_item(b"x" * 100_000, {})) for _ in range(4))]
    yield row("batch topic: pull large batches", pull(), before=big, reader=brief)


def offsets() -> Iterator[Case]:
    yield row("batch topic: max offset", queue_question(MAX), before=TEN)
    yield row("batch topic: min offset", queue_question(MIN), before=TEN)
    yield row("batch topic: earliest time", queue_question(EARLIEST), before=TEN)
    for boundary in ("LOWER", "UPPER"):
        for moment in (-1, 0, 1_500_000_000_000, FAR):
            request = search_offset(moment, boundaryType=boundary)
            yield row(f"batch topic: {boundary} at {moment}", request, before=TEN)
    statistics = ask(STATS, {"topic": "$T"})
    yield row("batch topic: statistics", statistics, before=TEN, reader=offset_table)
    yield row(
        "batch topic: progress within a record",
        ask(CONSUME_STATS, {"consumerGroup": "$G", "topic": "$T"}),
        before=[
            *TEN,
            create_group(),
            ask(15, {"consumerGroup": "$G", "topic": "$T", "queueId": 0, "commitOffset": 5}),
        ],
    )
    yield row(
        "batch topic: a group without progress", query_offset(), before=[*TEN, create_group()]
    )


def empty() -> Iterator[Case]:
    for offset in (-1, 0, 1, 7):
        request = pull(queueOffset=offset)
        yield row(f"batch topic: pull at {offset} of nothing", request, before=[CREATE])
        other = pull(queueOffset=offset, queueId=1)
        name = f"batch topic: pull at {offset} of the queue beside"
        yield row(name, other, before=TEN, reader=brief)
    yield row("batch topic: max offset of nothing", queue_question(MAX), before=[CREATE])
    yield row("batch topic: min offset of nothing", queue_question(MIN), before=[CREATE])
    yield row("batch topic: earliest time of nothing", queue_question(EARLIEST), before=[CREATE])
    for boundary in ("LOWER", "UPPER"):
        request = search_offset(0, boundaryType=boundary)
        yield row(f"batch topic: {boundary} of nothing", request, before=[CREATE])
    yield row("batch topic: statistics of nothing", ask(STATS, {"topic": "$T"}), before=[CREATE])
    group = [CREATE, create_group()]
    yield row("batch topic: a group without progress in nothing", query_offset(), before=group)


def life() -> Iterator[Case]:
    gone = ask(DELETE, {"topic": "$T"})
    yield row("batch topic: made again", whole(2), before=[*TEN, gone, CREATE], after=[pull()])
    yield row(
        "batch topic: made again with ordinary queues",
        whole(2),
        before=[*TEN, gone, create_topic()],
        after=[pull()],
    )
    yield row(
        "batch topic: in place of an ordinary one",
        whole(2),
        before=[create_topic(), send(b"x"), gone, CREATE],
        after=[pull()],
    )
