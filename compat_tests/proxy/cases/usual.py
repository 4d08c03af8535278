"""Fields as the official clients fill them in; a case changes one or leaves it out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from compat_tests.proxy.case import Case, Step, Topic

Fields = dict[str, Any]

TOPIC: Final[Fields] = {"name": "{topic}"}
GROUP: Final[Fields] = {"name": "{group}"}
ENDPOINTS: Final[Fields] = {
    "scheme": "IPv4",
    "addresses": [{"host": "127.0.0.1", "port": "{port}"}],
}
ID: Final = "01ABCDEF0123456789ABCDEF0123456789"
MISSING: Final = Topic("")


def message(
    body: bytes = b"hello",
    user: Mapping[str, str] | None = None,
    topic: str = "{topic}",
    **system: Any,
) -> Fields:
    usual = {
        "message_id": ID,
        "message_type": "NORMAL",
        "body_encoding": "IDENTITY",
        "born_host": "client-host",
        "born_timestamp": {"seconds": "{now}"},
    }
    given = {key: value for key, value in {**usual, **system}.items() if value is not None}
    return {
        "topic": {"name": topic},
        "body": body,
        "user_properties": dict(user or {}),
        "system_properties": given,
    }


def sending(*messages: Fields) -> Fields:
    return {"messages": list(messages)}


def settings(kind: str = "SIMPLE_CONSUMER", **more: Any) -> Fields:
    """Of a consumer; `more`: fields of the subscription."""
    subscription = {
        "group": GROUP,
        "subscriptions": [{"topic": TOPIC, "expression": {"type": "TAG", "expression": "*"}}],
        "long_polling_timeout": {"seconds": 20},
    }
    return {
        "client_type": kind,
        "access_point": ENDPOINTS,
        "request_timeout": {"seconds": 3},
        "subscription": {**subscription, **more},
        "user_agent": {
            "language": "JAVA",
            "version": "5.1.0",
            "platform": "Linux",
            "hostname": "h",
        },
    }


def publishing(*topics: str, **more: Any) -> Fields:
    """A producer's settings."""
    return {
        "client_type": "PRODUCER",
        "access_point": ENDPOINTS,
        "request_timeout": {"seconds": 3},
        "publishing": {"topics": [{"name": name} for name in topics]},
        **more,
    }


def telling(*each: Fields) -> Fields:
    """Commands of Telemetry."""
    return {"commands": [{"settings": one} for one in each]}


def receiving(**fields: Any) -> Fields:
    usual = {
        "group": GROUP,
        "message_queue": {"topic": TOPIC, "id": -1, "broker": {"name": "broker-a"}},
        "filter_expression": {"type": "TAG", "expression": "*"},
        "batch_size": 8,
        "invisible_duration": {"seconds": 30},
        "long_polling_timeout": {"seconds": 5},
    }
    given = {**usual, **fields}
    return {key: value for key, value in given.items() if value is not None}


SIMPLE: Final = Step("Telemetry", telling(settings()))
PUSH: Final = Step("Telemetry", telling(settings("PUSH_CONSUMER")))
PRODUCER: Final = Step("Telemetry", telling(publishing("{topic}")))
SENT: Final = Step("SendMessage", sending(message()))
HANDLE: Final = {"handle": "message.system_properties.receipt_handle"}
RECEIVED: Final = Step("ReceiveMessage", receiving(), HANDLE)
# A message that its consumer holds.
HELD: Final = (SIMPLE, SENT, RECEIVED)


def table(
    prefix: str, call: str, rows: Mapping[str, Fields], before: tuple[Step, ...] = (), **more: Any
) -> list[Case]:
    """A case for each row's fields."""
    return [Case(f"{prefix}: {name}", call, row, before, **more) for name, row in rows.items()]
