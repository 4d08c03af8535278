"""ReceiveMessage: polling times and deadlines, invisible times, filters, and what a message looks like."""

from __future__ import annotations

from typing import Final

from compat_tests.proxy.case import Case, Step, Topic
from compat_tests.proxy.cases.usual import (
    HELD,
    MISSING,
    PRODUCER,
    PUSH,
    SENT,
    SIMPLE,
    Fields,
    message,
    receiving,
    sending,
    settings,
    table,
    telling,
)

_READY: Final = (SIMPLE, SENT)
FOUND: Final[dict[str, Fields]] = {
    "usual": receiving(),
    "batch of 1": receiving(batch_size=1),
    "batch of 0": receiving(batch_size=0),
    "batch of 33": receiving(batch_size=33),
    "batch of -1": receiving(batch_size=-1),
    "invisible for 10 s": receiving(invisible_duration={"seconds": 10}),
    "invisible for 9.999 s": receiving(invisible_duration={"seconds": 9, "nanos": 999_000_000}),
    "invisible for 12 h": receiving(invisible_duration={"seconds": 43200}),
    "invisible beyond 12 h": receiving(invisible_duration={"seconds": 43201}),
    "invisible for less than nothing": receiving(invisible_duration={"seconds": -1}),
    "without an invisible time": receiving(invisible_duration=None),
    "renewed": receiving(auto_renew=True),
    "renewed, with a short invisible time": receiving(
        auto_renew=True, invisible_duration={"seconds": 1}
    ),
    "renewed, with an attempt id": receiving(auto_renew=True, attempt_id="attempt"),
    "attempt id": receiving(attempt_id="attempt"),
    "empty attempt id": receiving(attempt_id=""),
    "no filter": receiving(filter_expression=None),
    "empty filter": receiving(filter_expression={"type": "TAG", "expression": ""}),
    "filter without a type": receiving(filter_expression={"expression": "*"}),
    "filter of an unknown type": receiving(filter_expression={"type": 9, "expression": "*"}),
    "SQL": receiving(filter_expression={"type": "SQL", "expression": "a IS NULL"}),
    "empty SQL": receiving(filter_expression={"type": "SQL", "expression": ""}),
    "broken SQL": receiving(filter_expression={"type": "SQL", "expression": "a ="}),
    "tags with bars only": receiving(filter_expression={"type": "TAG", "expression": "||"}),
    "no broker": receiving(message_queue={"topic": {"name": "{topic}"}}),
    "unknown broker": receiving(
        message_queue={"topic": {"name": "{topic}"}, "broker": {"name": "broker-z"}}
    ),
    "queue 0": receiving(
        message_queue={"topic": {"name": "{topic}"}, "id": 0, "broker": {"name": "broker-a"}}
    ),
}
_REMAINING: Final = {
    "deadline of 4 s": (receiving(), 4.0, "5.1.0"),
    "deadline of 4 s, client 5.0.2": (receiving(), 4.0, "5.0.2"),
    "deadline of 4 s, client 5.0.3": (receiving(), 4.0, "5.0.3"),
    "deadline of 4 s, client v5.1.2": (receiving(), 4.0, "v5.1.2"),
    "deadline of 4 s, no version": (receiving(), 4.0, None),
    "deadline of 4 s, no polling time": (receiving(long_polling_timeout=None), 4.0, "5.1.0"),
    "deadline of 6 s, polling for 20 s": (
        receiving(long_polling_timeout={"seconds": 20}),
        6.0,
        "5.1.0",
    ),
    "no polling time": (receiving(long_polling_timeout=None), 30.0, "5.1.0"),
    "polling for an hour": (receiving(long_polling_timeout={"seconds": 3600}), 60.0, "5.1.0"),
    "polling for no time": (receiving(long_polling_timeout={"seconds": 0}), 30.0, "5.1.0"),
    "polling for less than nothing": (
        receiving(long_polling_timeout={"seconds": -5}),
        30.0,
        "5.1.0",
    ),
}
MESSAGES: Final[dict[str, Fields]] = {
    "everything": message(
        user={"a": "1", "b": "\u00e4"}, tag="T", keys=["k1", "k2"], trace_context="trace"
    ),
    "gzip that is none": message(b"plain", body_encoding="GZIP"),
    "key with a space": message(keys=["a b", ""]),
    "no born host": message(born_host=None),
    "no born time": message(born_timestamp=None),
    "delivery attempt": message(delivery_attempt=3),
    "odd message id": message(message_id="x y"),
}
_TYPED: Final = {
    "FIFO": (message(message_group="g", message_type="FIFO"), Topic("FIFO")),
    "DELAY, in the past": (
        message(delivery_timestamp={"seconds": "{now-5}"}, message_type="DELAY"),
        Topic("DELAY"),
    ),
    "PRIORITY": (message(priority=0, message_type="PRIORITY"), Topic("PRIORITY")),
}


_ORDERLY: Final = (
    PUSH,
    Step("SendMessage", sending(message(message_group="g", message_type="FIFO"))),
    Step("ReceiveMessage", receiving(attempt_id="attempt")),
)
_AGAIN_IN_A_SECOND: Final = Step(
    "ChangeInvisibleDuration",
    {
        "topic": {"name": "{topic}"},
        "group": {"name": "{group}"},
        "receipt_handle": "{handle}",
        "invisible_duration": {"seconds": 1},
    },
)


def _telemetry(kind: str, **more: object) -> Step:
    return Step("Telemetry", telling(settings(kind, **more)))


CASES: Final = [
    *table("receive", "ReceiveMessage", FOUND, _READY),
    *(
        Case(
            f"receive: {name}",
            "ReceiveMessage",
            fields,
            _READY,
            timeout=timeout,
            metadata={"x-mq-client-version": version},
        )
        for name, (fields, timeout, version) in _REMAINING.items()
    ),
    *(
        Case(
            f"received message: {name}",
            "ReceiveMessage",
            receiving(),
            (SIMPLE, Step("SendMessage", sending(row))),
        )
        for name, row in MESSAGES.items()
    ),
    *(
        Case(
            f"received message: {name}",
            "ReceiveMessage",
            receiving(),
            (SIMPLE, Step("SendMessage", sending(row))),
            topic=topic,
        )
        for name, (row, topic) in _TYPED.items()
    ),
    Case(
        "received message: of a batch",
        "ReceiveMessage",
        receiving(),
        (SIMPLE, Step("SendMessage", sending(message(b"1"), message(b"2", message_id="M2")))),
    ),
    Case(
        "received message: a second time",
        "ReceiveMessage",
        receiving(long_polling_timeout={"seconds": 20}),
        (*HELD, _AGAIN_IN_A_SECOND),
        timeout=30,
    ),
    Case(
        "receive: worn out the second time",
        "ReceiveMessage",
        receiving(long_polling_timeout={"seconds": 20}),
        (*HELD, _AGAIN_IN_A_SECOND),
        group={"retryMaxTimes": 0},
        timeout=30,
    ),
    *(
        Case(
            f"receive: by an orderly group, {name}",
            "ReceiveMessage",
            receiving(attempt_id=attempt),
            _ORDERLY,
            topic=Topic("FIFO"),
            group={"consumeMessageOrderly": True},
        )
        for name, attempt in {"the same attempt": "attempt", "another attempt": "other"}.items()
    ),
    Case("receive: without settings", "ReceiveMessage", receiving()),
    Case("receive: by a producer", "ReceiveMessage", receiving(), (PRODUCER, SENT)),
    Case("receive: by a push consumer", "ReceiveMessage", receiving(), (PUSH, SENT)),
    Case(
        "receive: by a pull consumer",
        "ReceiveMessage",
        receiving(),
        (_telemetry("PULL_CONSUMER"), SENT),
    ),
    Case(
        "receive: by an orderly group",
        "ReceiveMessage",
        receiving(auto_renew=True, attempt_id="attempt"),
        (PUSH, Step("SendMessage", sending(message(message_group="g", message_type="FIFO")))),
        topic=Topic("FIFO"),
        group={"consumeMessageOrderly": True},
    ),
    Case("receive: nothing there", "ReceiveMessage", receiving(), (SIMPLE,)),
    Case(
        "receive: nothing that matches",
        "ReceiveMessage",
        receiving(filter_expression={"type": "TAG", "expression": "other"}),
        _READY,
    ),
    Case("receive: a new group", "ReceiveMessage", receiving(), _READY, group=None),
    *(
        Case(f"receive: topic {name}", "ReceiveMessage", receiving(), (SIMPLE,), topic=topic)
        for name, topic in {
            "not there": MISSING,
            "write-only": Topic(perm=2),
            "read-only": Topic(perm=4),
            "closed": Topic(perm=0),
        }.items()
    ),
    Case(
        "receive: group closed",
        "ReceiveMessage",
        receiving(),
        _READY,
        group={"consumeEnable": False},
    ),
    Case(
        "receive: worn out at once",
        "ReceiveMessage",
        receiving(),
        _READY,
        group={"retryMaxTimes": -1},
    ),
]
