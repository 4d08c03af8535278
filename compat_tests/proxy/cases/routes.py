"""Routes and assignments of topics with odd permissions and numbers of queues."""

from __future__ import annotations

from typing import Final

from compat_tests.proxy.case import Case, Topic
from compat_tests.proxy.cases.usual import ENDPOINTS, GROUP, MISSING, TOPIC, Fields

ASKED: Final[Fields] = {"topic": TOPIC, "endpoints": ENDPOINTS}
ASSIGNED: Final[Fields] = {**ASKED, "group": GROUP}
TOPICS: Final = {
    "usual": Topic(reads=2, writes=2),
    "more to read": Topic(reads=3, writes=1),
    "more to write": Topic(reads=1, writes=3),
    "read-only": Topic(reads=2, writes=3, perm=4),
    "write-only": Topic(reads=2, writes=3, perm=2),
    "closed": Topic(reads=2, writes=3, perm=0),
    "inherited only": Topic(reads=2, writes=3, perm=1),
    "not there": MISSING,
}
KINDS: Final = ("FIFO", "DELAY", "TRANSACTION", "PRIORITY", "LITE", "MIXED", "UNSPECIFIED")
ADDRESSES: Final = {
    "none": None,
    "a name": {"scheme": "DOMAIN_NAME", "addresses": [{"host": "proxy.example", "port": 80}]},
    "IPv6": {"scheme": "IPv6", "addresses": [{"host": "::1", "port": 80}]},
    "two": {
        "scheme": "IPv4",
        "addresses": [{"host": "10.0.0.1", "port": 80}, {"host": "10.0.0.2", "port": 81}],
    },
    "without a scheme": {"addresses": [{"host": "10.0.0.1", "port": 80}]},
}

CASES: Final = [
    *(Case(f"route: {name}", "QueryRoute", ASKED, topic=topic) for name, topic in TOPICS.items()),
    *(Case(f"route: of {kind}", "QueryRoute", ASKED, topic=Topic(kind)) for kind in KINDS),
    *(
        Case(
            f"route: endpoints {name}",
            "QueryRoute",
            {"topic": TOPIC, **({"endpoints": given} if given else {})},
        )
        for name, given in ADDRESSES.items()
    ),
    Case(
        "route: resource with a namespace",
        "QueryRoute",
        {"topic": {"resource_namespace": "ns", "name": "{topic}"}, "endpoints": ENDPOINTS},
    ),
    *(
        Case(f"assignment: {name}", "QueryAssignment", ASSIGNED, topic=topic)
        for name, topic in TOPICS.items()
    ),
    *(
        Case(
            f"assignment: FIFO group, {name}",
            "QueryAssignment",
            ASSIGNED,
            topic=topic,
            group={"consumeMessageOrderly": True},
        )
        for name, topic in TOPICS.items()
    ),
    Case("assignment: unknown group", "QueryAssignment", ASSIGNED, group=None),
    Case("assignment: without endpoints", "QueryAssignment", {"topic": TOPIC, "group": GROUP}),
    Case(
        "assignment: lite group",
        "QueryAssignment",
        ASSIGNED,
        topic=Topic("LITE", 2, 2),
        group={"consumeMessageOrderly": True, "attributes": {"+lite.bind.topic": "{topic}"}},
    ),
]
