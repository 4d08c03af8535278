"""POP: what is handed out, acknowledged, hidden longer, refused, and what comes again."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from typing import Any, Final

from compat_tests.wire import reading
from compat_tests.wire.asks import (
    ask,
    changed,
    create_group,
    create_topic,
    properties,
    pull,
    query_offset,
    send,
)
from compat_tests.wire.case import Case, row
from compat_tests.wire.frames import Frame
from compat_tests.wire.popped import (
    BATCH_ACK,
    HANDLES,
    POLLING_INFO,
    RETRY,
    REVIVE_TOPIC,
    ROLLBACK,
    WHEEL_TOPIC,
    ack,
    answer,
    batch_ack,
    change,
    ends,
    entry,
    handle_of,
    notes,
    pop,
    popped_again,
    show,
)
from compat_tests.wire.stage import Stage
from compat_tests.wire.timing import changed_settings

LONG_MAX: Final = 2**63 - 1
ONE: Final = create_topic(queues=1)
SHORT: Final = 1000
COMMITTING: Final = 1.5


def cases() -> Iterator[Case]:
    # The slow ones first.
    yield from again()
    yield from written()
    yield from waiting()
    yield from refusals()
    yield from found()
    yield from acknowledging()
    yield from settings()


def tagged(number: int, tag: str) -> Frame:
    return send(
        b"m%d" % number, properties=properties(UNIQ_KEY=f"U{number}", TAGS=tag, a=str(number))
    )


def filled(stage: Stage, count: int = 3, **fields: object) -> None:
    stage.must(ONE)
    for number in range(count):
        stage.must(changed(tagged(number, "AB"[number % 2]), **fields))


# --- refusals


def refusals() -> Iterator[Case]:
    late = {"bornTime": 1}
    wide = {"maxMsgNums": 33}
    order: dict[str, tuple[list[Frame], dict[str, object]]] = {
        "too late, and too many": ([], late | wide),
        "too many of an unknown topic": ([], wide),
        "an unknown topic": ([], {}),
        "a queue beyond the topic's": ([ONE], {"queueId": 1}),
        "the largest queue": ([ONE], {"queueId": 2**31 - 1}),
        "a topic that is not read": ([create_topic(perm=2)], {"queueId": 99}),
        "a group that is off": ([ONE, create_group(consumeEnable=False)], {"exp": "a ||| >"}),
        "tags that cannot be read": ([ONE], {"exp": "||"}),
        "SQL92 that cannot be read": ([ONE], {"expType": "SQL92", "exp": "a >"}),
        "a kind of filter that nobody knows": ([ONE], {"expType": "XYZ", "exp": "a"}),
    }
    for what, (before, fields) in order.items():
        yield row(f"pop: refused, {what}", pop(**fields), before=before)
        if not fields.keys() & {"maxMsgNums", "exp", "bornTime"}:
            info = ask(POLLING_INFO, {"consumerGroup": "$G", "topic": "$T", "queueId": 0, **fields})
            yield row(f"pop: waiting asked of {what}", info, before=before)
    for name in ("consumerGroup", "topic", "queueId", "maxMsgNums", "invisibleTime", "pollTime"):
        yield plain(f"pop: without {name}", changed(pop(), **{name: None}))
        yield plain(f"pop: {name} is x", changed(pop(), **{name: "x"}))
    for name in ("bornTime", "initMode", "expType", "exp", "order"):
        yield Case(f"pop: left out, {name}", partial(shown, frame=changed(pop(), **{name: None})))
    yield row("pop: roll back", ask(ROLLBACK))
    yield row("pop: no fast port", pop(), before=[ONE], on="fast")
    yield row("pop: ack, no fields", ask(200051))
    yield row("pop: batch ack without a body", ask(BATCH_ACK))
    yield row("pop: batch ack of nothing", batch_ack())
    yield row("pop: batch ack of null", ask(BATCH_ACK, body=b'{"brokerName":"broker-a"}'))
    yield row("pop: batch ack that is no JSON", ask(BATCH_ACK, body=b"x"))


def shown(stage: Stage, frame: Frame, effect: bool = True) -> None:
    filled(stage)
    show(stage, "reply", frame)
    if effect:
        show_offset(stage)


def show_offset(stage: Stage, **fields: object) -> None:
    """The real broker commits what was popped in the background."""
    time.sleep(COMMITTING)
    stage.show("offset", query_offset(setZeroIfNotFound=False, **fields))


# --- what is found


def found() -> Iterator[Case]:
    given: dict[str, dict[str, object]] = {
        "all": {},
        "one queue": {"queueId": 0},
        "two": {"maxMsgNums": 2},
        "none asked for": {"maxMsgNums": 0},
        "fewer than none": {"maxMsgNums": -1},
        "32": {"maxMsgNums": 32},
        "from the end": {"initMode": 1},
        "another mode": {"initMode": 7},
        "a tag": {"exp": "B"},
        "tags": {"exp": "A || B"},
        "a tag nobody has": {"exp": "Nobody"},
        "an empty expression": {"exp": ""},
        "SQL92": {"expType": "SQL92", "exp": "a >= 1"},
        "SQL92 that nobody matches": {"expType": "SQL92", "exp": "a > 100"},
        "a queue far below": {"queueId": -5},
        "visible at once": {"invisibleTime": 0},
        "visible before": {"invisibleTime": -1},
        "hidden for ever": {"invisibleTime": LONG_MAX},
        "hidden longer than timers wait": {"invisibleTime": 300_000_000},
        "hidden as long as timers wait": {"invisibleTime": 259_200_000},
        "born in the future": {"bornTime": LONG_MAX},
        "waiting for less than nothing": {"pollTime": -1},
        "waiting for ever": {"pollTime": LONG_MAX},
        "the lowest queue": {"queueId": -(2**31)},
        "the highest mode": {"initMode": 2**31 - 1},
    }
    for what, fields in given.items():
        # What becomes visible at once comes again before the offset is asked.
        yield Case(f"pop: found, {what}", partial(shown, frame=pop(**fields)))
    yield Case("pop: one after the other", onward)
    yield Case("pop: nothing there", nothing_there)
    yield Case("pop: several queues", several_queues)
    yield Case("pop: beyond the end", beyond_the_end)


def onward(stage: Stage) -> None:
    filled(stage, 5)
    for number in range(4):
        show(stage, f"two, time {number}", pop(maxMsgNums=2))
    show(stage, "another group", pop(consumerGroup="Other-$G"))
    show_offset(stage)


def nothing_there(stage: Stage) -> None:
    stage.must(ONE)
    show(stage, "no wait", pop())
    show_offset(stage)


def several_queues(stage: Stage) -> None:
    """Where it begins is drawn: what is found in the end is not."""
    stage.must(create_topic())
    for queue in range(4):
        stage.must(send(b"q%d" % queue, queueId=queue))
    reply = stage.must(pop())
    stage.record("rest", reply.ext["restNum"])
    stage.record("asked for", sorted(reply.ext["startOffsetInfo"].split(";")))
    stage.record("found", sorted(reply.ext["msgOffsetInfo"].split(";")))
    show(stage, "no more", pop())


def beyond_the_end(stage: Stage) -> None:
    filled(stage)
    stage.must(create_group())
    stage.must(ask(15, {"consumerGroup": "$G", "topic": "$T", "queueId": 0, "commitOffset": 9}))
    show(stage, "reply", pop())
    show_offset(stage)


# --- waiting


def waiting() -> Iterator[Case]:
    yield Case("pop: held until its time is up", timed_out)
    yield Case("pop: held until a message comes", partial(woken, frame=pop(pollTime=15_000)))
    one = pop(pollTime=15_000, queueId=0)
    yield Case("pop: held for one queue", partial(woken, frame=one))
    yield Case("pop: held for a tag", partial(woken, frame=pop(pollTime=15_000, exp="B")))
    sql = pop(pollTime=15_000, expType="SQL92", exp="a = 1")
    yield Case("pop: held for SQL92", partial(woken, frame=sql))


def timed_out(stage: Stage) -> None:
    stage.must(ONE)
    for millis in (1, 40, 500):
        show(stage, f"{millis} ms", pop(pollTime=millis))


def woken(stage: Stage, frame: Frame) -> None:
    stage.must(ONE)
    link = stage.link()
    opaque = link.post(stage.request(frame))
    stage.record("answered before", link.has_reply(opaque, 0.3))
    queue = int(frame.ext["queueId"])
    info = ask(POLLING_INFO, {"consumerGroup": "$G", "topic": "$T", "queueId": queue})
    stage.show("waiting", info, on="broker-2")
    stage.must(tagged(1, "B"), "broker-2")
    stage.record("answer", answer(link.reply(opaque)))
    stage.show("nobody waits", info, on="broker-2")


# --- acknowledging


def acknowledging() -> Iterator[Case]:
    for what, make in {"ack": ack, "change": change}.items():
        yield Case(f"pop: {what}, an unknown topic", partial(rowed, before=[], frame=make("x")))
        for queue in (-1, 1, 2**31 - 1):
            yield row(f"pop: {what} of queue {queue}", make("x", queueId=queue), before=[ONE])
        for offset in (-1, 0, 1, 2, LONG_MAX):
            good = "0 1700000000000 60000 3 0 broker-a 0 0"
            yield row(f"pop: {what}, offset {offset}", make("x", offset), before=[ONE])
            there = [ONE, send()]
            name = f"pop: {what} of one message, offset {offset}"
            yield Case(name, partial(rowed, before=there, frame=make(good, offset)))
        for name, handle in HANDLES.items():
            case = f"pop: {what}, {name}"
            yield Case(case, partial(rowed, before=[ONE, send()], frame=make(handle)))
        for name in make("x").ext:
            case = f"pop: {what} without {name}"
            yield plain(case, changed(make(HANDLES["from another group"]), **{name: None}))
    for millis in (0, -1, 300_000_000, LONG_MAX):
        case = f"pop: hidden again for {millis}"
        yield Case(case, partial(hidden_again, millis=millis))
    wrong: dict[str, dict[str, object]] = {
        "an unknown topic": {"t": "X-$T"},
        "no topic": {"t": None},
        "no group": {"c": None},
        "bits that are none": {"b": "AA=="},
        "bits beyond the end": {"b": "AAAAAP8="},
        "no bits": {"b": None},
        "bits that are no base64": {"b": "$$"},
        "another kind of topic": {"r": "7"},
        "no kind of topic": {"r": None},
        "no such revive queue": {"rq": 77},
        "a revive queue below 0": {"rq": -1},
        "an unknown queue": {"q": 5},
        "hidden for ever": {"it": LONG_MAX},
    }
    yield Case("pop: batch ack", partial(in_batch, more={}))
    for what, more in wrong.items():
        yield Case(f"pop: batch ack, {what}", partial(in_batch, more=more))


def plain(name: str, frame: Frame) -> Case:
    return Case(name, partial(rowed, before=[ONE, send()], frame=frame))


def rowed(stage: Stage, before: list[Frame], frame: Frame) -> None:
    for one in before:
        stage.must(one)
    show(stage, "reply", frame)


def hidden_again(stage: Stage, millis: int) -> None:
    filled(stage)
    popped = stage.must(pop())
    show(stage, "reply", change(handle_of(popped), invisibleTime=millis))


def in_batch(stage: Stage, more: dict[str, object]) -> None:
    filled(stage)
    popped = stage.must(pop())
    stage.show("reply", batch_ack(entry(popped, 0, 2, **more)))


# --- what is written down


def written() -> Iterator[Case]:
    yield Case("pop: its records", its_records)
    yield Case("pop: records of a batch ack and of a change", other_records)


def its_records(stage: Stage) -> None:
    since = ends(stage)
    filled(stage)
    popped = stage.must(pop(invisibleTime=3000, exp="A"))
    stage.show("ack", ack(handle_of(popped, 2), 2))
    stage.record("on the wheel", notes(stage, since, WHEEL_TOPIC, 2))
    stage.record("off the wheel", notes(stage, since, REVIVE_TOPIC, 2))


def other_records(stage: Stage) -> None:
    since = ends(stage)
    filled(stage)
    popped = stage.must(pop(invisibleTime=3000))
    stage.show("batch ack", batch_ack(entry(popped, 0, 2)))
    show(stage, "change", change(handle_of(popped, 1), 1, invisibleTime=4000))
    stage.record("on the wheel", notes(stage, since, WHEEL_TOPIC, 4))
    stage.record("off the wheel", notes(stage, since, REVIVE_TOPIC, 4))


# --- what comes again


def again() -> Iterator[Case]:
    def comes(stage: Stage, sent: Frame, **fields: object) -> None:
        stage.must(ONE)
        stage.must(sent)
        popped = stage.must(pop(invisibleTime=SHORT))
        if fields:
            show(stage, "changed", change(handle_of(popped), invisibleTime=SHORT, **fields))
        replies = popped_again(stage, pop(invisibleTime=SHORT))
        stage.record("again", [answer(reply) for reply in replies])
        stage.show("in the retry topic", pull(topic=RETRY), reading.as_records)
        replies = popped_again(stage, pop(invisibleTime=MINUTE_LONG))
        stage.record("and again", [answer(reply) for reply in replies])
        last = replies[0]
        fields_ = {"topic": "$T", "queueId": 0}
        stage.show("acknowledged", ack(retry_handle(last), 1, **(fields_ | {"topic": RETRY})))
        show_offset(stage, topic=RETRY)

    yield Case("pop: comes again", partial(comes, sent=tagged(0, "A")))
    many = {
        "KEYS": "k1 k2",
        "TAGS": "A",
        "zz": "1",
        "a": "2",
        "Ä": "ö",
        "INSTANCE_ID": "i",
        "WAIT": "false",
    }
    rich: dict[str, Any] = {"flag": 7, "sysFlag": 1, "reconsumeTimes": 3}
    full = send(b"x" * 300, properties=properties(UNIQ_KEY="U1", **many), **rich)
    yield Case("pop: comes again with all that it has", partial(comes, sent=full))
    yield Case("pop: comes again, suspended", partial(comes, sent=tagged(0, "A"), suspend=True))
    yield Case("pop: comes again, changed", partial(comes, sent=tagged(0, "A"), suspend=False))
    yield Case("pop: half of it comes again", half_of_it)


MINUTE_LONG: Final = 60_000


def retry_handle(popped: Frame) -> str:
    return handle_of(popped, int(popped.ext["msgOffsetInfo"].split(" ")[2].split(",")[0]))


def half_of_it(stage: Stage) -> None:
    filled(stage, 4)
    popped = stage.must(pop(invisibleTime=SHORT))
    stage.show("one", ack(handle_of(popped, 1), 1))
    stage.show("another", batch_ack(entry(popped, 3)))
    replies = popped_again(stage, pop(), 2)
    stage.record("bodies", [one["body"] for r in replies for one in reading.as_records(r.body)])
    show(stage, "no more", pop())


# --- what changes settings for everybody


def settings() -> Iterator[Case]:
    def under(name: str, text: str, back: str) -> Case:
        def play(stage: Stage) -> None:
            filled(stage)
            with changed_settings(stage, text, back):
                show(stage, "reply", pop())

        return Case(f"pop: {name}", play, alone=True)

    yield under("broker that is not read", "brokerPermission=2", "brokerPermission=6")
    auto = "autoCreateSubscriptionGroup"
    yield under("unknown group", f"{auto}=false", f"{auto}=true")
    actual = "popResponseReturnActualRetryTopic"
    yield under("actual retry topic", f"{actual}=true", f"{actual}=false")
