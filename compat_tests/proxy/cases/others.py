"""Transactions, recalls and lite subscriptions."""

from __future__ import annotations

import base64
from typing import Final

from compat_tests.proxy.case import Case, Step, Topic
from compat_tests.proxy.cases.usual import (
    GROUP,
    ID,
    PRODUCER,
    TOPIC,
    Fields,
    message,
    receiving,
    sending,
    settings,
    telling,
)

# --- transactions
_HALF: Final = Step(
    "SendMessage",
    sending(message(message_type="TRANSACTION")),
    {"transaction": "entries.0.transaction_id", "id": "entries.0.message_id"},
)


def ended(transaction: str = "{transaction}", **more: object) -> Fields:
    usual = {
        "topic": TOPIC,
        "message_id": ID,
        "transaction_id": transaction,
        "resolution": "COMMIT",
    }
    return {**usual, **more}


ENDS: Final[dict[str, Fields]] = {
    "commit": ended(),
    "rollback": ended(resolution="ROLLBACK"),
    "without a resolution": ended(resolution=0),
    "unknown resolution": ended(resolution=9),
    "by a check": ended(source="SOURCE_SERVER_CHECK"),
    "by a client": ended(source="SOURCE_CLIENT"),
    "with a trace": ended(trace_context="t"),
    "empty id": ended(""),
    "blank id": ended("  "),
    "unknown id": ended("nobody"),
    "another message id": ended(message_id="other"),
    "of another topic": ended(topic={"name": "{tag}other"}),
}
_ENDED: Final = Step("EndTransaction", ended())

# --- recalls
_DELAYED: Final = Step(
    "SendMessage",
    sending(message(delivery_timestamp={"seconds": "{now+600}"}, message_type="DELAY")),
    {"recall": "entries.0.recall_handle"},
)


def _handle(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode()


RECALLS: Final = {
    "right": "{recall}",
    "empty": "",
    "blank": " ",
    "a word": "handle",
    "not base64": "a-b c",
    "of another version": _handle("v9 {topic} broker-a 1 M"),
    "of four parts": _handle("v1 topic broker-a 1"),
    "of six parts": _handle("v1 topic broker-a 1 M x"),
    "of another topic": _handle("v1 topic broker-a 4102444800000 M"),
    "of another broker": _handle("v1 topic broker-z 4102444800000 M"),
    "with a word as time": _handle("v1 topic broker-a soon M"),
    "of the past": _handle("v1 topic broker-a 1700000000000 M"),
}

# --- lite
_LITE_GROUP: Final[Fields] = {"attributes": {"+lite.bind.topic": "{topic}"}}
_LITE: Final = Step("Telemetry", telling(settings("LITE_PUSH_CONSUMER")))


def synced(action: str | int = "PARTIAL_ADD", *topics: str, **more: object) -> Fields:
    return {
        "action": action,
        "topic": TOPIC,
        "group": GROUP,
        "lite_topic_set": list(topics),
        "version": 1,
        **more,
    }


SYNCS: Final[dict[str, Fields]] = {
    "add one": synced("PARTIAL_ADD", "a"),
    "add two": synced("PARTIAL_ADD", "a", "b"),
    "add nothing": synced(),
    "add a blank one": synced("PARTIAL_ADD", " "),
    "add a long one": synced("PARTIAL_ADD", "l" * 65),
    "add an illegal one": synced("PARTIAL_ADD", "a.b"),
    "remove one": synced("PARTIAL_REMOVE", "a"),
    "remove an illegal one": synced("PARTIAL_REMOVE", "a.b"),
    "all": synced("COMPLETE_ADD", "a", "b"),
    "all, an illegal one": synced("COMPLETE_ADD", "a.b"),
    "none": synced("COMPLETE_REMOVE"),
    "unknown action": synced(9, "a"),
    "without a version": synced("PARTIAL_ADD", "a", version=0),
    "from the last": synced("PARTIAL_ADD", "a", offset_option={"policy": "LAST"}),
    "from the least": synced("PARTIAL_ADD", "a", offset_option={"policy": "MIN"}),
    "from the most": synced("PARTIAL_ADD", "a", offset_option={"policy": "MAX"}),
    "from an unknown policy": synced("PARTIAL_ADD", "a", offset_option={"policy": 9}),
    "from an offset": synced("PARTIAL_ADD", "a", offset_option={"offset": 3}),
    "from the last 3": synced("PARTIAL_ADD", "a", offset_option={"tail_n": 3}),
    "from a time": synced("PARTIAL_ADD", "a", offset_option={"timestamp": 1700000000000}),
    "from an empty option": synced("PARTIAL_ADD", "a", offset_option={}),
    "of another topic": {**synced("PARTIAL_ADD", "a"), "topic": {"name": "{tag}other"}},
}
_ADDED: Final = Step("SyncLiteSubscription", synced("PARTIAL_ADD", "a"))
_LITE_SENT: Final = Step("SendMessage", sending(message(lite_topic="a", message_type="LITE")))

CASES: Final = [
    *(
        Case(f"end: {name}", "EndTransaction", row, (PRODUCER, _HALF), topic=Topic("TRANSACTION"))
        for name, row in ENDS.items()
    ),
    Case(
        "end: twice",
        "EndTransaction",
        ended(),
        (PRODUCER, _HALF, _ENDED),
        topic=Topic("TRANSACTION"),
    ),
    Case("end: without settings", "EndTransaction", ended(), (_HALF,), topic=Topic("TRANSACTION")),
    Case("end: nothing was sent", "EndTransaction", ended("nobody"), topic=Topic("TRANSACTION")),
    *(
        Case(
            f"recall: {name}",
            "RecallMessage",
            {"topic": TOPIC, "recall_handle": handle},
            (_DELAYED,),
            topic=Topic("DELAY"),
        )
        for name, handle in RECALLS.items()
    ),
    Case(
        "recall: of a topic of another type",
        "RecallMessage",
        {"topic": TOPIC, "recall_handle": _handle("v1 topic broker-a 4102444800000 M")},
    ),
    Case(
        "recall: of a topic that is not there",
        "RecallMessage",
        {"topic": TOPIC, "recall_handle": _handle("v1 topic broker-a 4102444800000 M")},
        topic=Topic(""),
    ),
    *(
        Case(
            f"lite: {name}",
            "SyncLiteSubscription",
            row,
            (_LITE,),
            topic=Topic("LITE"),
            group=_LITE_GROUP,
        )
        for name, row in SYNCS.items()
    ),
    Case(
        "lite: without settings",
        "SyncLiteSubscription",
        synced("PARTIAL_ADD", "a"),
        topic=Topic("LITE"),
        group=_LITE_GROUP,
    ),
    Case(
        "lite: beyond the quota",
        "SyncLiteSubscription",
        synced("PARTIAL_ADD", "a", "b", "c"),
        (_LITE,),
        topic=Topic("LITE"),
        group={"attributes": {"+lite.bind.topic": "{topic}", "+lite.sub.client.quota": "2"}},
    ),
    Case(
        "lite: received",
        "ReceiveMessage",
        receiving(auto_renew=True),
        (_LITE, _ADDED, _LITE_SENT),
        topic=Topic("LITE"),
        group=_LITE_GROUP,
    ),
    Case(
        "lite: nothing received",
        "ReceiveMessage",
        receiving(auto_renew=True),
        (_LITE, _ADDED),
        topic=Topic("LITE"),
        group=_LITE_GROUP,
    ),
    Case(
        "lite: received by a group of another kind",
        "ReceiveMessage",
        receiving(auto_renew=True),
        (_LITE,),
        topic=Topic("LITE"),
    ),
    Case(
        "lite: received by a simple consumer",
        "ReceiveMessage",
        receiving(),
        (Step("Telemetry", telling(settings())), _ADDED, _LITE_SENT),
        topic=Topic("LITE"),
        group=_LITE_GROUP,
    ),
    Case(
        "goodbye: a lite consumer's",
        "NotifyClientTermination",
        {"group": GROUP},
        (_LITE, _ADDED),
        topic=Topic("LITE"),
        group=_LITE_GROUP,
    ),
]
