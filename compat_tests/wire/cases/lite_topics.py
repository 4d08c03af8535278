"""Lite topics: who reads them, popping, acknowledging, taking over, and questions about them.

Played on brokers with enableLmq=true and enableMultiDispatch=true.
"""

from __future__ import annotations

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
    pull,
    query_offset,
    search_offset,
    send,
)
from compat_tests.wire.case import Case
from compat_tests.wire.frames import Frame
from compat_tests.wire.stage import Stage
from compat_tests.wire.timing import now

# With enableLmq and enableMultiDispatch.
SERVERS: Final = "lmq"
POP_LITE, SUBSCRIBE = 200070, 200071
ACK, CHANGE, GET_MAX_OFFSET, DELETE_TOPIC, DELETE_GROUP = 200051, 200053, 30, 215, 207
PARENT, TOPIC, CLIENT, GROUP, DISPATCH = 200075, 200076, 200077, 200078, 200079
HIDDEN: Final = 60_000
LONG_MAX: Final = 2**63 - 1
LITE: Final = create_topic(attributes="+message.type=LITE,+lite.topic.expiration=60")
QUEUE: Final = "%LMQ%$$T$one"
# How much later than asked a changed time may be told.
SLACK: Final = 3000
ARRIVING: Final = 10


def cases() -> Iterator[Case]:
    yield from popping()
    yield from refusals()
    yield from subscribing()
    yield from acknowledging()
    yield Case("lite: exclusive readers", exclusive)
    yield Case("lite: exclusive readers begin anew", partial(exclusive, anew=True))
    yield Case("lite: the same exclusive reader again", same_reader)
    yield Case("lite: all lite topics of a parent", wildcard)
    yield Case("lite: two groups", two_groups)
    yield Case("lite: two clients of a group", two_clients)
    yield Case("lite: questions", questions)
    yield Case("lite: a parent is deleted", parent_deleted)
    yield Case("lite: pulls and searches", pulls)
    yield Case("lite: several queues for a message", several)


# --- what cases are made of


def lite_queue(name: str = "one") -> str:
    return "%LMQ%$" + "$T$" + name


def group(name: str = "$G", **attributes: str) -> Frame:
    chosen = {"+lite.bind.topic": "$T", **{f"+{key}": value for key, value in attributes.items()}}
    return create_group(name, attributes=chosen)


def message(text: str, name: str = "one") -> Frame:
    held = properties(UNIQ_KEY=f"U-{text}", WAIT="true", __LITE_TOPIC=name)
    return send(text.encode(), properties=held)


def subscribe(action: str | None, *names: str, client: str = "$C", **more: Any) -> Frame:
    entry: dict[str, Any] = {
        "clientId": client,
        "group": "$G",
        "topic": "$T",
        "liteTopicSet": list(names),
        "version": 1,
        **more,
    }
    if action is not None:
        entry["action"] = action
    return ask(SUBSCRIBE, body=body_of({"subscriptionSet": [entry]}))


def pop(client: str = "$C", **fields: object) -> Frame:
    usual: dict[str, object] = {
        "clientId": client,
        "consumerGroup": "$G",
        "topic": "$T",
        "maxMsgNum": 2,
        "invisibleTime": HIDDEN,
        "pollTime": 0,
        "bornTime": now(),
    }
    return ask(POP_LITE, {**usual, **fields})


def ack(popped: Frame, at: int, code: int = ACK, **fields: object) -> Frame:
    ext = popped.ext
    handle = f"0 {ext['popTime']} {ext['invisibleTime']} {ext['reviveQid']} 0 broker-a 0 {at}"
    usual: dict[str, object] = {
        "consumerGroup": "$G",
        "topic": "$T",
        "queueId": 0,
        "extraInfo": handle,
        "offset": at,
        "liteTopic": "one",
    }
    return ask(code, {**usual, **fields})


def show(stage: Stage, what: str, frame: Frame, on: str = "broker") -> Frame:
    reply = stage.ask(frame, on)
    stage.record(what, reading.reply(reply, reading.as_records))
    return reply


def show_change(
    stage: Stage, what: str, popped: Frame, at: int, hidden: int, **fields: object
) -> None:
    """The time that is told is from the pop on: how long the case took so far is masked."""
    # In the pop's own millisecond nothing has passed, and both servers tell a bare 0.
    time.sleep(0.002)
    answer = stage.ask(ack(popped, at, CHANGE, invisibleTime=hidden, **fields))
    seen = reading.reply(answer, reading.as_json)
    told = int(answer.ext.get("invisibleTime", -1))
    if hidden <= told < hidden + SLACK and told:
        seen["ext"]["invisibleTime"] = f"{hidden} and what has passed"
    elif hidden == LONG_MAX and told < 0:
        seen["ext"]["invisibleTime"] = "turned over"
    stage.record(what, seen)


def offset(stage: Stage, what: str, name: str = "one", whose: str = "$G") -> None:
    request = query_offset(topic=lite_queue(name), consumerGroup=whose, setZeroIfNotFound=False)
    stage.show(what, request)


def filled(stage: Stage, *texts: str, name: str = "one", **attributes: str) -> None:
    stage.must(LITE)
    stage.must(group(**attributes))
    sent(stage, *texts, name=name)


def sent(stage: Stage, *texts: str, name: str = "one") -> None:
    """They are in their light queue, which the real broker fills in the background."""
    before = end_of(stage, name)
    for text in texts:
        stage.must(message(text, name))
    deadline = time.monotonic() + ARRIVING
    while end_of(stage, name) < before + len(texts):
        assert time.monotonic() < deadline, "not all messages are in their light queue"
        time.sleep(0.02)


def end_of(stage: Stage, name: str = "one") -> int:
    return int(
        stage.must(ask(GET_MAX_OFFSET, {"topic": lite_queue(name), "queueId": 0})).ext["offset"]
    )


def popped(stage: Stage, *texts: str, **attributes: str) -> Frame:
    """A client has begun to read, and these messages have come then."""
    filled(stage, **attributes)
    stage.must(subscribe("PARTIAL_ADD", "one"))
    sent(stage, *texts)
    return show(stage, "first", pop())


# --- popping


def popping() -> Iterator[Case]:
    yield Case("lite: popped in order", in_order)
    yield Case("lite: popped from two", from_two)
    yield Case("lite: what was there before", there_before)
    yield Case("lite: who waits is woken", waiting)
    yield Case("lite: nothing comes", nothing_comes)
    yield Case("lite: an acknowledgement wakes", woken_by_ack)
    yield Case("lite: opens by time", by_time)
    yield Case("lite: attempts", attempts)
    yield Case("lite: counts", counts)
    yield Case("lite: not subscribed", not_subscribed)
    yield Case("lite: of another client", another_client)


def in_order(stage: Stage) -> None:
    first = popped(stage, "a", "b", "c")
    show(stage, "blocked", pop())
    stage.show("ack of 0", ack(first, 0))
    offset(stage, "offset after 0")
    show(stage, "still blocked", pop())
    stage.show("ack of 1", ack(first, 1))
    offset(stage, "offset after 1")
    second = show(stage, "second", pop())
    stage.show("ack of 2", ack(second, 2))
    show(stage, "no more", pop())
    stage.show("late ack", ack(first, 0))


def from_two(stage: Stage) -> None:
    filled(stage)
    stage.must(subscribe("PARTIAL_ADD", "one", "two"))
    sent(stage, "a")
    sent(stage, "b", name="two")
    sent(stage, "c")
    show(stage, "first", pop(maxMsgNum=8))
    show(stage, "again", pop(maxMsgNum=8))


def there_before(stage: Stage) -> None:
    filled(stage, "a", "b", "c")
    stage.must(subscribe("PARTIAL_ADD", "one"))
    offset(stage, "offset before")
    first = show(stage, "first", pop(maxMsgNum=1))
    offset(stage, "offset")
    stage.show("ack", ack(first, 0))
    show(stage, "second", pop(maxMsgNum=8))


def waiting(stage: Stage) -> None:
    filled(stage)
    stage.must(subscribe("PARTIAL_ADD", "one"))
    link = stage.link()
    asked = link.post(stage.request(pop(pollTime=10_000)))
    time.sleep(0.3)
    stage.record("waits", not link.has_reply(asked, 0.1))
    stage.must(message("a"), "broker-2")
    stage.record("woken", reading.reply(link.reply(asked), reading.as_records))


def nothing_comes(stage: Stage) -> None:
    filled(stage)
    stage.must(subscribe("PARTIAL_ADD", "one"))
    began = time.monotonic()
    show(stage, "at its time", pop(pollTime=1000))
    stage.record("after a second", 0.8 < time.monotonic() - began < 2.5)
    show(stage, "without waiting", pop(pollTime=-1))


def woken_by_ack(stage: Stage) -> None:
    first = popped(stage, "a", "b", "c")
    link = stage.link("broker-2")
    asked = link.post(stage.request(pop(pollTime=10_000)))
    time.sleep(0.2)
    stage.show("ack of 0", ack(first, 0))
    stage.record("waits", not link.has_reply(asked, 0.3))
    stage.show("ack of 1", ack(first, 1))
    stage.record("woken", reading.reply(link.reply(asked), reading.as_records))


def by_time(stage: Stage) -> None:
    filled(stage)
    stage.must(subscribe("PARTIAL_ADD", "one"))
    sent(stage, "a", "b")
    show(stage, "first", pop(invisibleTime=700))
    show(stage, "blocked", pop())
    show(stage, "woken by time", pop(pollTime=10_000))


def attempts(stage: Stage) -> None:
    filled(stage)
    stage.must(subscribe("PARTIAL_ADD", "one"))
    sent(stage, "a", "b")
    show(stage, "first", pop(attemptId="x"))
    sent(stage, "c")
    show(stage, "the same attempt", pop(attemptId="x", maxMsgNum=8))
    sent(stage, "d")
    show(stage, "another", pop(attemptId="y", maxMsgNum=8))


def counts(stage: Stage) -> None:
    filled(stage)
    stage.must(subscribe("PARTIAL_ADD", "one"))
    sent(stage, "a", "b")
    show(stage, "first", pop(invisibleTime=300))
    show(stage, "second", pop(invisibleTime=300, pollTime=10_000))
    third = show(stage, "third", pop(invisibleTime=300, pollTime=10_000, maxMsgNum=1))
    stage.show("ack", ack(third, 0))
    sent(stage, "c")
    show(stage, "with a new one", pop(maxMsgNum=8, pollTime=10_000))


def not_subscribed(stage: Stage) -> None:
    filled(stage, "a")
    show(stage, "nobody has subscribed", pop())
    stage.must(subscribe("PARTIAL_ADD", "two"))
    show(stage, "to another one", pop())


def another_client(stage: Stage) -> None:
    filled(stage)
    stage.must(subscribe("PARTIAL_ADD", "one"))
    sent(stage, "a")
    show(stage, "somebody else", pop("other"))
    show(stage, "the reader", pop())


def refusals() -> Iterator[Case]:
    changes: dict[str, dict[str, object]] = {
        "too late": {"bornTime": now() - 100_000, "pollTime": 1000},
        "33 messages": {"maxMsgNum": 33},
        "no messages": {"maxMsgNum": 0},
        "less than none": {"maxMsgNum": -1},
        "no born time": {"bornTime": None},
        "born at 0": {"bornTime": 0},
        "no client": {"clientId": None},
        "no group": {"consumerGroup": None},
        "no topic": {"topic": None},
        "no number": {"maxMsgNum": None},
        "no invisible time": {"invisibleTime": None},
        "no poll time": {"pollTime": None},
        "a word for a number": {"maxMsgNum": "x"},
        "hidden for ever": {"invisibleTime": LONG_MAX},
        "hidden not at all": {"invisibleTime": 0},
        "hidden until before": {"invisibleTime": -1},
        "another group": {"consumerGroup": "other-$G"},
        "an unknown topic": {"topic": "unknown-$T"},
    }
    for name, fields in changes.items():
        yield Case(f"lite pop: {name}", partial(_refused, fields=fields))
    yield Case("lite pop: a plain topic", partial(_refused, fields={}, topic=create_topic()))
    unreadable = create_topic(attributes="+message.type=LITE", perm=2)
    yield Case("lite pop: an unreadable topic", partial(_refused, fields={}, topic=unreadable))
    yield Case("lite pop: a group of no topic", partial(_refused, fields={}, of=create_group()))
    disabled = create_group(attributes={"+lite.bind.topic": "$T"}, consumeEnable=False)
    yield Case("lite pop: a group that may not", partial(_refused, fields={}, of=disabled))
    yield Case("lite pop: on the fast port", partial(_refused, fields={}, on="fast"))


def _refused(
    stage: Stage,
    fields: dict[str, object],
    topic: Frame = LITE,
    of: Frame | None = None,
    on: str = "broker",
) -> None:
    stage.must(topic)
    stage.must(of or group())
    stage.ask(subscribe("PARTIAL_ADD", "one"))
    stage.must(message("a"))
    # What the broker fills in the background.
    time.sleep(0.5)
    show(stage, "pop", changed(pop(), **fields), on)


# --- subscribing


def subscribing() -> Iterator[Case]:
    bodies: dict[str, bytes] = {
        "no body": b"",
        "no set": b"{}",
        "an empty set": body_of({"subscriptionSet": []}),
        "no JSON": b"{",
        "a list": b"[]",
        "an empty entry": body_of({"subscriptionSet": [{}]}),
    }
    for name, body in bodies.items():
        yield Case(
            f"lite subscription: {name}", partial(_asked, frames=[ask(SUBSCRIBE, body=body)])
        )
    entries = {
        "no action": subscribe(None, "one"),
        "no client": subscribe("PARTIAL_ADD", "one", clientId=None),
        "a blank client": subscribe("PARTIAL_ADD", "one", clientId=" "),
        "no group": subscribe("PARTIAL_ADD", "one", group=None),
        "no topic": subscribe("PARTIAL_ADD", "one", topic=None),
        "no lite topics": subscribe("PARTIAL_ADD", liteTopicSet=None),
        "an empty lite topic": subscribe("PARTIAL_ADD", ""),
        "unknown topic": subscribe("PARTIAL_ADD", "one", topic="unknown-$T"),
        "unknown group": subscribe("PARTIAL_ADD", "one", group="unknown-$G"),
        "removed before": subscribe("PARTIAL_REMOVE", "one"),
        "removed wholly before": subscribe("COMPLETE_REMOVE"),
    }
    for name, frame in entries.items():
        yield Case(f"lite subscription: {name}", partial(_asked, frames=[frame]))
    yield Case(
        "lite subscription: more and less",
        partial(
            _asked,
            frames=[
                subscribe("PARTIAL_ADD", "one"),
                subscribe("PARTIAL_ADD", "two"),
                subscribe("PARTIAL_REMOVE", "one"),
                subscribe("COMPLETE_ADD", "two", "three"),
                subscribe("COMPLETE_ADD"),
                subscribe("COMPLETE_REMOVE"),
            ],
        ),
    )
    options = {
        "last": {"type": "POLICY", "value": 0},
        "first": {"type": "POLICY", "value": 1},
        "max": {"type": "POLICY", "value": 2},
        "an unknown policy": {"type": "POLICY", "value": 3},
        "an offset": {"type": "OFFSET", "value": 1},
        "an offset beyond": {"type": "OFFSET", "value": 77},
        "a negative offset": {"type": "OFFSET", "value": -1},
        "the last one": {"type": "TAIL_N", "value": 1},
        "more than there are": {"type": "TAIL_N", "value": 77},
        "a time": {"type": "TIMESTAMP", "value": 1},
    }
    for name, option in options.items():
        yield Case(f"lite offset: {name}", partial(_begins, option=option))
        yield Case(f"lite offset: {name}, at first", partial(_begins_first, option=option))
    disabled = create_group(attributes={"+lite.bind.topic": "$T"}, consumeEnable=False)
    frames = [subscribe("PARTIAL_ADD", "one"), subscribe("COMPLETE_ADD", "one")]
    yield Case("lite subscription: may not", partial(_asked, frames=frames, of=disabled))
    wild = group(**{"lite.sub.wildcard": "true"})
    yield Case("lite subscription: some of all", partial(_asked, frames=frames[:1], of=wild))
    yield Case("lite subscription: begins anew when left", left)


def _asked(stage: Stage, frames: list[Frame], of: Frame | None = None) -> None:
    stage.must(LITE)
    stage.must(of or group())
    for number, frame in enumerate(frames):
        stage.show(f"answer {number}", frame)
        client(stage, f"client after {number}")


def told_in(seen: dict[str, Any]) -> dict[str, Any]:
    """The JSON object of an answer; an empty one if it has none."""
    body = seen.get("body")
    found: dict[str, Any] = body.get("value", {}) if isinstance(body, dict) else {}
    return found


def client(stage: Stage, what: str, name: str = "$C") -> None:
    """What is known of a client; when it last came is anybody's guess."""
    request = ask(CLIENT, {"parentTopic": "$T", "group": "$G", "clientId": name})
    seen = reading.reply(stage.ask(request), reading.as_json)
    told = told_in(seen)
    told.pop("lastAccessTime", None)
    told.get("liteTopicSet", []).sort()
    stage.record(what, seen)


def _begins(stage: Stage, option: dict[str, object]) -> None:
    first = popped(stage, "a", "b", "c", "d")
    stage.show("ack of 0", ack(first, 0))
    stage.show("ack of 1", ack(first, 1))
    stage.must(subscribe("PARTIAL_REMOVE", "one"))
    stage.show("again", subscribe("PARTIAL_ADD", "one", offsetOption=option))
    offset(stage, "offset")
    show(stage, "from there", pop(maxMsgNum=1))
    offset(stage, "offset of the group")


def _begins_first(stage: Stage, option: dict[str, object]) -> None:
    filled(stage, "a", "b", "c")
    stage.show("begin", subscribe("PARTIAL_ADD", "one", offsetOption=option))
    offset(stage, "offset")
    show(stage, "from there", pop(maxMsgNum=1))
    offset(stage, "offset of the group")


def left(stage: Stage) -> None:
    first = popped(stage, "a", "b", **{"lite.sub.reset.offset.unsubscribe": "true"})
    stage.show("ack of 0", ack(first, 0))
    stage.must(subscribe("PARTIAL_REMOVE", "one"))
    offset(stage, "offset")
    stage.must(subscribe("PARTIAL_ADD", "one"))
    show(stage, "from the beginning", pop())


# --- acknowledging


def acknowledging() -> Iterator[Case]:
    changes: dict[str, dict[str, object]] = {
        "another group": {"consumerGroup": "other-$G"},
        "another lite topic": {"liteTopic": "two"},
        "a blank lite topic": {"liteTopic": " "},
        "another queue": {"queueId": 1},
        "a queue beyond": {"queueId": 99},
        "an unknown topic": {"topic": "unknown-$T"},
        "no handle": {"extraInfo": "x"},
        "a revive queue": {"extraInfo": "0 1700000000000 60000 3 0 broker-a 0 0"},
        "another time": {"extraInfo": "0 1700000000000 60000 999 0 broker-a 0 0"},
        "the end": {"offset": 3},
        "beyond the end": {"offset": 4},
        "before the beginning": {"offset": -1},
        "not popped": {"offset": 2},
        "no offset": {"offset": None},
    }
    for name, fields in changes.items():
        yield Case(f"lite ack: {name}", partial(_acked, fields=fields))
        yield Case(f"lite change: {name}", partial(_changed, fields=fields))
    for what, hidden in {"not at all": 0, "before": -1, "for ever": LONG_MAX}.items():
        yield Case(f"lite change: hidden {what}", partial(_hidden, hidden=hidden))
    yield Case("lite change: one of two", partial(_hidden, hidden=500))
    yield Case("lite change: suspended", partial(_hidden, hidden=500, suspend=True))
    yield Case("lite change: suspended after a try", suspended)
    yield Case("lite ack: nothing known", nothing_known)


def _acked(stage: Stage, fields: dict[str, object]) -> None:
    first = popped(stage, "a", "b", "c")
    stage.show("ack", changed(ack(first, 0), **fields))
    offset(stage, "offset")


def _changed(stage: Stage, fields: dict[str, object]) -> None:
    first = popped(stage, "a", "b", "c")
    answer = stage.ask(changed(ack(first, 0, CHANGE, invisibleTime=HIDDEN), **fields))
    seen = reading.reply(answer, reading.as_json)
    told = int(answer.ext.get("invisibleTime", 0))
    if told >= HIDDEN:
        seen["ext"]["invisibleTime"] = "what has passed, too"
    stage.record("change", seen)
    offset(stage, "offset")


def _hidden(stage: Stage, hidden: int, suspend: bool = False) -> None:
    first = popped(stage, "a", "b")
    stage.show("ack of 0", ack(first, 0))
    show_change(stage, "change", first, 1, hidden, suspend=suspend)
    show(stage, "then", pop(pollTime=3000))
    offset(stage, "offset")


def suspended(stage: Stage) -> None:
    filled(stage)
    stage.must(subscribe("PARTIAL_ADD", "one"))
    sent(stage, "a", "b")
    show(stage, "first", pop(invisibleTime=300))
    second = show(stage, "second", pop(pollTime=10_000))
    show_change(stage, "suspension", second, 0, 300, suspend=True)
    show(stage, "third", pop(pollTime=10_000))


def nothing_known(stage: Stage) -> None:
    """Acknowledged before anything was popped: as after a restart."""
    filled(stage, "a", "b", "c")
    there = Frame(0, ext={"popTime": str(now()), "invisibleTime": "60000", "reviveQid": "999"})
    stage.must(subscribe("PARTIAL_ADD", "one"))
    stage.show("ack of 0", ack(there, 0))
    offset(stage, "offset")


# --- several readers


def told(stage: Stage, what: str, on: str) -> None:
    pushed = [reading.pushed(one, reading.as_json) for one in stage.link(on).drain_pushed(0.5)]
    stage.record(what, pushed)


def exclusive(stage: Stage, anew: bool = False) -> None:
    more = {"lite.sub.reset.offset.exclusive": "true"} if anew else {}
    filled(stage, **{"lite.sub.model": "Exclusive", **more})
    stage.must(subscribe("PARTIAL_ADD", "one", client="first-$C"))
    sent(stage, "a", "b", "c")
    first = show(stage, "first", pop("first-$C"))
    stage.show("ack of 0", ack(first, 0))
    stage.show("ack of 1", ack(first, 1))
    stage.must(subscribe("PARTIAL_ADD", "one", client="second-$C"), "broker-2")
    told(stage, "the first is told", "broker")
    told(stage, "the second is not", "broker-2")
    client(stage, "first client", "first-$C")
    client(stage, "second client", "second-$C")
    show(stage, "the first again", pop("first-$C"))
    show(stage, "the second", pop("second-$C"), "broker-2")


def same_reader(stage: Stage) -> None:
    filled(stage, **{"lite.sub.model": "Exclusive"})
    stage.must(subscribe("PARTIAL_ADD", "one"))
    stage.must(subscribe("PARTIAL_ADD", "one"))
    told(stage, "is told", "broker")
    client(stage, "client")
    sent(stage, "a")
    show(stage, "pop", pop())


def wildcard(stage: Stage) -> None:
    filled(stage, **{"lite.sub.wildcard": "true"})
    stage.show("all", subscribe("COMPLETE_ADD"))
    client(stage, "client")
    sent(stage, "a")
    sent(stage, "b", name="two")
    show(stage, "both", pop())
    _questions(stage)


def two_groups(stage: Stage) -> None:
    filled(stage)
    stage.must(group("other-$G"))
    stage.must(subscribe("PARTIAL_ADD", "one"))
    stage.must(subscribe("PARTIAL_ADD", "one", client="other-$C", group="other-$G"))
    sent(stage, "a")
    show(stage, "first", pop())
    show(stage, "second", pop("other-$C", consumerGroup="other-$G"))


def two_clients(stage: Stage) -> None:
    """One of them gets the message."""
    filled(stage)
    for name in ("first-$C", "second-$C"):
        stage.must(subscribe("PARTIAL_ADD", "one", client=name))
    sent(stage, "a")
    answers = [stage.ask(pop(name)) for name in ("first-$C", "second-$C")]
    stage.record("codes", sorted(answer.code for answer in answers))


# --- questions and life


def _questions(stage: Stage) -> None:
    asked = {
        "topic": ask(TOPIC, {"parentTopic": "$T", "liteTopic": "one"}),
        "group": ask(GROUP, {"group": "$G", "topK": 5}),
        "group in a topic": ask(GROUP, {"group": "$G", "topK": 5, "liteTopic": "one"}),
        "dispatch": ask(DISPATCH, {"group": "$G"}),
        "dispatch to a client": ask(DISPATCH, {"group": "$G", "clientId": "$C"}),
    }
    for name, frame in asked.items():
        seen = reading.reply(stage.ask(frame), reading.as_json)
        told = told_in(seen)
        # Those with as many come in any order.
        told.get("lagCountTopK", []).sort(key=lambda one: str(one["liteTopic"]))
        stage.record(name, seen)
    seen = reading.reply(stage.ask(ask(PARENT, {"topic": "$T"})), reading.as_json)
    # That of other cases, too.
    told_in(seen).pop("lmqNum", None)
    stage.record("parent", seen)


def questions(stage: Stage) -> None:
    first = popped(stage, "a", "b", "c")
    _questions(stage)
    stage.show("ack of 0", ack(first, 0))
    _questions(stage)


def parent_deleted(stage: Stage) -> None:
    popped(stage, "a", "b")
    stage.show("deleted", ask(DELETE_TOPIC, {"topic": "$T"}))
    stage.record("end", end_of(stage))
    offset(stage, "offset")
    stage.must(LITE)
    client(stage, "client")
    show(stage, "pop", pop())


def pulls(stage: Stage) -> None:
    filled(stage, "a", "b")
    sent(stage, "c", name="two")
    show(stage, "a pull", pull(liteTopic="one"))
    show(stage, "a pull of the queue", pull(topic=lite_queue()))
    show(stage, "a pull of another", pull(liteTopic="two"))
    show(stage, "a pull of none", pull(liteTopic="three"))
    for moment in (0, LONG_MAX):
        stage.show(f"search at {moment}", search_offset(moment, liteTopic="one"))
        stage.show(
            f"search in queue 1 at {moment}", search_offset(moment, liteTopic="one", queueId=1)
        )


def several(stage: Stage) -> None:
    """The queue of the lite topic replaces those that a client asks for."""
    filled(stage)
    held = properties(
        UNIQ_KEY="U", WAIT="true", INNER_MULTI_DISPATCH="%LMQ%x-$T,%LMQ%y-$T", __LITE_TOPIC="one"
    )
    stage.show("sent", send(b"a", properties=held))
    time.sleep(0.5)
    show(stage, "lite", pull(liteTopic="one"))
    show(stage, "asked for", pull(topic="%LMQ%x-$T"))
