"""Questions about what could be popped, and by whom: PEEK, NOTIFICATION, QUERY_ASSIGNMENT."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any, Final

from compat_tests.wire import popped, reading
from compat_tests.wire.asks import (
    ask,
    consumer,
    create_group,
    create_topic,
    heartbeat,
    properties,
    send,
)
from compat_tests.wire.case import Case, row
from compat_tests.wire.frames import Frame
from compat_tests.wire.stage import Stage
from compat_tests.wire.timing import now

PEEK, NOTIFICATION, ASSIGNMENT, SET_MODE = 200052, 200054, 400, 401
LONG_MAX: Final = 2**63 - 1
TOPIC: Final = create_topic(queues=1)


def cases() -> Iterator[Case]:
    yield from peeks()
    yield from notifications()
    yield from assignments()
    yield Case("pop: topic of priorities", priorities)


def priorities(stage: Stage) -> None:
    """Its queues are read from the highest number down; in all of a hundred pops by default."""
    filled(stage, count=4, queues=4, attributes="+message.type=PRIORITY")
    for _ in range(4):
        stage.record("next", popped.answer(stage.ask(popped.pop(maxMsgNums=1, queueId=-1))))


def peek(**fields: object) -> Frame:
    usual = {"topic": "$T", "queueId": 0, "maxMsgNums": 32, "consumerGroup": "$G"}
    return ask(PEEK, {**usual, **fields})


def notification(**fields: object) -> Frame:
    usual: dict[str, object] = {
        "consumerGroup": "$G",
        "topic": "$T",
        "queueId": 0,
        "pollTime": 0,
        "bornTime": now(),
    }
    return ask(NOTIFICATION, {**usual, **fields})


def filled(stage: Stage, count: int = 3, queues: int = 1, **fields: object) -> None:
    stage.must(create_topic(queues=queues, **fields))
    for number in range(count):
        text = properties(UNIQ_KEY=f"U{number}", TAGS="AB"[number % 2], WAIT="true")
        stage.must(send(b"m%d" % number, properties=text, queueId=number % queues))
    deadline = time.monotonic() + 10
    for queue in range(queues):
        least = len(range(queue, count, queues))
        while int(stage.must(ask(30, {"topic": "$T", "queueId": queue})).ext["offset"]) < least:
            assert time.monotonic() < deadline, "not all messages are in their queues"
            time.sleep(0.02)


# --- peeks


def peeks() -> Iterator[Case]:
    yield row("peek: unknown topic", peek())
    yield row("peek: topic that may not be read", peek(), before=[create_topic(perm=2)])
    yield row("peek: queue out of range", peek(queueId=1), before=[TOPIC])
    yield row("peek: nothing there", peek(), before=[TOPIC])
    yield row("peek: on the fast port", peek(), before=[TOPIC], on="fast")
    forbidden = create_group(consumeEnable=False)
    yield row("peek: group that may not consume", peek(), before=[TOPIC, forbidden])
    for field in ("topic", "consumerGroup"):
        yield row(f"peek: without {field}", peek(**{field: None}))
    for name, fields in {
        "all": {},
        "two": {"maxMsgNums": 2},
        "none": {"maxMsgNums": 0},
        "every queue": {"queueId": -1},
    }.items():
        yield Case(f"peek: {name}", lambda stage, fields=fields: peeked(stage, **fields))


def peeked(stage: Stage, **fields: object) -> None:
    filled(stage)
    stage.show("first", peek(**fields), reading.as_records)
    stage.show("again", peek(**fields), reading.as_records)


# --- notifications


def notifications() -> Iterator[Case]:
    yield row("notification: unknown topic", notification())
    yield row(
        "notification: topic that may not be read", notification(), before=[create_topic(perm=2)]
    )
    yield row("notification: queue out of range", notification(queueId=1), before=[TOPIC])
    yield row("notification: nothing there", notification(), before=[TOPIC])
    yield row("notification: on the fast port", notification(), before=[TOPIC], on="fast")
    forbidden = create_group(consumeEnable=False)
    yield row("notification: group that may not consume", notification(), before=[TOPIC, forbidden])
    for field in ("topic", "consumerGroup"):
        yield row(f"notification: without {field}", notification(**{field: None}))
    for name, fields in {
        "there is one": {},
        "of any queue": {"queueId": -1},
        "of a tag": {"expType": "TAG", "exp": "B"},
        "of no tag": {"expType": "TAG", "exp": "C"},
        "of all tags": {"expType": "TAG", "exp": "*"},
        "a tag without its type": {"exp": "C"},
        "SQL92": {"expType": "SQL92", "exp": "a = 1"},
        "SQL92 that nobody can read": {"expType": "SQL92", "exp": "a ="},
        "tags that nobody can read": {"expType": "TAG", "exp": "||"},
        "in order": {"order": True},
        "born long ago": {"bornTime": 1, "pollTime": 1000},
        "poll time below 0": {"pollTime": -1},
        "poll time beyond a long": {"pollTime": LONG_MAX},
    }.items():
        yield Case(f"notification: {name}", lambda stage, fields=fields: notified(stage, **fields))
    yield Case("notification: one comes", one_comes)
    yield Case("notification: the time is up", time_is_up)


def notified(stage: Stage, **fields: object) -> None:
    filled(stage)
    stage.show("reply", notification(**fields))


def one_comes(stage: Stage) -> None:
    stage.must(TOPIC)
    waiting = stage.link().post(stage.request(notification(pollTime=10_000)))
    time.sleep(0.3)
    stage.must(send(b"x"), "broker-2")
    stage.record("reply", reading.reply(stage.link().reply(waiting), reading.as_json))


def time_is_up(stage: Stage) -> None:
    stage.must(TOPIC)
    began = time.monotonic()
    stage.show("reply", notification(pollTime=1000))
    stage.record("in time", 0.7 < time.monotonic() - began < 1.5)


# --- assignments


def assignment(**values: object) -> Frame:
    usual = {
        "topic": "$T",
        "consumerGroup": "$G",
        "clientId": "$C",
        "strategyName": "AVG",
        "messageModel": "CLUSTERING",
    }
    body = {key: value for key, value in {**usual, **values}.items() if value is not None}
    return ask(ASSIGNMENT, body=json.dumps(body).encode())


def set_mode(mode: str, share: int) -> Frame:
    body = {"topic": "$T", "consumerGroup": "$G", "mode": mode, "popShareQueueNum": share}
    return ask(SET_MODE, body=json.dumps(body).encode())


def sorted_out(body: bytes) -> Any:
    """It is a set there."""
    seen = reading.as_json(body)
    value = seen["value"]
    if isinstance(value, dict) and "messageQueueAssignments" in value:
        value["messageQueueAssignments"].sort(key=json.dumps)
    return seen


def assignments() -> Iterator[Case]:
    member = heartbeat(consumer())
    known: dict[str, Any] = {
        "before": [create_topic(), create_group(), member],
        "reader": sorted_out,
        "pause": 1.0,
    }
    yield row("assignment: alone in the group", assignment(), **known)
    yield row("assignment: by circle", assignment(strategyName="AVG_BY_CIRCLE"), **known)
    yield row("assignment: unknown strategy", assignment(strategyName="CONFIG"), **known)
    yield row("assignment: no strategy", assignment(strategyName=None), **known)
    yield row("assignment: broadcasting", assignment(messageModel="BROADCASTING"), **known)
    yield row("assignment: not in the group", assignment(clientId="nobody"), **known)
    yield row("assignment: no client", assignment(clientId=""), **known)
    yield row("assignment: unknown topic", assignment(topic="$T-unknown"), **known)
    yield row("assignment: on the fast port", assignment(), **known, on="fast")
    yield row("assignment: nobody in the group", assignment(consumerGroup="$G-empty"), **known)
    yield row("assignment: retry topic", assignment(topic="%RETRY%$G"), **known)
    yield row("assignment: light queue", assignment(topic="%LMQ%x"), **known)
    for share in (-1, 0, 1, 3):
        before = [*known["before"], set_mode("POP", share)]
        yield row(
            f"assignment: to pop, {share} shared", assignment(), **{**known, "before": before}
        )
