"""Settings as they come back, by type of client and by the group's own; heartbeats and goodbyes."""

from __future__ import annotations

from typing import Final

from compat_tests.proxy.case import Case, Step, Topic
from compat_tests.proxy.cases.usual import (
    GROUP,
    PRODUCER,
    PUSH,
    SIMPLE,
    TOPIC,
    Fields,
    publishing,
    settings,
    table,
    telling,
)

COMMANDS: Final[dict[str, Fields]] = {
    "no command": {"commands": [{}]},
    "only a status": {"commands": [{"status": {"code": "OK", "message": "OK"}}]},
    "empty settings": telling({}),
    "settings without kind": telling({"client_type": "PRODUCER"}),
    "producer": telling(publishing("{topic}")),
    "producer without topics": telling(publishing()),
    "producer of two topics": telling(publishing("{topic}", "{topic}b")),
    "producer with its own attempts": telling(
        publishing(
            "{topic}",
            backoff_policy={"max_attempts": 9, "exponential_backoff": {"multiplier": 5}},
        )
    ),
    "producer with customized back-off": telling(
        publishing("{topic}", backoff_policy={"customized_backoff": {"next": [{"seconds": 1}]}})
    ),
    "producer without client type": telling(publishing("{topic}", client_type=0)),
    "publishing of a consumer's type": telling(publishing("{topic}", client_type="PUSH_CONSUMER")),
    "simple consumer": telling(settings()),
    "push consumer": telling(settings("PUSH_CONSUMER")),
    "pull consumer": telling(settings("PULL_CONSUMER")),
    "lite push consumer": telling(settings("LITE_PUSH_CONSUMER")),
    "lite simple consumer": telling(settings("LITE_SIMPLE_CONSUMER")),
    "consumer without client type": telling(settings("CLIENT_TYPE_UNSPECIFIED")),
    "subscription of a producer's type": telling(settings("PRODUCER")),
    "unknown client type": telling({**settings(), "client_type": 42}),
    "consumer without subscriptions": telling(settings(subscriptions=[])),
    "consumer with its own numbers": telling(
        settings(fifo=True, receive_batch_size=3, long_polling_timeout={"seconds": 1})
    ),
    "consumer with SQL": telling(
        settings(
            subscriptions=[{"topic": TOPIC, "expression": {"type": "SQL", "expression": "a > 1"}}]
        )
    ),
    "consumer with broken SQL": telling(
        settings(
            subscriptions=[{"topic": TOPIC, "expression": {"type": "SQL", "expression": "a >"}}]
        )
    ),
    "consumer with two tags": telling(
        settings(
            subscriptions=[{"topic": TOPIC, "expression": {"type": "TAG", "expression": "a || b"}}]
        )
    ),
    "consumer without expression": telling(settings(subscriptions=[{"topic": TOPIC}])),
    "consumer of an illegal topic": telling(settings(subscriptions=[{"topic": {"name": "a b"}}])),
    "with a metric": telling({**settings(), "metric": {"on": True}}),
    "twice": telling(settings(), settings()),
    "stack trace without a question": {
        "commands": [{"thread_stack_trace": {"nonce": "n", "thread_stack_trace": "t"}}]
    },
    "verify result without a question": {"commands": [{"verify_message_result": {"nonce": "n"}}]},
    "a server's command": {"commands": [{"print_thread_stack_trace_command": {"nonce": "n"}}]},
}
EXPONENTIAL: Final[Fields] = {"initial": 1000, "max": 60000, "multiplier": 3}
GROUPS: Final[dict[str, Fields | None]] = {
    "unknown": None,
    "orderly": {"consumeMessageOrderly": True},
    "retried 3 times": {"retryMaxTimes": 3},
    "retried never": {"retryMaxTimes": 0},
    "retried without end": {"retryMaxTimes": -1},
    "exponential": {
        "groupRetryPolicy": {"type": "EXPONENTIAL", "exponentialRetryPolicy": EXPONENTIAL}
    },
    "exponential without numbers": {"groupRetryPolicy": {"type": "EXPONENTIAL"}},
    "customized": {
        "groupRetryPolicy": {
            "type": "CUSTOMIZED",
            "customizedRetryPolicy": {"next": [1000, 1500, 60000]},
        }
    },
    "customized without numbers": {"groupRetryPolicy": {"type": "CUSTOMIZED"}},
    "customized, empty": {
        "groupRetryPolicy": {"type": "CUSTOMIZED", "customizedRetryPolicy": {"next": []}}
    },
    "with a lite quota": {
        "attributes": {"+lite.bind.topic": "{topic}", "+lite.sub.client.quota": "7"}
    },
    "closed": {"consumeEnable": False},
}
HEARTBEAT: Final[Fields] = {"group": GROUP, "client_type": "SIMPLE_CONSUMER"}

CASES: Final = [
    *table("telemetry", "Telemetry", COMMANDS),
    *(
        Case(f"settings of a group: {name}", "Telemetry", telling(settings()), group=group)
        for name, group in GROUPS.items()
    ),
    Case(
        "settings of a group: orderly, push",
        "Telemetry",
        telling(settings("PUSH_CONSUMER")),
        group={"consumeMessageOrderly": True, "retryMaxTimes": 5},
    ),
    Case(
        "telemetry: producer of a transaction's topic",
        "Telemetry",
        telling(publishing("{topic}")),
        topic=Topic("TRANSACTION"),
    ),
    Case(
        "telemetry: producer of a topic that is not there",
        "Telemetry",
        telling(publishing("{topic}")),
        topic=Topic(""),
    ),
    Case(
        "telemetry: a consumer that was a producer", "Telemetry", telling(settings()), (PRODUCER,)
    ),
    Case(
        "telemetry: a producer that was a consumer",
        "Telemetry",
        telling(publishing("{topic}")),
        (SIMPLE,),
    ),
    Case("heartbeat: without settings", "Heartbeat", HEARTBEAT),
    Case("heartbeat: a simple consumer's", "Heartbeat", HEARTBEAT, (SIMPLE,)),
    Case("heartbeat: a push consumer's", "Heartbeat", {"group": GROUP}, (PUSH,)),
    Case("heartbeat: of another group", "Heartbeat", {"group": {"name": "{tag}other"}}, (SIMPLE,)),
    Case("heartbeat: a producer's", "Heartbeat", {"client_type": "PRODUCER"}, (PRODUCER,)),
    Case(
        "heartbeat: a transaction producer's",
        "Heartbeat",
        {"client_type": "PRODUCER"},
        (PRODUCER,),
        topic=Topic("TRANSACTION"),
    ),
    *(
        Case(
            f"heartbeat: of type {kind}",
            "Heartbeat",
            HEARTBEAT,
            (Step("Telemetry", telling(settings(kind))),),
        )
        for kind in ("PULL_CONSUMER", "LITE_PUSH_CONSUMER", "CLIENT_TYPE_UNSPECIFIED", "PRODUCER")
    ),
    Case("goodbye: without settings", "NotifyClientTermination", {"group": GROUP}),
    Case("goodbye: a simple consumer's", "NotifyClientTermination", {"group": GROUP}, (SIMPLE,)),
    Case("goodbye: a push consumer's", "NotifyClientTermination", {"group": GROUP}, (PUSH,)),
    Case("goodbye: a producer's", "NotifyClientTermination", {}, (PRODUCER,)),
    Case(
        "goodbye: twice",
        "NotifyClientTermination",
        {"group": GROUP},
        (SIMPLE, Step("NotifyClientTermination", {"group": GROUP})),
    ),
    Case(
        "heartbeat: after the goodbye",
        "Heartbeat",
        HEARTBEAT,
        (SIMPLE, Step("NotifyClientTermination", {"group": GROUP})),
    ),
]
