"""Kinds of messages in topics of every type: the broker looks at a topic's type when the topic is made, and at no send.

What checks a message against its topic is RocketMQ's proxy.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from compat_tests.wire import reading
from compat_tests.wire.asks import (
    PULL_SUBSCRIPTION,
    PULL_SUSPEND,
    ask,
    body_of,
    changed,
    create_topic,
    properties,
    pull,
    send,
    send_v2,
)
from compat_tests.wire.case import Case, row
from compat_tests.wire.frames import Frame
from compat_tests.wire.stage import Stage

TYPES: Final = (
    *("none", "UNSPECIFIED", "NORMAL", "FIFO"),
    *("DELAY", "TRANSACTION", "PRIORITY", "LITE"),
)
# Of each kind what marks it; those of other topics' queues are not among them.
KINDS: Final = {
    "a plain message": {},
    "an ordered message": {"__SHARDINGKEY": "s"},
    "a message with a priority": {"_SYS_MSG_PRIORITY_": "1"},
    "a message of a lite topic": {"__LITE_TOPIC": "lite"},
}
# Stored in queues that all share first.
LATER: Final = {"a delayed message": {"DELAY": "1"}}
HALF: Final = {"TRAN_MSG": "true", "PGROUP": "$P"}
SHOW: Final = ask(351, {"topic": "$T"})
HELD: Final = pull(sysFlag=PULL_SUBSCRIPTION | PULL_SUSPEND, suspendTimeoutMillis=10_000)


def cases() -> Iterator[Case]:
    for kind in TYPES:
        yield into(kind)
        yield in_time(kind)
    yield from mixed()
    yield from reserve_time()


def typed(kind: str, **fields: object) -> Frame:
    attributes = "" if kind == "none" else f"+message.type={kind}"
    return create_topic(attributes=attributes, **fields)


def into(kind: str) -> Case:
    """One message of each kind, and what is stored of it."""

    def play(stage: Stage) -> None:
        stage.must(typed(kind))
        stage.show("topic", SHOW)
        for what, marks in KINDS.items():
            for build in (send, send_v2):
                message = build(properties=properties(UNIQ_KEY="U1", **marks))
                stage.show(f"{what}, code {message.code}", message)
        for queue in (0, 1):
            stage.show(f"stored in queue {queue}", pull(queueId=queue), reading.as_records)

    return Case(f"kinds: into a topic of type {kind}", play)


def in_time(kind: str) -> Case:
    def play(stage: Stage) -> None:
        stage.must(typed(kind))
        for what, marks in LATER.items():
            stage.show_shared(what, send(properties=properties(UNIQ_KEY="U1", **marks)))
            stage.show("delivered", HELD, reading.as_records)
        half = stage.fill(properties(UNIQ_KEY="U1", **HALF))
        stage.show_shared("a half message", send(properties=half))

    return Case(f"kinds: later into a topic of type {kind}", play)


def mixed() -> Iterator[Case]:
    """Refused when a topic is made or changed; an ordinary topic takes every kind anyway."""
    yield row("kinds: MIXED topic", typed("MIXED"), after=[SHOW])
    yield row("kinds: NORMAL becomes MIXED", typed("MIXED"), before=[typed("NORMAL")], after=[SHOW])
    yield row("kinds: NORMAL becomes FIFO", typed("FIFO"), before=[typed("NORMAL")], after=[SHOW])
    config = {
        "topicName": "$T",
        "attributes": {"+message.type": "MIXED"},
        "order": False,
        "perm": 6,
        "readQueueNums": 4,
        "topicFilterType": "SINGLE_TAG",
        "topicSysFlag": 0,
        "writeQueueNums": 4,
    }
    many = ask(18, body=body_of({"topicConfigList": [config]}))
    yield row("kinds: MIXED in a list of topics", many, after=[SHOW])


def reserve_time() -> Iterator[Case]:
    """Kept and shown, and read by nothing: messages stay as long as all others."""
    kept = [SHOW, send(), pull()]
    for value in ("-1", "0", "1", "3600000", "-2", "soon"):
        request = create_topic(attributes=f"+reserve.time={value}")
        yield row(f"kinds: reserve.time {value}", request, after=kept)
    there = [create_topic(attributes="+reserve.time=1"), send()]
    longer = create_topic(attributes="+reserve.time=2")
    yield row("kinds: another reserve.time", longer, before=there, after=[SHOW, pull()])
    without = create_topic(attributes="-reserve.time")
    yield row("kinds: no reserve.time any more", without, before=there, after=[SHOW, pull()])
    added = [create_topic(), send()]
    yield row("kinds: reserve.time later", longer, before=added, after=[SHOW, pull()])
    plain = changed(create_topic(), attributes="reserve.time=1")
    yield row("kinds: reserve.time without a sign", plain, after=[SHOW])
