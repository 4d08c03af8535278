"""PULL_MESSAGE and LITE_PULL_MESSAGE: statuses, offsets, filters, sizes, refusals."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from compat_tests.wire.asks import (
    PULL_CLASS_FILTER,
    PULL_COMMIT,
    PULL_LITE,
    PULL_SUBSCRIPTION,
    PULL_SUSPEND,
    ask,
    changed,
    consumer,
    create_group,
    create_topic,
    heartbeat,
    properties,
    pull,
    query_offset,
    send,
    subscription,
)
from compat_tests.wire.case import Case, in_binary, row
from compat_tests.wire.frames import Frame
from compat_tests.wire.reading import as_records
from compat_tests.wire.records import read_records

FIELDS: Final = [
    "consumerGroup",
    "topic",
    "queueId",
    "queueOffset",
    "maxMsgNums",
    "sysFlag",
    "commitOffset",
    "suspendTimeoutMillis",
    "subscription",
    "subVersion",
    "expressionType",
]
NUMBERS: Final = [
    "queueId",
    "queueOffset",
    "maxMsgNums",
    "sysFlag",
    "commitOffset",
    "suspendTimeoutMillis",
    "subVersion",
]


def tagged(tag: str, number: int) -> Frame:
    return send(f"{tag}{number}".encode(), properties=properties(UNIQ_KEY=f"U{number}", TAGS=tag))


FIVE: Final = [create_topic(), *(tagged(tag, n) for n, tag in enumerate("ABACB"))]


def brief(body: bytes) -> list[str]:
    """Which messages a pull found."""
    return [f"{record.queue_offset}:{record.body[:20].decode()}" for record in read_records(body)]


def cases() -> Iterator[Case]:
    yield from plain()
    yield from offsets()
    yield from counts()
    yield from fields()
    yield from refusals()
    yield from subscriptions()
    yield from tags()
    yield from committing()
    yield from sizes()
    yield from lite()


def plain() -> Iterator[Case]:
    yield row("pull: everything", pull(), before=FIVE, reader=as_records)
    yield in_binary("pull: everything", pull(), before=FIVE, reader=as_records)
    yield row("pull: on the fast port", pull(), before=FIVE[1:2], on="fast")
    for version in (0, 62, 317, 400, 475):
        request = pull()
        request.version = version
        yield row(f"pull: from a client of version {version}", request, before=FIVE, reader=brief)


def offsets() -> Iterator[Case]:
    for offset in (-2, -1, 1, 4, 5, 6, 100, 1 << 40):
        request = pull(queueOffset=offset)
        yield row(f"pull: offset {offset} of 5", request, before=FIVE, reader=brief)
    for offset in (-1, 0, 1, 7):
        request = pull(queueOffset=offset)
        yield row(
            f"pull: offset {offset} of a queue without messages",
            request,
            before=[create_topic()],
            reader=brief,
        )
        other = pull(queueOffset=offset, queueId=1)
        name = f"pull: offset {offset} of the queue beside one with messages"
        yield row(name, other, before=FIVE, reader=brief)


def counts() -> Iterator[Case]:
    for number in (-1, 0, 1, 2, 5, 33, 2147483647):
        request = pull(maxMsgNums=number)
        yield row(f"pull: at most {number}", request, before=FIVE, reader=brief)


def fields() -> Iterator[Case]:
    for name in FIELDS:
        request = changed(pull(), **{name: None})
        yield row(f"pull: without {name}", request, before=FIVE, reader=brief)
    for name in NUMBERS:
        request = changed(pull(), **{name: "many"})
        yield row(f"pull: {name} is no number", request, before=FIVE, reader=brief)
    yield row("pull: no fields at all", ask(11))
    request = changed(pull(), maxMsgBytes=1)
    yield row("pull: at most 1 byte", request, before=FIVE, reader=brief)
    for source in (-2, -1, 0, 2, 9, "x"):
        request = changed(pull(), requestSource=source)
        yield row(f"pull: requestSource {source}", request, before=FIVE, reader=brief)


def refusals() -> Iterator[Case]:
    yield row("pull: unknown topic", pull())
    for queue in (-1, 4, 99):
        yield row(f"pull: queue {queue} of 4", pull(queueId=queue), before=FIVE)
    uneven = create_topic(readQueueNums=2, writeQueueNums=6)
    yield row("pull: queue above the read number", pull(queueId=3), before=[uneven])
    for perm in (0, 2, 4):
        setting = [create_topic(perm=perm)]
        yield row(f"pull: topic with permission {perm}", pull(), before=setting)
    groups = {
        "empty": "",
        "with a dot": "a.b",
        "of 120 letters": "g" * 112 + "$RUN",
        "of 121 letters": "g" * 113 + "$RUN",
        "of the tools": "TOOLS_CONSUMER",
        "of the system": "CID_RMQ_SYS_$RUN",
    }
    for what, group in groups.items():
        request = pull(consumerGroup=group)
        yield row(f"pull: group {what}", request, before=FIVE, reader=brief)
    closed = [*FIVE, create_group(consumeEnable=False)]
    yield row("pull: group that may not consume", pull(), before=closed)
    for system in ("SCHEDULE_TOPIC_XXXX", "TBW102", "SELF_TEST_TOPIC"):
        request = pull(topic=system, queueOffset=1 << 40)
        yield row(f"pull: from {system}", changed(request, queueId=99))
    flagged = [*FIVE, create_group(groupSysFlag=3)]
    yield row("pull: the group's flags", pull(), before=flagged, reader=brief)
    slow = [*FIVE, create_group(brokerId=7, whichBrokerWhenConsumeSlowly=3)]
    yield row("pull: the group's broker", pull(), before=slow, reader=brief)
    unit = [create_topic(topicSysFlag=3), *FIVE[1:]]
    yield row("pull: the topic's flags", pull(), before=unit, reader=brief)


def subscriptions() -> Iterator[Case]:
    bare = pull(sysFlag=0, subVersion=5)
    yield row("pull: group never seen", bare, before=FIVE)
    other = heartbeat(consumer("$G", subscription("Other")))
    yield row("pull: topic not subscribed", bare, before=[*FIVE, other])
    none = heartbeat(consumer("$G"))
    yield row("pull: nothing subscribed", bare, before=[*FIVE, none])
    for version in (4, 5, 6):
        beat = heartbeat(consumer("$G", subscription(version=version)))
        name = f"pull: version 5 of a subscription known as {version}"
        yield row(name, bare, before=[*FIVE, beat], reader=brief)
    tag_a = heartbeat(consumer("$G", subscription(expression="A", version=5)))
    yield row("pull: the subscription of the heartbeat", bare, before=[*FIVE, tag_a], reader=brief)
    request = pull(subscription="B", subVersion=9)
    yield row("pull: the subscription it carries", request, before=[*FIVE, tag_a], reader=brief)
    broadcast = heartbeat(consumer("$G", subscription(version=5), messageModel="BROADCASTING"))
    narrow = create_group(consumeBroadcastEnable=False)
    yield row("pull: broadcasting, not allowed", bare, before=[*FIVE, narrow, broadcast])
    yield row("pull: broadcasting, allowed", bare, before=[*FIVE, broadcast], reader=brief)
    yield from languages()


def languages() -> Iterator[Case]:
    """Expression types: what a broker makes of SQL and of what it cannot parse."""
    bare = pull(sysFlag=0, subVersion=5)
    wrong = subscription(expression="a >", version=5, expressionType="SQL92", tagsSet=[])
    beat = heartbeat(consumer("$G", wrong))
    yield row("pull: SQL in the heartbeat that nobody can parse", bare, before=[*FIVE, beat])
    for expression in ("a >", "", "a IS NOT NULL"):
        request = pull(subscription=expression, expressionType="SQL92")
        yield row(f"pull: SQL expression {expression!r}", request, before=FIVE, reader=brief)
    request = pull(subscription="A", expressionType="ELVISH")
    yield row("pull: unknown expression type", request, before=FIVE, reader=brief)
    request = pull(subscription="A", expressionType="tag")
    yield row("pull: expression type in small letters", request, before=FIVE, reader=brief)
    request = pull(subscription="A", expressionType="")
    yield row("pull: empty expression type", request, before=FIVE, reader=brief)
    request = pull(sysFlag=PULL_SUBSCRIPTION | PULL_CLASS_FILTER)
    yield row("pull: class filter", request, before=FIVE, reader=brief)


def tags() -> Iterator[Case]:
    for expression in ("A", "A || B", "A||B", " A ||  B ", "C", "D", "*", "", "||", "A || A", "a"):
        request = pull(subscription=expression)
        yield row(f"pull: tags {expression!r}", request, before=FIVE, reader=brief)
    request = pull(subscription="A", queueOffset=3)
    yield row("pull: nothing matches from here on", request, before=FIVE, reader=brief)
    request = pull(subscription="A", maxMsgNums=1)
    yield row("pull: one match at most", request, before=FIVE, reader=brief)
    collide = [create_topic(), tagged("Aa", 0), tagged("BB", 1), tagged("C", 2)]
    request = pull(subscription="Aa")
    yield row("pull: tags of one hash code", request, before=collide, reader=brief)
    without = [create_topic(), send(b"no tag"), tagged("A", 1)]
    yield row("pull: a message without a tag", pull(subscription="A"), before=without, reader=brief)
    wide = [create_topic(), *(tagged("A", n) for n in range(10)), tagged("B", 10)]
    request = pull(subscription="B", maxMsgNums=3)
    yield row("pull: the match lies beyond the scan", request, before=wide, reader=brief)


def committing() -> Iterator[Case]:
    flags = {"with": PULL_COMMIT, "with, and suspended": PULL_COMMIT | PULL_SUSPEND, "without": 0}
    for what, flag in flags.items():
        for offset in (-1, 0, 2, 99):
            request = pull(sysFlag=PULL_SUBSCRIPTION | flag, commitOffset=offset)
            name = f"pull: commits {offset} {what} the flag"
            ask_back = query_offset(setZeroIfNotFound=False)
            yield row(name, request, before=FIVE, after=[ask_back], reader=brief)


def sizes() -> Iterator[Case]:
    small = [create_topic(), *(send(b"%d" % n) for n in range(40))]
    yield row("pull: 40 small ones", pull(maxMsgNums=100), before=small, reader=brief)
    large = [create_topic(), *(send(b"%d" % n + b"x" * (100 << 10)) for n in range(4))]
    yield row("pull: 100 KiB each", pull(), before=large, reader=brief)
    half = [create_topic(), *(send(b"%d" % n + b"x" * (128 << 10)) for n in range(4))]
    yield row("pull: 128 KiB each", pull(), before=half, reader=brief)
    huge = [create_topic(), *(send(b"%d" % n + b"x" * (300 << 10)) for n in range(2))]
    yield row("pull: 300 KiB each", pull(), before=huge, reader=brief)


def lite() -> Iterator[Case]:
    yield row("lite pull: everything", pull(code=361), before=FIVE, reader=as_records)
    request = pull(code=361, sysFlag=PULL_SUBSCRIPTION | PULL_LITE)
    yield row("lite pull: with its flag", request, before=FIVE, reader=brief)
    yield in_binary("lite pull: with its flag", request, before=FIVE, reader=brief)
    yield row("lite pull: unknown topic", pull(code=361))
    yield row("lite pull: at the end", pull(code=361, queueOffset=5), before=FIVE)
    yield row("lite pull: beyond the end", pull(code=361, queueOffset=6), before=FIVE)
    yield row("lite pull: on the fast port", pull(code=361), before=FIVE[1:2], on="fast")
