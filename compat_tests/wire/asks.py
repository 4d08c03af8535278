"""Requests as the official clients build them; a case changes a field or leaves one out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from compat_tests.wire import records
from compat_tests.wire.frames import Frame

BORN: Final = "1700000000000"
PULL_COMMIT, PULL_SUSPEND, PULL_SUBSCRIPTION, PULL_CLASS_FILTER, PULL_LITE = 1, 2, 4, 8, 16

Fields = Mapping[str, object]

V2_NAMES: Final = {
    "producerGroup": "a",
    "topic": "b",
    "defaultTopic": "c",
    "defaultTopicQueueNums": "d",
    "queueId": "e",
    "sysFlag": "f",
    "bornTimestamp": "g",
    "flag": "h",
    "properties": "i",
    "reconsumeTimes": "j",
    "unitMode": "k",
    "maxReconsumeTimes": "l",
    "batch": "m",
    "brokerName": "n",
}


def ask(code: int, ext: Fields | None = None, body: bytes = b"", **frame: Any) -> Frame:
    """A request; None leaves a field out, numbers and booleans become text as Java writes them."""
    texts = {key: text(value) for key, value in (ext or {}).items() if value is not None}
    return Frame(code, ext=texts, body=body, **frame)


def text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def changed(frame: Frame, **fields: object) -> Frame:
    """The same request with other fields; None takes one away."""
    ext = dict(frame.ext)
    for key, value in fields.items():
        if value is None:
            ext.pop(key, None)
        else:
            ext[key] = text(value)
    return replace(frame, ext=ext)


def body_of(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def properties(**pairs: str) -> str:
    return records.property_text(pairs)


def _sending(fields: Fields) -> dict[str, object]:
    usual = {
        "producerGroup": "$P",
        "topic": "$T",
        "defaultTopic": "TBW102",
        "defaultTopicQueueNums": 4,
        "queueId": 0,
        "sysFlag": 0,
        "bornTimestamp": BORN,
        "flag": 0,
        "properties": properties(UNIQ_KEY="U1", WAIT="true"),
        "reconsumeTimes": 0,
        "unitMode": False,
        "batch": False,
    }
    return {**usual, **fields}


def send(body: bytes = b"hello", code: int = 10, **fields: object) -> Frame:
    """SEND_MESSAGE with long names."""
    return ask(code, _sending(fields), body)


def send_v2(body: bytes = b"hello", code: int = 310, **fields: object) -> Frame:
    """SEND_MESSAGE_V2: the same fields under one-letter names."""
    short = {V2_NAMES[key]: value for key, value in _sending(fields).items()}
    return ask(code, short, body)


def send_batch(body: bytes, **fields: object) -> Frame:
    return send_v2(body, code=320, **{"batch": True, **fields})


def send_back(offset: int, **fields: object) -> Frame:
    usual: dict[str, object] = {
        "offset": offset,
        "group": "$G",
        "delayLevel": 0,
        "originMsgId": "U1",
        "originTopic": "$T",
        "unitMode": False,
        "maxReconsumeTimes": 16,
    }
    return ask(36, {**usual, **fields})


def pull(code: int = 11, **fields: object) -> Frame:
    """PULL_MESSAGE with its subscription in it, as the pull consumer sends it."""
    usual: dict[str, object] = {
        "consumerGroup": "$G",
        "topic": "$T",
        "queueId": 0,
        "queueOffset": 0,
        "maxMsgNums": 32,
        "sysFlag": PULL_SUBSCRIPTION,
        "commitOffset": 0,
        "suspendTimeoutMillis": 1000,
        "subscription": "*",
        "subVersion": 0,
        "expressionType": "TAG",
    }
    return ask(code, {**usual, **fields})


def query_offset(**fields: object) -> Frame:
    return ask(14, {"consumerGroup": "$G", "topic": "$T", "queueId": 0, **fields})


def commit_offset(offset: object, **fields: object) -> Frame:
    usual = {"consumerGroup": "$G", "topic": "$T", "queueId": 0, "commitOffset": offset}
    return ask(15, {**usual, **fields})


def queue_question(code: int, **fields: object) -> Frame:
    """GET_MAX_OFFSET, GET_MIN_OFFSET, GET_EARLIEST_MSG_STORETIME."""
    return ask(code, {"topic": "$T", "queueId": 0, **fields})


def search_offset(timestamp: object, **fields: object) -> Frame:
    return ask(29, {"topic": "$T", "queueId": 0, "timestamp": timestamp, **fields})


def create_topic(topic: str = "$T", queues: int = 4, **fields: object) -> Frame:
    usual: dict[str, object] = {
        "topic": topic,
        "defaultTopic": "TBW102",
        "readQueueNums": queues,
        "writeQueueNums": queues,
        "perm": 6,
        "topicFilterType": "SINGLE_TAG",
        "topicSysFlag": 0,
        "order": False,
    }
    return ask(17, {**usual, **fields})


def create_group(group: str = "$G", **settings: object) -> Frame:
    """UPDATE_AND_CREATE_SUBSCRIPTIONGROUP."""
    return ask(200, body=body_of({"groupName": group, **settings}))


def subscription(topic: str = "$T", expression: str = "*", version: int = 1, **more: object) -> Any:
    tags = [] if expression == "*" else [tag.strip() for tag in expression.split("||")]
    usual: dict[str, object] = {
        "classFilterMode": False,
        "codeSet": [java_hash(tag) for tag in tags],
        "expressionType": "TAG",
        "subString": expression,
        "subVersion": version,
        "tagsSet": tags,
        "topic": topic,
    }
    return {**usual, **more}


def consumer(group: str = "$G", *subscriptions: Any, **more: object) -> dict[str, object]:
    """One group of a heartbeat."""
    usual: dict[str, object] = {
        "consumeFromWhere": "CONSUME_FROM_LAST_OFFSET",
        "consumeType": "CONSUME_PASSIVELY",
        "groupName": group,
        "messageModel": "CLUSTERING",
        "subscriptionDataSet": list(subscriptions),
        "unitMode": False,
    }
    return {**usual, **more}


def heartbeat(
    *consumers: Any, client: str = "$C", producers: tuple[str, ...] = (), **more: object
) -> Frame:
    body = {
        "clientID": client,
        "consumerDataSet": list(consumers),
        "heartbeatFingerprint": 0,
        "producerDataSet": [{"groupName": group} for group in producers],
        "withoutSub": False,
    }
    return ask(34, body=body_of({**body, **more}))


def unregister(client: str = "$C", **fields: object) -> Frame:
    return ask(35, {"clientID": client, **fields})


def consumer_list(group: str = "$G") -> Frame:
    return ask(38, {"consumerGroup": group})


def queue_set(*queue_ids: int, topic: str = "$T") -> list[dict[str, object]]:
    return [{"brokerName": "broker-a", "queueId": queue, "topic": topic} for queue in queue_ids]


def lock(*queue_ids: int, client: str = "$C", code: int = 41, **more: object) -> Frame:
    """LOCK_BATCH_MQ, and UNLOCK_BATCH_MQ with code 42: same body."""
    body = {
        "clientId": client,
        "consumerGroup": "$G",
        "mqSet": queue_set(*queue_ids),
        "onlyThisBroker": False,
    }
    return ask(code, body=body_of({**body, **more}))


def unlock(*queue_ids: int, client: str = "$C") -> Frame:
    return lock(*queue_ids, client=client, code=42)


def java_hash(value: str) -> int:
    """String.hashCode: what a tag is filtered by."""
    result = 0
    units = value.encode("utf-16-be")
    for at in range(0, len(units), 2):
        result = (31 * result + int.from_bytes(units[at : at + 2], "big")) & 0xFFFFFFFF
    return result - (1 << 32) if result > 0x7FFFFFFF else result
