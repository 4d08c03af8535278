"""Names and callers, for every call that takes them: what is refused before anything is asked."""

from __future__ import annotations

from typing import Any, Final

from compat_tests.proxy.case import Case
from compat_tests.proxy.cases.usual import (
    ENDPOINTS,
    GROUP,
    PUSH,
    SIMPLE,
    TOPIC,
    Fields,
    message,
    publishing,
    receiving,
    sending,
    settings,
    telling,
)

NAMES: Final = {
    "empty": "",
    "blank": "  ",
    "illegal": "a b!",
    "127 long": "t" * 127,
    "128 long": "t" * 128,
    "of the system": "TBW102",
    "of the system, by its beginning": "rmq_sys_x",
    "of a group's retries": "%RETRY%g",
    "of a group's dead letters": "%DLQ%g",
    "accented": "caf\u00e9",
    "in a namespace": "ns%name",
    "with a bar": "a|b",
}
GROUPS: Final = {
    "empty": "",
    "blank": "\t",
    "illegal": "a/b",
    "120 long": "g" * 120,
    "121 long": "g" * 121,
    "of the system": "CID_RMQ_SYS_x",
    "of tools": "TOOLS_CONSUMER",
    "of self tests": "SELF_TEST_C_GROUP",
}
# Every call with fields that are right.
CALLS: Final[dict[str, Fields]] = {
    "QueryRoute": {"topic": TOPIC, "endpoints": ENDPOINTS},
    "Heartbeat": {"group": GROUP, "client_type": "SIMPLE_CONSUMER"},
    "SendMessage": sending(message()),
    "QueryAssignment": {"topic": TOPIC, "group": GROUP, "endpoints": ENDPOINTS},
    "ReceiveMessage": receiving(),
    "AckMessage": {"topic": TOPIC, "group": GROUP, "entries": [{"receipt_handle": "h"}]},
    "ForwardMessageToDeadLetterQueue": {"topic": TOPIC, "group": GROUP, "receipt_handle": "h"},
    "EndTransaction": {"topic": TOPIC, "message_id": "m", "transaction_id": "t"},
    "NotifyClientTermination": {"group": GROUP},
    "ChangeInvisibleDuration": {
        "topic": TOPIC,
        "group": GROUP,
        "receipt_handle": "h",
        "invisible_duration": {"seconds": 30},
    },
    "RecallMessage": {"topic": TOPIC, "recall_handle": "h"},
    "SyncLiteSubscription": {"topic": TOPIC, "group": GROUP, "action": "PARTIAL_ADD"},
    "Telemetry": telling(settings()),
}
UNIMPLEMENTED: Final[dict[str, Fields]] = {
    "PullMessage": {"group": GROUP},
    "UpdateOffset": {"group": GROUP},
    "GetOffset": {"group": GROUP},
    "QueryOffset": {},
}


def _with_topic(call: str, name: str) -> Fields:
    if call == "SendMessage":
        return sending(message(topic=name))
    if call == "ReceiveMessage":
        return receiving(message_queue={"topic": {"name": name}})
    if call == "Telemetry":
        return telling(publishing(name))
    return {**CALLS[call], "topic": {"name": name}}


def _with_group(call: str, name: str) -> Fields:
    if call == "Telemetry":
        return telling(settings(group={"name": name}))
    return {**CALLS[call], "group": {"name": name}}


def _in_namespace(fields: Any) -> Any:
    """The same with a namespace in each resource."""
    if isinstance(fields, dict):
        if fields in (TOPIC, GROUP):
            return {"resource_namespace": "ns", **fields}
        return {key: _in_namespace(value) for key, value in fields.items()}
    if isinstance(fields, list):
        return [_in_namespace(value) for value in fields]
    return fields


CASES: Final = [
    *(
        Case(f"namespace: {call}", call, _in_namespace(fields), (SIMPLE,))
        for call, fields in CALLS.items()
    ),
    Case(
        "caller: in a namespace",
        "QueryRoute",
        CALLS["QueryRoute"],
        metadata={"x-mq-namespace": "ns"},
    ),
    Case(
        "caller: of another protocol",
        "QueryRoute",
        CALLS["QueryRoute"],
        metadata={"x-mq-protocol": "v1"},
    ),
    *(
        Case(f"caller: {call} without a client id", call, fields, metadata={"x-mq-client-id": None})
        for call, fields in CALLS.items()
    ),
    Case(
        "caller: a blank client id",
        "QueryRoute",
        CALLS["QueryRoute"],
        metadata={"x-mq-client-id": " "},
    ),
    Case(
        "caller: without a language",
        "QueryRoute",
        CALLS["QueryRoute"],
        metadata={"x-mq-language": None},
    ),
    *(
        Case(
            f"caller: telemetry, language {name}", "Telemetry", telling(settings()), metadata=given
        )
        for name, given in {
            "none": {"x-mq-language": None},
            "CPP": {"x-mq-language": "CPP"},
            "DOT_NET": {"x-mq-language": "DOT_NET"},
            "nobody's": {"x-mq-language": "COBOL"},
        }.items()
    ),
    Case(
        "caller: telemetry without a version",
        "Telemetry",
        telling(settings()),
        metadata={"x-mq-client-version": None},
    ),
    *(Case(f"unimplemented: {call}", call, fields) for call, fields in UNIMPLEMENTED.items()),
    *(
        Case(f"topic name: {name}", "QueryRoute", _with_topic("QueryRoute", topic))
        for name, topic in NAMES.items()
    ),
    *(
        Case(f"topic name: {name} to {call}", call, _with_topic(call, topic), before)
        for name, topic in (("empty", ""), ("illegal", "a b!"), ("of the system", "TBW102"))
        for call, before in (
            ("SendMessage", ()),
            ("QueryAssignment", ()),
            ("ReceiveMessage", (SIMPLE,)),
            ("AckMessage", ()),
            ("ForwardMessageToDeadLetterQueue", ()),
            ("EndTransaction", ()),
            ("ChangeInvisibleDuration", ()),
            ("RecallMessage", ()),
            ("SyncLiteSubscription", ()),
            ("Telemetry", ()),
        )
    ),
    *(
        Case(f"group name: {name}", "QueryAssignment", _with_group("QueryAssignment", group))
        for name, group in GROUPS.items()
    ),
    *(
        Case(f"group name: {name} to {call}", call, _with_group(call, group), before)
        for name, group in (("empty", ""), ("of the system", "CID_RMQ_SYS_x"))
        for call, before in (
            ("Heartbeat", (PUSH,)),
            ("ReceiveMessage", (SIMPLE,)),
            ("AckMessage", ()),
            ("ForwardMessageToDeadLetterQueue", ()),
            ("NotifyClientTermination", (PUSH,)),
            ("ChangeInvisibleDuration", ()),
            ("SyncLiteSubscription", ()),
            ("Telemetry", ()),
        )
    ),
]
