"""SQL92 where it is allowed: what is refused with which code, and what pulls find.

The setting is the whole broker's, so these cases come alone, and each takes it back.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

from compat_tests.wire import reading
from compat_tests.wire.asks import (
    PULL_CLASS_FILTER,
    PULL_SUBSCRIPTION,
    PULL_SUSPEND,
    ask,
    body_of,
    changed,
    consumer,
    create_topic,
    heartbeat,
    properties,
    pull,
    send,
    send_batch,
    subscription,
    unregister,
)
from compat_tests.wire.case import Case
from compat_tests.wire.frames import Frame
from compat_tests.wire.records import batch_body, read_records
from compat_tests.wire.stage import Stage

UPDATE: Final = 25
CHECK: Final = 46
QUERY_QUEUE: Final = 321
RETRY: Final = "%RETRY%$G"
HOLD: Final = PULL_SUBSCRIPTION | PULL_SUSPEND
# Queue entries that a pull looks at, and messages of a batch send.
SCANNED: Final = 800
BATCH: Final = 100

READABLE: Final = (
    *(
        "a > 5 AND b = 'x'",
        "a BETWEEN 1 AND 3 OR b IN ('x', 'y') OR NOT c IS NULL",
        "a",
        "TRUE",
        "a = b",
    ),
    *("a = 5 anything else", "a = 007", "5 CONTAINS 'x'", "a = -2147483648", "TRUE = a"),
)
UNREADABLE: Final = (
    *(
        "",
        "a >",
        "5",
        "a = 'x",
        "a > 5 AND",
        "(a > 5",
        "a == 5",
        "a = 5 NOT x",
        "a = 5 #",
        "a > 'x'",
        "5 IN ('x')",
    ),
    *(
        "a = NULL",
        "a = 0.0",
        "a = 9223372036854775808",
        "a BETWEEN 5 AND 1",
        "a LIKE 'x'  = 5 AND",
        "*",
    ),
)
MESSAGES: Final = (
    {"a": "1"},
    {"a": "7", "b": "x"},
    {"b": "x"},
    {"a": "seven"},
    {"a": "7", "b": "y"},
    {},
    {"a": " 7 ", "c": "true"},
    {"a": "7.0", "b": "7.0"},
)
EXPRESSIONS: Final = (
    *(
        "a > 5",
        "a > 5.0",
        "a = 7",
        "a = '7'",
        "a <> '7'",
        "NOT a = '7'",
        "a = b",
        "a <> b",
        "b = a",
        "a IS NULL",
    ),
    *(
        "a IS NOT NULL",
        "a",
        "NOT a",
        "a > 5 OR TRUE",
        "TRUE OR a > 5",
        "c = TRUE",
        "TRUE = c",
        "a = b OR b IS NULL",
    ),
    *(
        "a BETWEEN 1 AND 9.5",
        "b IN ('x', '7.0')",
        "b NOT IN ('x')",
        "a CONTAINS '7'",
        "a NOT STARTSWITH 's'",
    ),
    *(
        "missing = absent",
        "missing <> absent",
        "missing = b",
        "b = missing",
        "UNIQ_KEY = 'U3'",
        "a > 5 nonsense",
    ),
)

PULL_RETRY_IMMEDIATELY: Final = 20

Play = Callable[[Stage], None]


def cases() -> Iterator[Case]:
    yield allowed("check client, filters allowed", checks)
    yield allowed("pull, filters allowed: its own expression", own_expressions)
    yield allowed("pull, filters allowed: its own that cannot be read", own_unreadable)
    yield allowed("pull, filters allowed: the group's expression", of_group)
    yield allowed("pull, filters allowed: versions of the group's", versions)
    yield allowed("pull, filters allowed: the group comes and goes", comes_and_goes)
    yield allowed("pull, filters allowed: the scan has an end", scan)
    yield allowed("pull, filters allowed: counts and sizes", sizes)
    yield allowed("held pull, filters allowed", held)
    yield allowed("pull, filters allowed: retry topics", retries)
    yield allowed("consume queue of a group that filters", consume_queue)
    yield Case("pull, filters not allowed: codes of the group's", not_allowed)


def allowed(name: str, play: Play) -> Case:
    def played(stage: Stage) -> None:
        stage.must(ask(UPDATE, body=b"enablePropertyFilter=true\n"))
        try:
            play(stage)
        finally:
            stage.must(ask(UPDATE, body=b"enablePropertyFilter=false\nfilterSupportRetry=false\n"))

    return Case(name, played, alone=True)


def sql(expression: str, topic: str = "$T", version: int = 5, **more: object) -> object:
    known: dict[str, object] = {"expressionType": "SQL92", "tagsSet": [], "codeSet": []}
    return subscription(topic, expression, version, **{**known, **more})


def check(expression: str | None, kind: str = "SQL92") -> Frame:
    wanted = sql(expression or "", expressionType=kind, subString=expression)
    body = {"clientId": "$C", "group": "$G", "subscriptionData": wanted, "namespace": ""}
    return ask(CHECK, body=body_of(body))


def own(expression: str, **fields: object) -> Frame:
    return pull(subscription=expression, expressionType="SQL92", **fields)


def bare(**fields: object) -> Frame:
    """A pull by the group's subscription."""
    return pull(**{"sysFlag": 0, "subVersion": 5, **fields})


def brief(body: bytes) -> list[str]:
    return [f"{record.queue_offset}:{record.body[:20].decode()}" for record in read_records(body)]


def put_messages(stage: Stage, topic: str = "$T") -> None:
    stage.must(create_topic(topic))
    for number, pairs in enumerate(MESSAGES):
        known = properties(UNIQ_KEY=f"U{number}", **pairs)
        stage.must(send(f"{number}".encode(), topic=topic, properties=known))


def checks(stage: Stage) -> None:
    for expression in (*READABLE, *UNREADABLE):
        stage.show(f"{expression!r}", check(expression))
    stage.show("no expression", check(None))
    stage.show("unknown type", check("a", "ELVISH"))
    stage.show("tags", check("A", "TAG"))


def own_expressions(stage: Stage) -> None:
    put_messages(stage)
    for expression in EXPRESSIONS:
        stage.show(f"{expression!r}", own(expression), brief)
    stage.show("of nothing", own("a = 'nobody'", queueId=1), brief)
    stage.show("class filter", own("a = 7", sysFlag=PULL_SUBSCRIPTION | PULL_CLASS_FILTER), brief)
    stage.show("from 4 on", own("a > 5", queueOffset=4), brief)


def own_unreadable(stage: Stage) -> None:
    put_messages(stage)
    for expression in ("a >", "5", "*"):
        stage.show(f"{expression!r}", own(expression), brief)
    stage.show("unknown type", changed(own("a = 7"), expressionType="ELVISH"), brief)
    stage.show("empty", own(""), brief)


def of_group(stage: Stage) -> None:
    put_messages(stage)
    stage.show("nobody there", bare(), brief)
    stage.show("heartbeat", heartbeat(consumer("$G", sql("a = 7"))))
    stage.show("a = 7", bare(), brief)
    stage.show(
        "class filter", heartbeat(consumer("$G", sql("b = 'x'", version=6, classFilterMode=True)))
    )
    stage.show("everything", bare(), brief)
    stage.show("unreadable", heartbeat(consumer("$G", sql("b =", version=7))))
    stage.show("nothing", bare(), brief)
    stage.show(
        "unknown type", heartbeat(consumer("$G", sql("a", version=8, expressionType="ELVISH")))
    )
    stage.show("of unknown type", bare(), brief)
    stage.show("empty", heartbeat(consumer("$G", sql("", version=9))))
    stage.show("of an empty one", bare(), brief)
    stage.show("tags", heartbeat(consumer("$G", subscription(expression="A", version=10))))
    stage.show("by tags", bare(), brief)
    stage.show("readable again", heartbeat(consumer("$G", sql("b = 'x'", version=11))))
    stage.show("b = 'x'", bare(), brief)


def versions(stage: Stage) -> None:
    put_messages(stage)
    stage.must(heartbeat(consumer("$G", sql("a = 7"))))
    stage.show("newer than known", bare(subVersion=6), brief)
    stage.must(heartbeat(consumer("$G", sql("b = 'x'", version=4)), client="$C2"), "broker-2")
    stage.show("an older one is not heard", bare(), brief)
    stage.must(heartbeat(consumer("$G", sql("b = 'x'", version=5)), client="$C2"), "broker-2")
    stage.show("nor another of the same version", bare(), brief)
    stage.must(heartbeat(consumer("$G", sql("b = 'x'", version=6)), client="$C2"), "broker-2")
    stage.show("a newer one is", bare(), brief)
    stage.must(heartbeat(consumer("$G", sql("", version=7))))
    stage.show("the filter keeps its version", bare(subVersion=7), brief)
    stage.show("and is heeded by older pulls", bare(subVersion=6), brief)
    stage.must(heartbeat(consumer("$G", sql("b = 'x'", version=8))))
    stage.show("the same, newer", bare(subVersion=8), brief)


def comes_and_goes(stage: Stage) -> None:
    put_messages(stage)
    put_messages(stage, "$T2")
    stage.must(heartbeat(consumer("$G", sql("a = 7"), sql("b = 'x'", "$T2"))))
    stage.show("first", bare(), brief)
    stage.show("second", bare(topic="$T2"), brief)
    stage.must(heartbeat(consumer("$G", sql("a = 7"))))
    stage.show("second, not subscribed", bare(topic="$T2"), brief)
    stage.must(heartbeat(consumer("$G", sql("a = 7"), sql("b = 'x'", "$T2"))))
    stage.show("second again", bare(topic="$T2"), brief)
    stage.must(unregister(consumerGroup="$G"))
    stage.show("gone", bare(), brief)
    stage.must(heartbeat(consumer("$G", sql("b = 'x'", version=4))))
    stage.show("back with an older one", bare(subVersion=4), brief)
    stage.must(unregister(consumerGroup="$G"))
    stage.must(heartbeat(consumer("$G", sql("b = 'x'", version=5))))
    stage.show("back with another of the same version", bare(), brief)
    stage.must(unregister(consumerGroup="$G"))
    stage.must(heartbeat(consumer("$G", sql("b = 'x'", version=6))))
    stage.show("back with a newer one", bare(), brief)


def many(stage: Stage, count: int, every: int) -> None:
    """So many messages, of which every so many-th has number=yes."""
    stage.must(create_topic())
    for first in range(0, count, BATCH):
        items = [
            (
                str(n).encode(),
                {"UNIQ_KEY": f"U{n}", "number": "yes" if n % every == every - 1 else "no"},
            )
            for n in range(first, min(first + BATCH, count))
        ]
        stage.must(send_batch(batch_body(items)))


def scan(stage: Stage) -> None:
    many(stage, 1000, 900)
    stage.show("nothing yet", own("number = 'yes'"), brief)
    stage.show("there it is", own("number = 'yes'", queueOffset=SCANNED), brief)
    stage.show("one before", own("number = 'yes'", queueOffset=99), brief)
    stage.show("one later", own("number = 'yes'", queueOffset=100), brief)
    stage.show("asks for more than it looks at", own("number = 'yes'", maxMsgNums=900), brief)


def sizes(stage: Stage) -> None:
    many(stage, 300, 2)
    for count in (-1, 0, 1, 5, 32, 100):
        stage.show(f"at most {count}", own("number = 'yes'", maxMsgNums=count), brief)
    stage.show("by tags and properties", own("number = 'yes' AND TAGS = 'A'"), brief)


def held(stage: Stage) -> None:
    put_messages(stage)
    end = len(MESSAGES)
    link = stage.link()
    request = own("a > 5", sysFlag=HOLD, suspendTimeoutMillis=15_000, queueOffset=end)
    opaque = link.post(stage.request(request))
    stage.record("at once", link.has_reply(opaque, 0.3))
    stage.must(send(b"no", properties=properties(UNIQ_KEY="N", a="1")), "broker-2")
    # The real broker also looks every 5 s by itself; a client then just pulls on.
    onward = stage.request(changed(request, queueOffset=end + 1))
    answered = link.has_reply(opaque, 1)
    if answered and link.reply(opaque).code == PULL_RETRY_IMMEDIATELY:
        opaque = link.post(onward)
        answered = link.has_reply(opaque, 1)
    stage.record("after another one", answered)
    stage.must(send(b"yes", properties=properties(UNIQ_KEY="Y", a="7")), "broker-2")
    reply = link.reply(opaque)
    while reply.code == PULL_RETRY_IMMEDIATELY:
        reply = link.reply(link.post(onward))
    stage.record("after its own", reading.reply(reply, brief))
    short = changed(request, queueOffset=end + 2, suspendTimeoutMillis=300)
    stage.show("nothing comes", short, brief)


def retries(stage: Stage) -> None:
    """The filter of a message's own topic counts, if the subscription to the retry topic is a filter."""
    put_messages(stage)
    stage.must(heartbeat(consumer("$G", sql("a = 7"), sql("b = 'nobody'", RETRY))))
    for number, pairs in enumerate(({"a": "7"}, {"a": "1"})):
        known = properties(UNIQ_KEY=f"R{number}", RETRY_TOPIC="$T", **pairs)
        stage.must(send(f"retry {number}".encode(), topic=RETRY, properties=stage.fill(known)))
    other = properties(UNIQ_KEY="R2", RETRY_TOPIC="nowhere")
    stage.must(send(b"retry 2", topic=RETRY, properties=other))
    for value in ("false", "true"):
        stage.must(ask(UPDATE, body=f"filterSupportRetry={value}\n".encode()))
        stage.show(f"by its own filter: {value}", bare(topic=RETRY), brief)
        stage.show(f"by one that the pull has: {value}", own("b = 'nobody'", topic=RETRY), brief)
        stage.show(f"by tags: {value}", pull(topic=RETRY), brief)
        stage.show(f"the topic itself: {value}", bare(), brief)


def consume_queue(stage: Stage) -> None:
    """The group's filter as JSON, without what its name gives."""
    put_messages(stage)
    fields = {"topic": "$T", "queueId": 0, "index": 1, "count": 1, "consumerGroup": "$G"}
    stage.must(heartbeat(consumer("$G", sql("a = 7"))))
    reply = stage.ask(ask(QUERY_QUEUE, fields))
    text = reading.as_json(reply.body)["value"]["filterData"]
    stage.record("filter", re.sub(r"(?<=[\[,])\d+(?=[,\]])", "<position>", text))


def not_allowed(stage: Stage) -> None:
    put_messages(stage)
    for version, expression in ((5, "a = 7"), (6, "b ="), (7, "b = 'x'"), (8, "")):
        stage.show(
            f"heartbeat: {expression!r}",
            heartbeat(consumer("$G", sql(expression, version=version))),
        )
        stage.show(f"pull: {expression!r}", bare(subVersion=version), brief)
