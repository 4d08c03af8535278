"""Bodies as clients in other languages write them: enums as numbers, numbers as texts and the reverse."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from compat_tests.wire.asks import ask, body_of, consumer_list, create_group, create_topic
from compat_tests.wire.asks import consumer as java_consumer
from compat_tests.wire.asks import heartbeat as java_heartbeat
from compat_tests.wire.asks import subscription as java_subscription
from compat_tests.wire.case import Case, in_binary, row
from compat_tests.wire.frames import Frame
from compat_tests.wire.reading import as_json

CPP, CPP_VERSION = 1, 63
CONSUMERS: Final = ask(203, {"consumerGroup": "$G"})
SHOW_TOPIC: Final = ask(351, {"topic": "$T"})
SHOW_GROUP: Final = ask(352, {"group": "$G"})
ALL_MODES: Final = 402


def cases() -> Iterator[Case]:
    yield from cpp_heartbeats()
    yield from numbers_for_enums()
    yield from texts_and_numbers()
    yield from topics_and_groups()


def without_addresses(body: bytes) -> Any:
    """Clients and ports are each run's own."""
    seen = as_json(body)
    for connection in seen["value"]["connectionSet"] if "value" in seen else ():
        connection.pop("clientAddr")
    return seen


def shown(name: str, request: Frame) -> Case:
    """A heartbeat, and what the broker then says of its group."""
    return row(f"other languages: {name}", request, after=[consumer_list()])


def consumers_after(name: str, request: Frame) -> Case:
    return row(
        f"other languages: {name}, as listed", CONSUMERS, before=[request], reader=without_addresses
    )


def cpp_subscription(**more: object) -> dict[str, object]:
    """Versions 1.2.0 to 2.2.0: the sub version is a text; empty sets are left out."""
    return {"subString": "*", "subVersion": "1700000000000", "topic": "$T", **more}


def cpp_consumer(*subscriptions: object, **more: object) -> dict[str, object]:
    """Versions 1.2.0 to 2.2.0: members in the order of their names, no unitMode."""
    usual: dict[str, object] = {
        "consumeFromWhere": 4,
        "consumeType": 1,
        "groupName": "$G",
        "messageModel": 1,
        "subscriptionDataSet": list(subscriptions),
    }
    return {**usual, **more}


def cpp_heartbeat(*consumers: object, **more: object) -> Frame:
    """Versions 1.2.0 to 2.2.0: with a line end, as their JSON writer puts one."""
    body = json.dumps({"clientID": "$C", "consumerDataSet": list(consumers), **more})
    return replace(ask(34, body=body.encode() + b"\n"), language=CPP, version=CPP_VERSION)


def cpp_heartbeats() -> Iterator[Case]:
    plain = cpp_heartbeat(cpp_consumer(cpp_subscription()))
    tags = cpp_subscription(subString="A || B", tagsSet=["A", "B"], codeSet=[65, 66])
    retry = cpp_subscription(topic="%RETRY%$G")
    ways: dict[str, Frame] = {
        "C++ heartbeat, push": plain,
        "C++ heartbeat, with tags and a retry topic": cpp_heartbeat(cpp_consumer(tags, retry)),
        "C++ heartbeat, broadcasting": cpp_heartbeat(
            cpp_consumer(cpp_subscription(), messageModel=0)
        ),
        "C++ heartbeat, pull": cpp_heartbeat(cpp_consumer(consumeType=0)),
        "C++ heartbeat, a producer beside": cpp_heartbeat(
            cpp_consumer(cpp_subscription()), producerDataSet=[{"groupName": "$P"}]
        ),
    }
    for name, request in ways.items():
        yield shown(name, request)
        yield consumers_after(name, request)
    yield in_binary("other languages: C++ heartbeat, push", plain, after=[consumer_list()])
    lock = {
        "clientId": "$C",
        "consumerGroup": "$G",
        "mqSet": [{"brokerName": "broker-a", "queueId": 0, "topic": "$T"}],
    }
    for code, what in ((41, "lock"), (42, "unlock")):
        request = replace(ask(code, body=body_of(lock) + b"\n"), language=CPP, version=CPP_VERSION)
        yield row(f"other languages: C++ {what}", request, before=[create_topic()])


def numbers_for_enums() -> Iterator[Case]:
    values: dict[str, tuple[object, ...]] = {
        "consumeType": (
            0,
            2,
            3,
            -1,
            "1",
            1.5,
            "consume_passively",
            "80",
            "",
            None,
            True,
            [],
            2**40,
        ),
        "messageModel": (0, 2, 3, "Clustering"),
        "consumeFromWhere": (0, 1, 5, 6, "5"),
    }
    for name, some in values.items():
        for value in some:
            consumer = java_consumer("$G", java_subscription(), **{name: value})
            request = java_heartbeat(consumer)
            said = json.dumps(value)
            yield shown(f"{name} {said}", request)
    for value in (0, "1", "consume_passively"):
        consumer = java_consumer("$G", java_subscription(), consumeType=value)
        yield consumers_after(f"consumeType {value!r}", java_heartbeat(consumer))


def texts_and_numbers() -> Iterator[Case]:
    for value in (1, 0, 2, "true", "Y", "N", "yes", "", []):
        consumer = java_consumer("$G", java_subscription(), unitMode=value)
        yield shown(f"unitMode {json.dumps(value)}", java_heartbeat(consumer))
    fields: dict[str, tuple[object, ...]] = {
        "subVersion": ("12", "1.5", " 15 ", "x", 1e3, True, [], "", 10**20),
        "codeSet": (["1"], [1.5], "1", ["x"], [10**11]),
        "tagsSet": ([1, True], "a", {"a": 1}),
        "subString": (1, True, ["a"]),
        "classFilterMode": ("true", 1),
    }
    for name, some in fields.items():
        for value in some:
            wanted = java_subscription(**{name: value})
            request = java_heartbeat(java_consumer("$G", wanted))
            yield shown(f"{name} {json.dumps(value)}", request)
    lock = {
        "clientId": 5,
        "consumerGroup": "$G",
        "onlyThisBroker": "true",
        "mqSet": [{"brokerName": "broker-a", "queueId": "0", "topic": "$T"}],
    }
    yield row("other languages: lock", ask(41, body=body_of(lock)), before=[create_topic()])


def topics_and_groups() -> Iterator[Case]:
    for value in (0, 1, 2, "multi_tag"):
        topic = {"topicName": "$T", "topicFilterType": value, "perm": "6", "readQueueNums": 2.0}
        request = ask(18, body=body_of({"topicConfigList": [topic]}))
        yield row(
            f"other languages: topicFilterType {json.dumps(value)}", request, after=[SHOW_TOPIC]
        )
    for value in (0, 1, 2, "exponential"):
        request = create_group(groupRetryPolicy={"type": value}, consumeEnable=1, retryMaxTimes="3")
        yield row(f"other languages: retry policy {json.dumps(value)}", request, after=[SHOW_GROUP])
    for value in (0, 1, 2, "pop"):
        mode = {"topic": "$T", "consumerGroup": "$G", "mode": value, "popShareQueueNum": "1"}
        yield row(
            f"other languages: request mode {json.dumps(value)}",
            ask(401, body=body_of(mode)),
            before=[create_topic(), create_group()],
        )
