"""Static topics, lite topics, and the small requests of operators that belong to no other file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from compat_tests.wire.asks import (
    ask,
    body_of,
    changed,
    commit_offset,
    create_group,
    create_topic,
    pull,
    query_offset,
    queue_question,
    search_offset,
    send,
    send_v2,
)
from compat_tests.wire.case import Case, row
from compat_tests.wire.frames import Frame

SHOW: Final = ask(351, {"topic": "$T"})
SHOW_MAPPING: Final = ask(351, {"topic": "$T", "lo": True})
DELETE: Final = ask(215, {"topic": "$T"})
PARENT, TOPIC, CLIENT, GROUP, DISPATCH = range(200075, 200080)
LITE: Final = create_topic(attributes="+message.type=LITE,+lite.topic.expiration=60")
BOUND: Final = create_group(attributes={"+lite.bind.topic": "$T"})


def cases() -> Iterator[Case]:
    yield from static_topics()
    yield from parts_of_queues()
    yield from parts_that_contradict()
    yield from lite_topics()
    for offset in (100, -1, "x", None):
        name = f"master flush offset: {offset}"
        yield row(name, ask(908, {"masterFlushOffset": offset}))
    yield row("container: add broker", ask(902, {"configPath": "/no/such/file"}))
    fields = {"brokerName": "broker-a", "brokerClusterName": "DefaultCluster", "brokerId": 0}
    yield row("container: remove broker", ask(903, fields))


def item(number: int, **fields: Any) -> dict[str, Any]:
    usual = {"bname": "broker-a", "endOffset": -1, "gen": 0, "logicOffset": 0, "queueId": number}
    return {**usual, "startOffset": 0, "timeOfEnd": -1, "timeOfStart": -1, **fields}


def mapping(queues: int = 4, epoch: int = 1000, **fields: Any) -> bytes:
    usual = {
        "bname": "broker-a",
        "epoch": epoch,
        "hostedQueues": {str(number): [item(number)] for number in range(queues)},
        "scope": "__global__",
        "topic": "$T",
        "totalQueues": queues,
    }
    return body_of({**usual, **fields})


def static(body: bytes, queues: int = 4, **fields: object) -> Frame:
    request = changed(create_topic(queues=queues), **{"force": False, **fields})
    return Frame(513, ext=dict(request.ext), body=body)


def static_topics() -> Iterator[Case]:
    there = [static(mapping())]
    after: dict[str, Any] = {"after": [SHOW, SHOW_MAPPING]}
    yield row("static topic: new", static(mapping()), **after)
    yield row("static topic: no queue here", static(mapping(0), queues=0), **after)
    yield row(
        "static topic: used", SHOW_MAPPING, before=there, after=[send(queueId=3), pull(queueId=3)]
    )
    grown = static(mapping(6, 2000), queues=6)
    yield row("static topic: more queues", grown, before=there, **after)
    yield row("static topic: the same", static(mapping()), before=there, **after)
    yield row(
        "static topic: small epoch", static(mapping(epoch=1)), before=there, after=[SHOW_MAPPING]
    )
    other = static(mapping(epoch=2000, scope="elsewhere"))
    yield row("static topic: other scope", other, before=there, after=[SHOW_MAPPING])
    fewer = static(mapping(2, 2000))
    yield row("static topic: queues unnamed", fewer, before=there, after=[SHOW_MAPPING])
    same = static(mapping(2))
    yield row("static topic: unnamed, same epoch", same, before=there, after=[SHOW_MAPPING])
    forced = static(mapping(2, 1), force=True)
    yield row("static topic: forced", forced, before=there, after=[SHOW_MAPPING])
    yield row(
        "static topic: deleted",
        DELETE,
        before=there,
        after=[SHOW_MAPPING, create_topic(), SHOW_MAPPING],
    )
    yield row("static topic: bad name", static(mapping(), topic="bad*name"))
    yield row("static topic: system topic", static(mapping(), topic="TBW102"))
    yield row("plain topic: mapping asked for", SHOW_MAPPING, before=[create_topic()])


def parts(*items: dict[str, Any], epoch: int = 2000) -> Frame:
    """Queue 0 in several parts, and the queues 1 to 3 as they were; room for two more of the broker's."""
    hosted = {str(number): [item(number)] for number in range(1, 4)}
    hosted["0"] = list(items)
    return static(mapping(epoch=epoch, hostedQueues=hosted), queues=6)


def questions(*offsets: int) -> list[Frame]:
    """What a client may ask a queue, without a change to it; pulls from these offsets."""
    return [
        *(pull(queueOffset=offset) for offset in offsets),
        pull(queueOffset=0, maxMsgNums=1),
        queue_question(30),
        queue_question(31),
        search_offset(0),
        query_offset(),
    ]


def parts_of_queues() -> Iterator[Case]:
    written = [static(mapping()), send(), send(), send()]
    after: list[Frame] = [
        *questions(-1, 0, 2, 3, 9999, 10000, 10001, 99999),
        send(),
        send_v2(),
        *questions(0, 3, 10000, 10001, 10002),
        commit_offset(2),
        query_offset(),
        commit_offset(10001),
        query_offset(),
        queue_question(30, lo=False),
        queue_question(30, queueId=4, lo=False),
        queue_question(30, lo=True),
        send(queueId=-1),
    ]
    moved = parts(item(0), item(4, gen=1, logicOffset=10000))
    yield row("static parts: two here", moved, before=written, after=after)
    ended = parts(item(0, endOffset=2), item(4, gen=1, logicOffset=10000))
    yield row("static parts: the first has an end", ended, before=written, after=after)
    undecided = parts(item(0), item(4, gen=1, logicOffset=-1))
    yield row(
        "static parts: undecided", undecided, before=written, after=[*questions(0, 3), send()]
    )
    three = parts(item(0), item(4, gen=1, logicOffset=10000), item(5, gen=2, logicOffset=20000))
    middle = questions(9999, 10000, 10001, 20000, 20001)
    yield row("static parts: three here", three, before=[*written, moved, send()], after=middle)
    gone = parts(item(0), item(0, bname="broker-b", gen=1, logicOffset=10000))
    refusals = [send(), send_v2(), *questions(0), commit_offset(1), queue_question(32)]
    yield row("static parts: led elsewhere", gone, before=written, after=refusals)
    unknown = {"queueId": 9}
    yield row(
        "static parts: not known here",
        send(**unknown),
        before=written,
        after=[pull(**unknown), queue_question(30, **unknown), queue_question(31, **unknown)],
    )


def parts_that_contradict() -> Iterator[Case]:
    there = [static(mapping(), queues=6)]
    lists: dict[str, tuple[dict[str, Any], ...]] = {
        "same gen": (item(0), item(4, logicOffset=10000)),
        "undecided first": (item(0, logicOffset=-1), item(4, gen=1, logicOffset=10000)),
        "begins too early": (item(0, logicOffset=100), item(4, gen=1, logicOffset=100)),
        "ends too late": (item(0, endOffset=20), item(4, gen=1, logicOffset=10)),
        "ends before its start": (item(0, startOffset=5, endOffset=2),),
        "negative queue": (item(-1),),
        "negative gen": (item(0, gen=-1),),
        "negative start": (item(0, startOffset=-1),),
        "no part": (),
    }
    for name, items in lists.items():
        yield row(f"static parts: {name}", parts(*items), before=there, after=[SHOW_MAPPING])
    another = parts(item(4, gen=0), epoch=1000)
    yield row("static parts: another leader", another, before=there, after=[SHOW_MAPPING])


def lite_topics() -> Iterator[Case]:
    there = [LITE, BOUND]
    requests = {
        "parent": ask(PARENT, {"topic": "$T"}),
        "topic": ask(TOPIC, {"parentTopic": "$T", "liteTopic": "one"}),
        "client": ask(CLIENT, {"parentTopic": "$T", "group": "$G", "clientId": "$C"}),
        "group": ask(GROUP, {"group": "$G", "topK": 5}),
        "group in a topic": ask(GROUP, {"group": "$G", "topK": 5, "liteTopic": "one"}),
        "dispatch": ask(DISPATCH, {"group": "$G"}),
        "dispatch to a client": ask(DISPATCH, {"group": "$G", "clientId": "$C"}),
    }
    for name, request in requests.items():
        yield row(f"lite {name}: empty", request, before=there)
        yield row(f"lite {name}: no group", request, before=[LITE])
        yield row(f"lite {name}: plain", request, before=[create_topic(), create_group()])
        yield row(f"lite {name}: unknown", request)
    for name in ("parent", "topic", "client", "group", "dispatch"):
        request = requests[name]
        yield row(f"lite {name}: no field", Frame(request.code), before=there)
