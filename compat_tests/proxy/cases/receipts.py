"""Receipt handles: malformed, expired, of another broker, used twice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from compat_tests.proxy.case import Case, Step, Topic
from compat_tests.proxy.cases.usual import (
    GROUP,
    HANDLE,
    HELD,
    ID,
    PUSH,
    SENT,
    TOPIC,
    Fields,
    message,
    receiving,
    sending,
)

HANDLES: Final = {
    "right": "{handle}",
    "empty": "",
    "a word": "handle",
    "eight words": "a b c d e f g h",
    "without a log offset": "{handle_short}",
    "of seven parts": "{handle_shorter}",
    "expired": "{handle_expired}",
    "of another broker": "{handle_elsewhere}",
    "of another queue": "{handle_queue}",
    "of another offset": "{handle_offset}",
    "with a word as offset": "{handle_words}",
    "of another place in the log": "{handle_log}",
    "with a word as log offset": "{handle_log_words}",
    "with a tenth part": "{handle_more}",
}
_RENEWED: Final = (PUSH, SENT, Step("ReceiveMessage", receiving(auto_renew=True), HANDLE))


def acked(*handles: str, **more: object) -> Fields:
    entries = [{"message_id": ID, "receipt_handle": handle, **more} for handle in handles]
    return {"topic": TOPIC, "group": GROUP, "entries": entries}


def changed(handle: str, **more: object) -> Fields:
    usual = {
        "topic": TOPIC,
        "group": GROUP,
        "receipt_handle": handle,
        "message_id": ID,
        "invisible_duration": {"seconds": 30},
    }
    given = {**usual, **more}
    return {key: value for key, value in given.items() if value is not None}


def forwarded(handle: str, **more: object) -> Fields:
    return {
        "topic": TOPIC,
        "group": GROUP,
        "receipt_handle": handle,
        "message_id": ID,
        "delivery_attempt": 1,
        "max_delivery_attempts": 16,
        **more,
    }


CALLS: Final[dict[str, tuple[str, Callable[[str], Fields]]]] = {
    "ack": ("AckMessage", acked),
    "change": ("ChangeInvisibleDuration", changed),
    "forward": ("ForwardMessageToDeadLetterQueue", forwarded),
}
CHANGES: Final[dict[str, Fields]] = {
    "by nothing": changed("{handle}", invisible_duration={"seconds": 0}),
    "by less than nothing": changed("{handle}", invisible_duration={"seconds": -1}),
    "by 12 h": changed("{handle}", invisible_duration={"seconds": 43200}),
    "beyond 12 h": changed("{handle}", invisible_duration={"seconds": 43201}),
    "without a time": changed("{handle}", invisible_duration=None),
    "suspended": changed("{handle}", suspend=True),
    "with a lite topic": changed("{handle}", lite_topic="l"),
    "without a message id": changed("{handle}", message_id=None),
}
_ACK: Final = Step("AckMessage", acked("{handle}"))
_CHANGED: Final = Step("ChangeInvisibleDuration", changed("{handle}"), {"newer": "receipt_handle"})

CASES: Final = [
    *(
        Case(f"{name}: {what}", call, fields(handle), HELD)
        for name, (call, fields) in CALLS.items()
        for what, handle in HANDLES.items()
    ),
    *(
        Case(f"{name}: renewed", call, fields("{handle}"), _RENEWED)
        for name, (call, fields) in CALLS.items()
    ),
    *(
        Case(f"{name}: acknowledged already", call, fields("{handle}"), (*HELD, _ACK))
        for name, (call, fields) in CALLS.items()
    ),
    *(
        Case(f"{name}: by the older handle", call, fields("{handle}"), (*HELD, _CHANGED))
        for name, (call, fields) in CALLS.items()
    ),
    *(
        Case(f"{name}: by the newer handle", call, fields("{newer}"), (*HELD, _CHANGED))
        for name, (call, fields) in CALLS.items()
    ),
    *(
        Case(
            f"{name}: renewed, by the newer handle", call, fields("{newer}"), (*_RENEWED, _CHANGED)
        )
        for name, (call, fields) in CALLS.items()
    ),
    *(
        Case(
            f"{name}: of an orderly group",
            call,
            fields("{handle}"),
            (
                PUSH,
                Step("SendMessage", sending(message(message_group="g", message_type="FIFO"))),
                Step("ReceiveMessage", receiving(), HANDLE),
            ),
            topic=Topic("FIFO"),
            group={"consumeMessageOrderly": True},
        )
        for name, (call, fields) in CALLS.items()
    ),
    *(
        Case(f"change: {name}", "ChangeInvisibleDuration", row, HELD)
        for name, row in CHANGES.items()
    ),
    Case("ack: no entry", "AckMessage", acked()),
    Case("ack: one right, one wrong", "AckMessage", acked("{handle}", "wrong"), HELD),
    Case("ack: two wrong", "AckMessage", acked("wrong", "wronger"), HELD),
    Case("ack: the same twice", "AckMessage", acked("{handle}", "{handle}"), HELD),
    Case("ack: with a lite topic", "AckMessage", acked("{handle}", lite_topic="l"), HELD),
    Case("ack: without settings, wrong", "AckMessage", acked("wrong")),
    Case("change: without settings, wrong", "ChangeInvisibleDuration", changed("wrong")),
    Case("forward: without settings, wrong", "ForwardMessageToDeadLetterQueue", forwarded("wrong")),
    Case(
        "forward: with a lite topic",
        "ForwardMessageToDeadLetterQueue",
        forwarded("{handle}", lite_topic="l"),
        HELD,
    ),
    Case(
        "ack: of another group",
        "AckMessage",
        {**acked("{handle}"), "group": {"name": "{tag}other"}},
        HELD,
    ),
    Case(
        "ack: of another topic",
        "AckMessage",
        {**acked("{handle}"), "topic": {"name": "{tag}other"}},
        HELD,
    ),
]
