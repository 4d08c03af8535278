"""Lists of topics and of groups to delete, which RocketMQ has since 5.5.1; and what a deleted group leaves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from compat_tests.wire.asks import (
    ask,
    body_of,
    commit_offset,
    create_group,
    create_topic,
    query_offset,
    send,
)
from compat_tests.wire.case import Case, in_binary, row
from compat_tests.wire.frames import Frame

TOPICS, GROUPS, DELETE_GROUP = 5002, 5003, 207
A, B, C = "a-$T", "b-$T", "c-$T"
# A group's retry topic of POP, in that form of its name that an operator may create.
RETRY: Final = "%RETRY%$G_a-$T"


def cases() -> Iterator[Case]:
    yield from of_topics()
    yield from of_no_topics()
    yield from of_groups()
    yield from of_no_groups()
    yield from left()


def topics(*names: object, **frame: Any) -> Frame:
    return ask(TOPICS, body=body_of({"topicList": names}), **frame)


def groups(*names: object, **more: object) -> Frame:
    return ask(GROUPS, body=body_of({"groupNameList": names, **more}))


def topic(name: str) -> Frame:
    return ask(351, {"topic": name})


def group(name: str) -> Frame:
    return ask(352, {"group": name})


def offset(of_topic: str, of_group: str = "$G") -> Frame:
    return query_offset(topic=of_topic, consumerGroup=of_group, setZeroIfNotFound=False)


def of_topics() -> Iterator[Case]:
    there = [create_topic(name) for name in (A, B, C)]
    shown = [topic(name) for name in (A, B, C)]
    yield row("delete topics: some", topics(A, C), before=there, after=shown)
    yield in_binary("delete topics: some", topics(A, C), before=there, after=shown)
    yield row("delete topics: on the fast port", topics(A), before=there, after=shown, on="fast")
    yield row("delete topics: one twice", topics(B, A, B), before=there, after=shown)
    yield row("delete topics: unknown ones", topics("x-$T", A, "y-$T"), before=there, after=shown)
    yield row("delete topics: spaces around", topics(f" {A}", f"{B} "), before=there, after=shown)
    committed = [create_group(), commit_offset(1, topic=A), commit_offset(1, topic=C)]
    yield row(
        "delete topics: with retry topics and offsets",
        topics(A, B),
        before=[*there, create_topic(RETRY), send(topic=A), *committed],
        after=[topic(RETRY), offset(A), offset(C), send(topic=B, defaultTopic="none")],
    )
    yield row(
        "delete topics: a retry topic and its topic",
        topics(RETRY, A),
        before=[*there, create_topic(RETRY), send(topic=A), *committed],
        after=[topic(RETRY), *shown],
    )
    for what, bad in {
        "a blank name": " ",
        "an empty name": "",
        "null": None,
        "a system topic": "TBW102",
    }.items():
        yield row(f"delete topics: {what} among them", topics(A, bad), before=there, after=shown)
    for system in ("SCHEDULE_TOPIC_XXXX", "rmq_sys_wheel_timer", "rmq_sys_anything", "%RETRY%$G"):
        yield row(f"delete topics: {system}", topics(system))
    yield row("delete topics: a blank one before a system topic", topics(" ", "TBW102"))


def of_no_topics() -> Iterator[Case]:
    for what, body in {
        "no body": b"",
        "null": b"null",
        "an empty object": b"{}",
        "an empty list": b'{"topicList":[]}',
        "null for a list": b'{"topicList":null}',
        "numbers": b'{"topicList":[1,true]}',
        "a text for a list": b'{"topicList":"x-$T"}',
        "no JSON": b"nonsense",
        "a list": b"[]",
    }.items():
        yield row(f"delete topics: {what}", ask(TOPICS, body=body))
    yield row("delete topics: in the header", ask(TOPICS, {"topicList": "$T", "topic": "$T"}))


def of_groups() -> Iterator[Case]:
    names = ("a-$G", "b-$G", "c-$G")
    there = [create_topic(), *(create_group(name) for name in names)]
    there += [commit_offset(1, consumerGroup=name) for name in names]
    shown = [offset("$T", name) for name in names]
    for clean in (True, False, None):
        more = {} if clean is None else {"cleanOffset": clean}
        yield row(
            f"delete groups: some, clean {clean}",
            groups("a-$G", "c-$G", **more),
            before=there,
            after=shown,
        )
    yield row("delete groups: one twice", groups("b-$G", "b-$G"), before=there, after=shown)
    yield row("delete groups: unknown ones", groups("x-$G", "a b", "y-$G"))
    yield row("delete groups: of the system", groups("CID_RMQ_SYS_TRANS-$RUN", cleanOffset=True))
    for what, bad in {"a blank name": " ", "an empty name": "", "null": None}.items():
        request = groups("a-$G", bad, cleanOffset=True)
        yield row(f"delete groups: {what} among them", request, before=there, after=shown)


def of_no_groups() -> Iterator[Case]:
    for what, body in {
        "no body": b"",
        "null": b"null",
        "an empty object": b"{}",
        "an empty list": b'{"groupNameList":[]}',
        "null for a list": b'{"groupNameList":null}',
        "a text for a list": b'{"groupNameList":"x-$G"}',
        "clean is a text": b'{"groupNameList":["x-$G"],"cleanOffset":"true"}',
        "clean is no boolean": b'{"groupNameList":["x-$G"],"cleanOffset":"perhaps"}',
        "clean is null": b'{"groupNameList":["x-$G"],"cleanOffset":null}',
        "no JSON": b"nonsense",
    }.items():
        yield row(f"delete groups: {what}", ask(GROUPS, body=body))


def left() -> Iterator[Case]:
    """Asking for a group's settings makes none: whether it is there shows in the answer."""
    bound = {"attributes": {"+lite.bind.topic": "$T"}}
    for what, settings in {"an ordinary one": {}, "one of a lite topic": bound}.items():
        there = [create_topic(), create_group(**settings), commit_offset(1)]
        for clean in (True, False):
            yield row(
                f"deleted group: {what}, clean {clean}",
                ask(DELETE_GROUP, {"groupName": "$G", "cleanOffset": clean}),
                before=there,
                after=[offset("$T")],
            )
        yield row(f"deleted groups: {what}", groups("$G"), before=there, after=[offset("$T")])
