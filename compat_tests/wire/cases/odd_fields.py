"""Requests without a field that the real broker does without, or only seems to; odd properties and attributes."""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from compat_tests.wire import frames
from compat_tests.wire.asks import (
    ask,
    body_of,
    changed,
    commit_offset,
    consumer,
    create_group,
    create_topic,
    heartbeat,
    properties,
    pull,
    send,
    send_back,
    send_v2,
    subscription,
)
from compat_tests.wire.case import Case, row
from compat_tests.wire.frames import Frame
from compat_tests.wire.link import PATIENCE
from compat_tests.wire.stage import Stage
from compat_tests.wire.timing import changed_settings

RESET: Final = ask(
    222, {"topic": "$T", "group": "$G", "timestamp": -1, "isForce": True, "offset": -1}
)
SHOW_GROUP: Final = ask(352, {"group": "$G"})
SHOW_TOPIC: Final = ask(351, {"topic": "$T"})


def cases() -> Iterator[Case]:
    yield from absent()
    yield from sends()
    yield from forbidden()
    yield from attributes()
    yield from resets()
    yield from shown()


def absent() -> Iterator[Case]:
    """The name of a group or a topic is missing."""
    there = [create_topic(), create_group(), send()]
    requests: dict[str, Frame] = {
        "15 without a group": commit_offset(1, consumerGroup=None),
        "222 without a group": changed(RESET, group=None),
        "308 without a group to compare": ask(308, {"topic": "$T", "filterGroups": ""}),
        "353 without a topic": ask(353, {"group": "$G"}),
        "353 without a group": ask(353, {"topic": "$T"}),
        "513 without a default topic": changed(
            create_topic("$T"), defaultTopic=None, topicFilterType="SINGLE_TAG"
        ),
        "314 without the group it comes from": ask(
            314, {"destGroup": "$G", "topic": "$T", "offline": True}
        ),
        "314 without the group it goes to": ask(
            314, {"srcGroup": "$G", "topic": "$T", "offline": True}
        ),
        "345 without a topic": ask(345, {"group": "$G"}),
        "314 without the group it comes from, online": ask(314, {"destGroup": "$G", "topic": "$T"}),
        "321 without a topic": ask(321, {"queueId": 0, "index": 0, "count": 1}),
        "353 without a topic, a ban": ask(353, {"group": "$G", "readable": False}),
        "307 without a client": ask(307, {"consumerGroup": "$G", "jstackEnable": False}),
        "307 without a group": ask(307, {"clientId": "$C", "jstackEnable": False}),
        "321 of a missing topic": ask(
            321, {"topic": "$T-none", "queueId": 0, "index": 0, "count": 1}
        ),
    }
    for name, request in requests.items():
        yield row(f"odd fields: {name}", request, before=there)
    empty = [create_topic(), create_group()]
    yield row("odd fields: 303 without a group", ask(303, {"topic": "$T"}), before=empty)
    online = [*there, heartbeat(consumer("$G", subscription()))]
    asked = ask(345, {"group": "$G"})
    yield row("odd fields: 345 without a topic, somebody online", asked, before=online)


def sends() -> Iterator[Case]:
    there = [create_topic(queues=1)]
    twice = (
        "UNIQ_KEY\x01DU1\x02KEYS\x01a\x02UNIQ_KEY\x01DU2\x02KEYS\x01b\x02TAGS\x01x\x02TAGS\x01y\x02"
    )
    forms = {
        "properties twice": twice,
        "an empty UNIQ_KEY": "UNIQ_KEY\x01\x02KEYS\x01k\x02WAIT\x01true\x02",
        "a property twice, the last one empty": "UNIQ_KEY\x01DU1\x02KEYS\x01a\x02KEYS\x01\x02",
        "a property twice, of a key that is added": "UNIQ_KEY\x01DU1\x02CLUSTER\x01a\x02CLUSTER\x01b\x02",
    }
    for name, text in forms.items():
        for code, build in ((10, send), (310, send_v2)):
            yield row(
                f"odd fields: {name}, code {code}",
                build(properties=text),
                before=there,
                after=[pull()],
            )
    unread = ask(324, {**send().ext, "sysFlag": "x"}, b"hello")
    yield row("odd fields: 324 with an unreadable sysFlag", unread, before=there)
    plain = send_v2(code=320, properties=properties(UNIQ_KEY="U1", TIMER_DELAY_SEC="3600"))

    def timer(stage: Stage) -> None:
        stage.must(create_topic())
        for code in (310, 320):
            reply = stage.ask(changed_code(plain, code))
            stage.record(f"code {code}", [reply.code, sorted(reply.ext)])

    yield Case("odd fields: a timer message without the batch flag", timer)
    null = create_group("$G", groupRetryPolicy=None, retryMaxTimes=5)
    yield row("odd fields: a group whose retry policy is null", null, after=[SHOW_GROUP])


def changed_code(frame: Frame, code: int) -> Frame:
    return ask(code, frame.ext, frame.body)


def forbidden() -> Iterator[Case]:
    """What a broker without permissions answers when fields are missing, too."""

    def play(stage: Stage) -> None:
        stage.must(create_topic())
        stage.must(create_group())
        with changed_settings(stage, "brokerPermission=0", "brokerPermission=6"):
            for name in ("consumerGroup", "topic", "queueId", "maxMsgNums", "sysFlag"):
                stage.show(f"11 without {name}", changed(pull(), **{name: None}))
            for name in ("offset", "group", "delayLevel", "originMsgId"):
                stage.show(f"36 without {name}", changed(send_back(0), **{name: None}))
            for name in ("producerGroup", "topic", "queueId"):
                stage.show(f"10 without {name}", changed(send(), **{name: None}))

    yield Case("odd fields: a broker without permissions", play, alone=True)


def attributes() -> Iterator[Case]:
    for value in (
        "+message.type=NORMAL=2",
        "+message.type=",
        "+message.type",
        "+reserve.time=1,,+message.type=FIFO",
        ",+message.type=FIFO",
        "+message.type=FIFO,",
        "+message.type=FIFO,-",
        " +message.type=FIFO",
        "+message.type= FIFO",
        "+message.type=FIFO ,+reserve.time=1",
        "=",
        ",",
        "+=1",
        "+reserve.time==1",
    ):
        yield row(
            f"odd fields: attributes {value!r}", create_topic(attributes=value), after=[SHOW_TOPIC]
        )
    for value in ("", "=x", " "):
        group = ask(
            200, body=body_of({"groupName": "$G", "attributes": {"+lite.bind.topic": value}})
        )
        yield row(f"odd fields: bound to {value!r}", group, after=[SHOW_GROUP])


def resets() -> Iterator[Case]:
    def play(stage: Stage) -> None:
        stage.must(create_topic())
        stage.must(create_group())
        with changed_settings(
            stage, "useServerSideResetOffset=false", "useServerSideResetOffset=true"
        ):
            stage.show("a reset", RESET)
            stage.show("of a missing topic", changed(RESET, topic="$T-none"))
            stage.show("without a group", changed(RESET, group=None))

    yield Case("odd fields: a reset by the group's members", play, alone=True)


def shown() -> Iterator[Case]:
    """Whether the JSON header of an answer without ext fields has `extFields`: some clients insist on it."""
    asked: dict[str, Frame] = {
        "commit": commit_offset(1),
        "commit of an unknown topic": commit_offset(1, topic="$T-none"),
        "no offset": ask(14, {"consumerGroup": "$G", "topic": "$T-none", "queueId": 0}),
        "no consumers": ask(38, {"consumerGroup": "$G"}),
        "unregister": ask(35, {"clientID": "$C", "producerGroup": "$P"}),
        "heartbeat": heartbeat(consumer("$G", subscription())),
        "pull of an unknown topic": pull(topic="$T-none"),
        "lite pull of an unknown topic": pull(361, topic="$T-none"),
        "pop of an unknown topic": ask(
            200050,
            {
                "consumerGroup": "$G",
                "topic": "$T-none",
                "queueId": 0,
                "maxMsgNums": 1,
                "invisibleTime": 1000,
                "pollTime": 0,
                "bornTime": 0,
                "initMode": 0,
            },
        ),
        "topic made": create_topic(),
        "unknown topic": ask(351, {"topic": "$T-none"}),
        "route": ask(105, {"topic": "$T-none"}),
        "no stats": ask(315, {"statsName": "TOPIC_PUT_NUMS", "statsKey": "$T-none"}),
        "unlocked": ask(42, body=body_of({"clientId": "$C", "consumerGroup": "$G", "mqSet": []})),
        "a field is missing": ask(14, {"topic": "$T"}),
        "an unknown code": ask(9999),
    }
    of_namesrv = {
        "no setting": ask(101, {"namespace": "$G", "key": "k"}),
        "no settings": ask(219, {"namespace": "$G"}),
        "no route": ask(105, {"topic": "$T-none"}),
    }

    def play(stage: Stage) -> None:
        stage.must(create_topic())
        stage.must(create_group())
        for on, requests in (("broker", asked), ("namesrv", of_namesrv)):
            for what, request in requests.items():
                stage.record(what, raw_header(stage, request, getattr(stage.place, on)))

    yield Case("odd fields: answers without fields", play)


def raw_header(stage: Stage, request: Frame, address: str) -> object:
    """The code of the answer, and its keys."""
    host, port = address.rsplit(":", 1)
    with socket.create_connection((host, int(port)), PATIENCE) as connection:
        connection.sendall(frames.encode(replace(stage.request(request), opaque=1)))
        with connection.makefile("rb") as stream:
            (size,) = struct.unpack(">i", stream.read(4))
            payload = stream.read(size)
    length = int.from_bytes(payload[1:4])
    header = json.loads(payload[4 : 4 + length])
    return [header["code"], sorted(header)]
