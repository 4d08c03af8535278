"""Orderly POP: what blocks a queue, for whom and until when, and what acknowledgements are answered."""

from __future__ import annotations

import base64
import time
from collections.abc import Iterator
from functools import partial
from typing import Any, Final

from compat_tests.wire import reading
from compat_tests.wire.asks import (
    ask,
    body_of,
    changed,
    create_group,
    create_topic,
    properties,
    query_offset,
    send,
)
from compat_tests.wire.case import Case
from compat_tests.wire.frames import Frame
from compat_tests.wire.stage import Stage
from compat_tests.wire.timing import now

POP, ACK, CHANGE, BATCH_ACK, RESET, DELETE_TOPIC = 200050, 200051, 200053, 200151, 222, 215
GET_MAX_OFFSET: Final = 30
LONG_MAX: Final = 2**63 - 1
COMMITTING: Final = 1.5
# Longer than a case takes.
HIDDEN: Final = 60_000
# How much later than asked a changed time may be told.
SLACK: Final = 3000


def cases() -> Iterator[Case]:
    yield Case("orderly: opens by time", by_time)
    yield Case("orderly: who waits is woken", waiting)
    yield Case("orderly: who waits is woken sooner", waiting_for_less)
    yield Case("orderly: first batch", first_batch)
    yield Case("orderly: attempts", attempts)
    yield Case("orderly: acknowledged", acknowledged)
    yield Case("orderly: acknowledged in a batch", acknowledged_in_a_batch)
    yield Case("orderly: time changed", time_changed)
    yield Case("orderly: one of two visible at once", visible_at_once)
    yield Case("orderly: queues", queues)
    yield Case("orderly: tags", tags)
    yield Case("orderly: retry topics are left out", retries)
    yield Case("orderly: reset", reset)
    yield Case("orderly: consumed counts", counts)
    yield Case("orderly: counts of many", partial(counts, size=14))
    for what, handle in {
        "no number": "0 x 2 999 0 broker-a 0 0",
    }.items():
        yield Case(f"orderly: handle with {what}", partial(bad_handle, handle=handle))
    for what, hidden in {
        "not at all": 0,
        "before": -1,
        "for ever": LONG_MAX,
        "a day": 86_400_000,
    }.items():
        yield Case(f"orderly: hidden {what}", partial(hidden_for, hidden=hidden))
    yield Case("orderly: nothing known of the queue", nothing_known)
    yield Case("orderly: nothing known, further on", further_on)


def pop(attempt: str | None = None, **fields: object) -> Frame:
    usual: dict[str, object] = {
        "consumerGroup": "$G",
        "topic": "$T",
        "queueId": 0,
        "maxMsgNums": 2,
        "invisibleTime": HIDDEN,
        "pollTime": 0,
        "bornTime": now(),
        "initMode": 0,
        "expType": "TAG",
        "exp": "*",
        "order": True,
        "attemptId": attempt,
    }
    return ask(POP, {**usual, **fields})


def filled(stage: Stage, count: int = 6, queues: int = 1) -> None:
    stage.must(create_topic(queues=queues))
    stage.must(create_group())
    for number in range(count):
        text = properties(UNIQ_KEY=f"U{number}", TAGS="AB"[number % 2], WAIT="true")
        stage.must(send(b"m%d" % number, properties=text, queueId=number % queues))
    # The real broker's queues are filled in the background.
    deadline = time.monotonic() + 10
    while sum(_end(stage, queue) for queue in range(queues)) < count:
        assert time.monotonic() < deadline, "not all messages are in their queues"
        time.sleep(0.02)


def _end(stage: Stage, queue: int) -> int:
    return int(stage.must(ask(GET_MAX_OFFSET, {"topic": "$T", "queueId": queue})).ext["offset"])


def show(stage: Stage, what: str, frame: Frame) -> Frame:
    """Record a pop; its time is masked as every wall-clock time is, its records are told apart by their bodies."""
    reply = stage.ask(frame)
    seen = reading.reply(reply, reading.as_records)
    if frame.ext["order"] == "false":
        # They take turns, and every case pops.
        seen["ext"]["reviveQid"] = f"one of 8: {seen['ext']['reviveQid'] in '01234567'}"
    stage.record(what, seen)
    return reply


def offset(stage: Stage, what: str = "offset") -> None:
    stage.show(what, query_offset(setZeroIfNotFound=False))


def handle_of(reply: Frame, at: int, queue: int = 0) -> str:
    """As clients make it from the answer."""
    ext = reply.ext
    start = ext["startOffsetInfo"].split(";")[0].split(" ")[2]
    return f"{start} {ext['popTime']} {ext['invisibleTime']} {ext['reviveQid']} 0 broker-a {queue} {at}"


def ack(handle: str, at: int, queue: int = 0) -> Frame:
    ext = {"consumerGroup": "$G", "topic": "$T", "queueId": queue, "extraInfo": handle}
    return ask(ACK, {**ext, "offset": at})


def acked(stage: Stage, reply: Frame, *offsets: int) -> None:
    for at in offsets:
        stage.show(f"ack of {at}", ack(handle_of(reply, at), at))
        offset(stage, f"offset after {at}")


def change(handle: str, at: int, hidden: int) -> Frame:
    ext = {"consumerGroup": "$G", "topic": "$T", "queueId": 0, "extraInfo": handle}
    return ask(CHANGE, {**ext, "offset": at, "invisibleTime": hidden})


def show_change(stage: Stage, what: str, reply: Frame, at: int, hidden: int) -> None:
    """The time that is told is from the pop on: how long the case took so far is masked."""
    # In the pop's own millisecond nothing has passed, and both servers tell a bare 0.
    time.sleep(0.002)
    answer = stage.ask(change(handle_of(reply, at), at, hidden))
    seen = reading.reply(answer, reading.as_json)
    told = int(answer.ext.get("invisibleTime", -1))
    if hidden <= told < hidden + SLACK and told:
        seen["ext"]["invisibleTime"] = f"{hidden} and what has passed"
    same = answer.ext.get("popTime") == reply.ext["popTime"]
    stage.record(what, [seen, "the pop's time" if same else "another time"])


def entry(reply: Frame, *offsets: int, **more: object) -> dict[str, object]:
    """Of a batch ack."""
    start = int(reply.ext["startOffsetInfo"].split(" ")[2])
    bits = sum(1 << at - start for at in offsets)
    text = base64.b64encode(bits.to_bytes((bits.bit_length() + 7) // 8, "little")).decode()
    usual: dict[str, object] = {
        "c": "$G",
        "t": "$T",
        "r": "0",
        "so": start,
        "q": 0,
        "rq": 999,
        "pt": int(reply.ext["popTime"]),
        "it": HIDDEN,
        "b": text,
    }
    return {**usual, **more}


def batch_ack(*entries: dict[str, object]) -> Frame:
    return ask(BATCH_ACK, body=body_of({"brokerName": "broker-a", "acks": list(entries)}))


# --- blocks


def first_batch(stage: Stage) -> None:
    filled(stage)
    show(stage, "first", pop())
    offset(stage)
    show(stage, "blocked", pop())
    show(stage, "in no order", pop(order=False))
    show(stage, "of another group", pop(consumerGroup="other-$G"))


def attempts(stage: Stage) -> None:
    filled(stage)
    first = show(stage, "first", pop("a"))
    show(stage, "another", pop("b"))
    show(stage, "none", pop())
    show(stage, "an empty one", pop(""))
    time.sleep(0.01)
    second = show(stage, "the same, more", pop("a", maxMsgNums=4))
    acked(stage, first, 0, 1)
    acked(stage, second, 1, 0)
    show(stage, "the same again", pop("a"))
    show(stage, "another again", pop("b"))


def by_time(stage: Stage) -> None:
    filled(stage)
    first = show(stage, "first", pop("a", invisibleTime=1000))
    show(stage, "blocked", pop("b", invisibleTime=1000))
    time.sleep(1.1)
    # Its time is up and nobody has popped again: it counts.
    stage.show("late ack", ack(handle_of(first, 0), 0))
    offset(stage)
    show(stage, "open", pop("b"))
    stage.show("ack of the first", ack(handle_of(first, 1), 1))
    offset(stage, "offset after it")


def waiting(stage: Stage) -> None:
    filled(stage)
    show(stage, "first", pop("a", invisibleTime=1500))
    begun = now()
    reply = show(stage, "waits", pop("b", pollTime=10_000, bornTime=begun))
    stage.record("soon", now() - begun < 6000)
    stage.show("ack", ack(handle_of(reply, 0), 0))


def waiting_for_less(stage: Stage) -> None:
    """The message that was to be visible last is acknowledged: the block opens with the one before it."""
    filled(stage, 4)
    first = show(stage, "first", pop("a", maxMsgNums=3, invisibleTime=9000))
    acked(stage, first, 0)
    show_change(stage, "change", first, 1, 1500)
    acked(stage, first, 2)
    begun = now()
    show(stage, "waits", pop("b", maxMsgNums=9, pollTime=30_000, bornTime=begun))
    stage.record("before the pop's time", now() - begun < 6000)


def hidden_for(stage: Stage, hidden: int) -> None:
    filled(stage)
    first = show(stage, "first", pop(invisibleTime=hidden))
    time.sleep(0.01)
    show(stage, "again", pop(invisibleTime=hidden))
    stage.show("ack", ack(handle_of(first, 0), 0))
    offset(stage)


def queues(stage: Stage) -> None:
    filled(stage, 6, queues=2)
    show(stage, "one", pop(queueId=1))
    reply = show(stage, "all", pop(queueId=-1, maxMsgNums=9))
    stage.show("ack", ack(handle_of(reply, 1), 1))
    show(stage, "all again", pop(queueId=-1, maxMsgNums=9))
    offset(stage)


def tags(stage: Stage) -> None:
    filled(stage)
    first = show(stage, "of a tag", pop(exp="B"))
    acked(stage, first, 0, 1, 2, 3)
    second = show(stage, "the rest of it", pop(exp="B", maxMsgNums=9))
    acked(stage, second, 5)
    show(stage, "nothing", pop(exp="B"))


def retries(stage: Stage) -> None:
    filled(stage, 1)
    stage.must(create_topic("%RETRY%$G_$T", queues=1))
    stage.must(send(b"again", topic="%RETRY%$G_$T"))
    for number in range(4):
        show(stage, f"pop {number}", pop("a", queueId=-1))


def reset(stage: Stage) -> None:
    filled(stage)
    first = show(stage, "first", pop())
    ext = {
        "topic": "$T",
        "group": "$G",
        "queueId": 0,
        "offset": 4,
        "timestamp": -1,
        "isForce": True,
    }
    stage.show("reset", ask(RESET, ext), reading.as_json)
    acked(stage, first, 0)
    show(stage, "from there", pop())
    offset(stage)


# --- acknowledgements


def acknowledged(stage: Stage) -> None:
    filled(stage)
    first = show(stage, "first", pop(maxMsgNums=3))
    acked(stage, first, 1, 4, 0, 2, 2, 0)
    for at in (6, 7, -1):
        stage.show(f"out of the queue, {at}", ack(handle_of(first, at), at))
    second = show(stage, "second", pop())
    acked(stage, first, 3)
    acked(stage, second, 2, 3)
    stage.show("another queue", ack(handle_of(second, 4), 4, queue=3))
    stage.show("another topic", changed(ack(handle_of(second, 4), 4), topic="no-$T"))
    show(stage, "third", pop())


def acknowledged_in_a_batch(stage: Stage) -> None:
    filled(stage, 12)
    first = show(stage, "first", pop(maxMsgNums=3))
    stage.show("some", batch_ack(entry(first, 0, 2)))
    offset(stage, "offset 1")
    stage.show("too many", batch_ack(entry(first, 1, 5), entry(first, 0)))
    offset(stage, "offset 2")
    second = show(stage, "second", pop())
    stage.show("beyond, then well", batch_ack(entry(second, 9), entry(second, 3)))
    offset(stage, "offset 3")
    stage.show("late and out of the queue", batch_ack(entry(first, 0, 1, 40)))
    stage.show("unknown kind", batch_ack(entry(second, 3, r="7")))
    stage.show("of another time", batch_ack(entry(first, 3, 4)))
    stage.show("the rest", batch_ack(entry(second, 4)))
    offset(stage, "offset 4")


def time_changed(stage: Stage) -> None:
    filled(stage)
    first = show(stage, "first", pop())
    show_change(stage, "longer", first, 0, 90_000)
    show(stage, "blocked", pop("b"))
    acked(stage, first, 1)
    show_change(stage, "at once", first, 0, 0)
    second = show(stage, "open", pop())
    show_change(stage, "of the batch before", first, 0, 70_000)
    acked(stage, second, 0)
    show_change(stage, "late", second, 0, 70_000)
    show_change(stage, "not of the batch", second, 3, 70_000)
    show_change(stage, "at the end of the queue", second, 6, 70_000)
    show_change(stage, "of the second", second, 1, 0)
    show(stage, "open again", pop())


def visible_at_once(stage: Stage) -> None:
    filled(stage)
    first = show(stage, "first", pop())
    show_change(stage, "the second", first, 1, 0)
    show(stage, "blocked", pop())
    show_change(stage, "the first", first, 0, 0)
    # Not in the same millisecond.
    time.sleep(0.02)
    show(stage, "open", pop(maxMsgNums=3))


def counts(stage: Stage, size: int = 3) -> None:
    filled(stage, 20)
    hidden: dict[str, Any] = {"invisibleTime": 1, "maxMsgNums": size}
    first = None
    for number, attempt in enumerate(["a", "a", "b", "b", None, None, "c"]):
        first = show(stage, f"pop {number}", pop(attempt, **hidden))
        time.sleep(0.02)
    assert first is not None
    acked(stage, first, 0)
    show(stage, "more", pop("d", **hidden))
    time.sleep(0.02)
    show(stage, "other sizes", pop("e", **{**hidden, "maxMsgNums": size + 4}))


def bad_handle(stage: Stage, handle: str) -> None:
    filled(stage)
    stage.show("ack", ack(handle, 0))
    stage.show("change", change(handle, 0, 1000))
    offset(stage)


# --- without a block


def nothing_known(stage: Stage) -> None:
    """A broker that was killed may have lost the block; the offset is that of the next message."""
    filled(stage)
    handle = f"0 {now()} {HIDDEN} 999 0 broker-a 0 0"
    show(stage, "pop of the group", pop(order=False, exp="nobody"))
    # The real broker moves it in the background.
    time.sleep(COMMITTING)
    offset(stage)
    late = f"0 {now()} {HIDDEN} 999 0 broker-a 0 5"
    stage.show("late", ack(late, 5))
    stage.show("next", ack(handle, 6))
    offset(stage, "offset after")


def further_on(stage: Stage) -> None:
    """Deliberately another answer: see docs/differences.py."""
    filled(stage)
    stage.must(ask(15, {"consumerGroup": "$G", "topic": "$T", "queueId": 0, "commitOffset": 0}))
    stage.show("the third", ack(f"0 {now()} {HIDDEN} 999 0 broker-a 0 2", 2))
    offset(stage, "offset after")
