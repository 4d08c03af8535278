"""Where groups stand, moving them, and what operators ask about queues and topics."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from compat_tests.wire.asks import (
    ask,
    commit_offset,
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
from compat_tests.wire.cases.topics import picked
from compat_tests.wire.frames import Frame
from compat_tests.wire.reading import as_json, as_records
from compat_tests.wire.stage import Stage

RESET, SPAN, CORRECTION, CLONE, QUEUE = 222, 303, 308, 314, 321
WHO, TOPICS, SUBSCRIPTION, BACKLOG, BAN = 300, 343, 345, 317, 353
KNOWN: Final = [create_topic(), create_group(), send(b"0"), send(b"1"), send(b"2")]
ONLINE: Final = heartbeat(consumer("$G", subscription()))
LOCAL_TIME: Final = re.compile(r"\d{4}-\d\d-\d\d#\d\d:\d\d:\d\d:\d{3}")
SHORT: Final = 60_000


def cases() -> Iterator[Case]:
    yield from resets()
    yield reset_and_pull()
    yield from clones()
    yield from spans()
    yield from corrections()
    yield from consume_queues()
    yield from who_reads_what()
    yield from bans()
    yield backlog()


def reset(**fields: object) -> Frame:
    usual: dict[str, object] = {"group": "$G", "topic": "$T", "timestamp": 0, "isForce": True}
    return ask(RESET, {**usual, **fields})


def resets() -> Iterator[Case]:
    kinds: dict[str, dict[str, object]] = {
        "to the end": {"timestamp": -1},
        "to the beginning": {},
        "to the far future": {"timestamp": 4_000_000_000_000},
        "of one queue": {"queueId": 0, "timestamp": -1},
        "of a queue that is not there": {"queueId": 99},
        "to an offset": {"queueId": 0, "offset": 1},
        "to the offset behind the end": {"queueId": 0, "offset": 3},
        "to one further": {"queueId": 0, "offset": 4},
        "to two further": {"queueId": 0, "offset": 5},
        "to offset -1": {"queueId": 0, "offset": -1, "timestamp": -1},
        "to offset -2": {"queueId": 0, "offset": -2},
        "to an offset in every queue": {"offset": 1, "timestamp": -1},
        "not forced": {"isForce": False},
        "without a time": {"timestamp": None},
        "without force": {"isForce": None},
        "without a topic": {"topic": None},
        "without a group": {"group": None},
        "of an unknown topic": {"topic": "other-$T"},
        "of an unknown group": {"group": "other-$G"},
    }
    effect = {"before": [*KNOWN, commit_offset(2)], "after": [query_offset()]}
    for what, fields in kinds.items():
        yield row(f"reset: {what}", reset(**fields), **effect)  # type: ignore[arg-type]
    yield in_binary("reset: to the end", reset(timestamp=-1), **effect)
    yield row("reset: on the fast port", reset(timestamp=-1), on="fast", before=KNOWN)


def reset_and_pull() -> Case:
    def play(stage: Stage) -> None:
        for frame in [*KNOWN, commit_offset(3)]:
            stage.must(frame)
        stage.show("reset", reset(queueId=0, offset=1))
        stage.show("asked for", query_offset())
        stage.show("a commit of the old position", commit_offset(3))
        stage.show("still there", query_offset())
        stage.show("the next pull", pull(queueOffset=3), as_records)
        stage.show("taken", query_offset())
        stage.show("from there", pull(queueOffset=1), as_records)
        stage.show("a commit counts again", commit_offset(3))
        stage.show("committed", query_offset())

    return Case("reset: and the pulls after it", play)


def clones() -> Iterator[Case]:
    def clone(**fields: object) -> Frame:
        return ask(CLONE, {"srcGroup": "$G", "destGroup": "to-$G", "topic": "$T", **fields})

    there = [*KNOWN, commit_offset(2)]
    copied = [query_offset(consumerGroup="to-$G", setZeroIfNotFound=False)]
    other = heartbeat(consumer("$G", subscription("other-$T")))
    yield row("clone: offsets", clone(), before=there, after=copied)
    yield row("clone: of every topic", clone(topic=None), before=there, after=copied)
    yield row("clone: of a blank topic", clone(topic=""), before=there, after=copied)
    yield row("clone: of an unknown topic", clone(topic="no-$T"), before=there, after=copied)
    yield row("clone: of an unknown group", clone(srcGroup="no-$G"), before=there, after=copied)
    yield row("clone: without a target", clone(destGroup=None), before=there, after=copied)
    yield row("clone: not subscribed", clone(), before=[*there, other], after=copied)
    yield row(
        "clone: not subscribed, offline", clone(offline=True), before=[*there, other], after=copied
    )
    yield row("clone: subscribed", clone(), before=[*there, ONLINE], after=copied)


def without_times(body: bytes) -> Any:
    """Times as text and short spans differ in any two runs."""
    seen = as_json(body)
    for span in seen["value"]["consumeTimeSpanSet"]:
        for key, value in span.items():
            if isinstance(value, str):
                span[key] = LOCAL_TIME.sub("<local time>", value)
        if 0 < span["delayTime"] < SHORT:
            span["delayTime"] = "<short>"
    return seen


def spans() -> Iterator[Case]:
    request = ask(SPAN, {"topic": "$T", "group": "$G"})
    settings: dict[str, list[Frame]] = {
        "of an empty topic": [create_topic()],
        "of an unknown topic": [],
        "without offsets": KNOWN,
        "in the middle": [*KNOWN, commit_offset(2)],
        "at the beginning": [*KNOWN, commit_offset(0)],
        "at the end": [*KNOWN, commit_offset(3)],
        "beyond the end": [*KNOWN, commit_offset(30)],
    }
    for what, setting in settings.items():
        # A delay of 0 ms says that nothing is left to read: a fast server must not show it by chance.
        yield row(f"time span: {what}", request, before=setting, reader=without_times, pause=0.02)
    yield row("time span: no fields", ask(SPAN))


def corrections() -> Iterator[Case]:
    def correct(**fields: object) -> Frame:
        return ask(CORRECTION, {"compareGroup": "$G", "topic": "$T", **fields})

    two = [*KNOWN, commit_offset(2), create_group("b-$G"), commit_offset(1, consumerGroup="b-$G")]
    yield row("correction: the lower group", correct(compareGroup="b-$G"), before=two)
    yield row("correction: the higher group", correct(), before=two)
    yield row("correction: an unknown group", correct(compareGroup="no-$G"), before=two)
    yield row("correction: an unknown topic", correct(topic="no-$T"), before=two)
    yield row("correction: no fields", ask(CORRECTION))


def consume_queues() -> Iterator[Case]:
    def entries(**fields: object) -> Frame:
        return ask(QUEUE, {"topic": "$T", "queueId": 0, "index": 0, "count": 10, **fields})

    tagged = [create_topic(), send(properties=properties(UNIQ_KEY="U1", TAGS="A")), send(b"two")]
    kinds: dict[str, dict[str, object]] = {
        "all": {},
        "one": {"count": 1},
        "from the second on": {"index": 1},
        "none": {"count": 0},
        "a negative number": {"count": -1},
        "behind the end": {"index": 2},
        "before the beginning": {"index": -1},
        "with a group that is not there": {"consumerGroup": "$G"},
        "of a queue that is not there": {"queueId": 99},
        "of an unknown topic": {"topic": "no-$T"},
        "without a topic": {"topic": None},
    }
    for what, fields in kinds.items():
        request = entries(**fields)
        yield row(f"queue entries: {what}", request, before=tagged, reader=as_entries)
    yield row(
        "queue entries: with a group",
        entries(consumerGroup="$G"),
        before=[*tagged, ONLINE],
        reader=as_entries,
    )


def as_entries(body: bytes) -> Any:
    """A message's place depends on all other traffic."""
    seen = as_json(body)
    for entry in seen["value"]["queueData"]:
        entry["physicOffset"] = f"position {entry['physicOffset']}"
    return seen


def who_reads_what() -> Iterator[Case]:
    both = [create_group("b-$G"), commit_offset(1, consumerGroup="b-$G")]
    readers = [*KNOWN, commit_offset(1), *both, ONLINE]
    yield row("who reads: a topic", ask(WHO, {"topic": "$T"}), before=readers)
    yield row("who reads: an unknown topic", ask(WHO, {"topic": "no-$T"}))
    yield row("who reads: no fields", ask(WHO))
    yield row("who reads: only online", ask(WHO, {"topic": "$T"}), before=[create_topic(), ONLINE])
    yield row("topics of a group: some", ask(TOPICS, {"group": "$G"}), before=readers)
    yield row("topics of a group: unknown", ask(TOPICS, {"group": "no-$G"}))
    yield row("topics of a group: no fields", ask(TOPICS))
    of_topic = ask(SUBSCRIPTION, {"group": "$G", "topic": "$T"})
    yield row("subscription of a group: online", of_topic, before=readers)
    yield row("subscription of a group: not online", of_topic)
    other = ask(SUBSCRIPTION, {"group": "$G", "topic": "no-$T"})
    yield row("subscription of a group: another topic", other, before=readers)
    yield row("subscription of a group: no fields", ask(SUBSCRIPTION))


def bans() -> Iterator[Case]:
    def ban(**fields: object) -> Frame:
        return ask(BAN, {"group": "$G", "topic": "$T", **fields})

    bare = pull(sysFlag=0, subVersion=1)
    known = [*KNOWN, ONLINE]
    yield row("ban: asked", ban(), before=known)
    yield row("ban: set", ban(readable=False), before=known, after=[ban(), bare])
    lifted = [*known, ban(readable=False)]
    yield row("ban: lifted", ban(readable=True), before=lifted, after=[ban(), bare])
    yield row("ban: no fields", ask(BAN))


def backlog() -> Case:
    def play(stage: Stage) -> None:
        for frame in [*KNOWN, commit_offset(2)]:
            stage.must(frame)

        def mine(value: Any, stage: Stage) -> Any:
            groups = {name: seen for one in value["consumeStatsList"] for name, seen in one.items()}
            return groups.get(stage.group, "not there")

        reader = picked(stage, mine)
        stage.show("every topic", ask(BACKLOG, {"isOrder": False}), reader)
        stage.show("ordered topics", ask(BACKLOG, {"isOrder": True}), reader)
        stage.must(create_topic(order=True))
        stage.show("now it is ordered", ask(BACKLOG, {"isOrder": True}), reader)
        stage.must(heartbeat(consumer("$G", subscription("other-$T"))))
        stage.show("not subscribed", ask(BACKLOG, {"isOrder": False}), reader)
        value = as_json(stage.must(ask(BACKLOG, {"isOrder": False})).body)["value"]
        stage.record("keys", sorted(value))

    return Case("backlog of every group", play)
