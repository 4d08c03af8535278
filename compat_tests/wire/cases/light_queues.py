"""Light queues (LMQ): messages that name them, and all that clients do with them as topics and groups.

Played on brokers with enableLmq=true and enableMultiDispatch=true. Never asked for: a name before the first light
queue that is none. Over such a record the real broker's dispatching stops for good.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Final

from compat_tests.wire import reading
from compat_tests.wire.asks import (
    PULL_SUBSCRIPTION,
    PULL_SUSPEND,
    ask,
    changed,
    commit_offset,
    consumer,
    create_group,
    create_topic,
    heartbeat,
    properties,
    pull,
    query_offset,
    queue_question,
    search_offset,
    send,
    send_batch,
    subscription,
)
from compat_tests.wire.case import Case, row
from compat_tests.wire.cases.holding import PULL_RETRY_IMMEDIATELY
from compat_tests.wire.cases.transactions import end, half
from compat_tests.wire.frames import Frame
from compat_tests.wire.popped import ack
from compat_tests.wire.popped import pop as popping
from compat_tests.wire.records import batch_body
from compat_tests.wire.stage import Stage

# With enableLmq and enableMultiDispatch.
SERVERS: Final = "lmq"
A, B = "%LMQ%a-$T", "%LMQ%b-$T"
GROUP: Final = "%LMQ%$G"
MAX, MIN, EARLIEST = 30, 31, 32
TOPIC_CONFIG, GROUP_CONFIG, MEMBERS, DELETE_TOPIC, STATS = 351, 352, 38, 215, 202
LONG_MAX: Final = 2**63 - 1
# The real broker fills its queues in the background.
PATIENCE: Final = 10.0


def cases() -> Iterator[Case]:
    yield Case("light: two queues", two_queues)
    yield Case("light: tags", tags)
    yield Case("light: woken", woken)
    yield Case("light: popped", popped)
    yield Case("light: delayed", delayed)
    yield Case("light: deleted", deleted)
    yield Case("light: questions", questions)
    yield Case("light: members", members)
    yield Case("light: a half message", half_message)
    yield Case("light: named twice", named_twice)
    yield Case("light: a topic among the names", topic_among_them)
    yield Case("light: sent to directly", directly)
    yield Case("light: a name with a slash", slash)
    yield Case("light: a batch", batch)
    yield from one_message()
    yield from nobody_knows()
    yield from of_groups()


def message(body: bytes, names: str = A, **more: str) -> Frame:
    text = properties(
        UNIQ_KEY=f"U-{body.decode()}", INNER_MULTI_DISPATCH=names, WAIT="true", **more
    )
    return send(body, properties=text)


def filled(stage: Stage, *bodies: bytes, names: str = A) -> None:
    stage.must(create_topic(queues=1))
    for body in bodies:
        stage.must(message(body, names))
    for name in names.split(","):
        arrived(stage, name, len(bodies))


def arrived(stage: Stage, name: str, count: int) -> None:
    deadline = time.monotonic() + PATIENCE
    while int(stage.must(queue_question(MAX, topic=name)).ext["offset"]) < count:
        assert time.monotonic() < deadline, name
        time.sleep(0.02)
    # The number is there before the entry.
    while stage.ask(pull(topic=name, queueOffset=count - 1)).code != 0:
        assert time.monotonic() < deadline, name
        time.sleep(0.02)


def show(stage: Stage, what: str, frame: Frame) -> Frame:
    return stage.show(what, frame, reading.as_records)


def one_message() -> Iterator[Case]:
    for what, names in {
        "an empty name at the end": f"{A},",
        "blank names": " ",
        "dots": "%LMQ%..-$T",
    }.items():
        yield Case(f"light: {what}", lambda stage, names=names: _one(stage, names))


def _one(stage: Stage, names: str) -> None:
    stage.must(create_topic(queues=1))
    stage.show("sent", message(b"m", names))
    show(stage, "stored", pull())
    if names.startswith("%LMQ%"):
        name = names.rstrip(",")
        arrived(stage, name, 1)
        show(stage, "pulled", pull(topic=name))


def two_queues(stage: Stage) -> None:
    filled(stage, b"m0", b"m1", names=f"{A},{B}")
    stage.must(message(b"m2", B))
    arrived(stage, B, 3)
    for name in (A, B, "$T"):
        show(stage, f"pulled from {name}", pull(topic=name))
        show(stage, f"pulled from {name} by a light group", pull(topic=name, consumerGroup=GROUP))
    show(stage, "from 1 on", pull(topic=B, queueOffset=1, maxMsgNums=1))
    show(stage, "behind the end", pull(topic=A, queueOffset=2))
    show(stage, "beyond the end", pull(topic=A, queueOffset=9))
    show(stage, "before the beginning", pull(topic=A, queueOffset=-1))
    show(stage, "queue 1", pull(topic=A, queueId=1))


def tags(stage: Stage) -> None:
    stage.must(create_topic(queues=1))
    for number, tag in enumerate("XYX"):
        stage.must(message(b"m%d" % number, TAGS=tag))
    arrived(stage, A, 3)
    show(stage, "X", pull(topic=A, subscription="X"))
    show(stage, "Z", pull(topic=A, subscription="Z"))


def woken(stage: Stage) -> None:
    stage.must(create_topic(queues=1))
    held = pull(topic=B, sysFlag=PULL_SUBSCRIPTION | PULL_SUSPEND, suspendTimeoutMillis=15_000)
    link = stage.link()
    opaque = link.post(stage.request(held))
    stage.record("answered before", link.has_reply(opaque, 0.3))
    stage.must(message(b"other", A), "broker-2")
    stage.record("by another queue", link.has_reply(opaque, 0.3))
    stage.must(message(b"wanted", f"{A},{B}"), "broker-2")
    reply = link.reply(opaque)
    while reply.code == PULL_RETRY_IMMEDIATELY:
        reply = stage.ask(changed(held, queueOffset=reply.ext["nextBeginOffset"]))
    stage.record("answer", reading.reply(reply, reading.as_records))


def popped(stage: Stage) -> None:
    filled(stage, b"m0", b"m1", names=f"{B},{A}")
    stage.must(message(b"m2", A))
    arrived(stage, A, 3)
    stage.must(create_group())
    answer = stage.ask(popping(topic=A, queueId=0))
    ext = answer.ext
    stage.record(
        "popped",
        [answer.code, ext["startOffsetInfo"], ext["msgOffsetInfo"], ext["restNum"]],
    )
    stage.record("records", reading.as_records(answer.body))
    times = f"{ext['popTime']} {ext['invisibleTime']} {ext['reviveQid']}"
    for offset in range(3):
        handle = f"0 {times} 0 broker-a 0 {offset}"
        stage.show(f"acknowledged {offset}", ack(handle, offset, topic=A))
    again = stage.ask(popping(topic=A, queueId=0))
    stage.record("again", again.code)


def delayed(stage: Stage) -> None:
    stage.must(create_topic(queues=1))
    stage.show_shared("sent", message(b"m0", DELAY="1"))
    stage.show("before", queue_question(MAX, topic=A))
    arrived(stage, A, 1)
    show(stage, "pulled", pull(topic=A))


def deleted(stage: Stage) -> None:
    filled(stage, b"m0", b"m1")
    stage.must(commit_offset(1, topic=A, consumerGroup=GROUP))
    stage.show("deleted", ask(DELETE_TOPIC, {"topic": A}))
    stage.show("end", queue_question(MAX, topic=A))
    show(stage, "pulled", pull(topic=A))
    stage.must(message(b"m2"))
    arrived(stage, A, 1)
    show(stage, "the next message", pull(topic=A))


def questions(stage: Stage) -> None:
    filled(stage, b"m0", b"m1")
    for code in (MAX, MIN):
        stage.show(f"{code}", queue_question(code, topic=A))
    for moment in (0, LONG_MAX):
        stage.show(f"search at {moment}", search_offset(moment, topic=A))
    stage.show("stats", ask(STATS, {"topic": A}))


def members(stage: Stage) -> None:
    stage.must(create_topic(queues=1))
    stage.show("heartbeat", heartbeat(consumer(GROUP, subscription(A))))
    stage.show("members", ask(MEMBERS, {"consumerGroup": GROUP}))
    stage.show("retry topic", ask(TOPIC_CONFIG, {"topic": f"%RETRY%{GROUP}"}))
    stage.must(message(b"m0"))
    arrived(stage, A, 1)
    show(stage, "pulled", pull(topic=A, consumerGroup=GROUP, sysFlag=0, subscription=None))


def half_message(stage: Stage) -> None:
    stage.must(create_topic(queues=1))
    sent = stage.must(half(b"m0", more={"INNER_MULTI_DISPATCH": A}))
    time.sleep(1)
    stage.show("before the end", queue_question(MAX, topic=A))
    stage.must(end(sent))
    deadline = time.monotonic() + PATIENCE
    while stage.ask(pull()).code != 0:
        assert time.monotonic() < deadline
    time.sleep(0.5)
    stage.show("after the end", queue_question(MAX, topic=A))


def named_twice(stage: Stage) -> None:
    stage.must(create_topic(queues=1))
    for number in range(2):
        stage.must(message(b"m%d" % number, f"{A},{A}"))
    time.sleep(1)
    show(stage, "stored", pull())
    show(stage, "pulled", pull(topic=A))


def topic_among_them(stage: Stage) -> None:
    """Its offset is empty there, and none of the queues gets an entry."""
    stage.must(create_topic(queues=1))
    stage.must(message(b"m0", f"{A},$T"))
    time.sleep(1)
    show(stage, "stored", pull())
    show(stage, "pulled", pull(topic=A))


def directly(stage: Stage) -> None:
    stage.show("sent", send(b"m0", topic=A))
    stage.show("sent to queue 1", send(b"m1", topic=A, queueId=1))
    arrived(stage, A, 1)
    show(stage, "pulled", pull(topic=A))
    stage.show("config", ask(TOPIC_CONFIG, {"topic": A}))


def slash(stage: Stage) -> None:
    stage.must(create_topic(queues=1))
    stage.must(message(b"m0", f"%LMQ%a/$T,{B}"))
    arrived(stage, B, 1)
    show(stage, "pulled", pull(topic=B))


def batch(stage: Stage) -> None:
    stage.must(create_topic(queues=1))
    items = batch_body(
        (b"item %d" % n, {"UNIQ_KEY": f"U{n}", "INNER_MULTI_DISPATCH": stage.fill(A)})
        for n in range(2)
    )
    stage.must(send_batch(items))
    time.sleep(0.5)
    show(stage, "stored", pull())
    stage.show("end", queue_question(MAX, topic=A))


def nobody_knows() -> Iterator[Case]:
    """Light queues that no message has named."""
    for what, frame in {
        "pull": pull(topic=A),
        "pull, further on": pull(topic=A, queueOffset=5),
        "end": queue_question(MAX, topic=A),
        "beginning": queue_question(MIN, topic=A),
        "earliest": queue_question(EARLIEST, topic=A),
        "search": search_offset(0, topic=A),
        "config": ask(TOPIC_CONFIG, {"topic": A}),
        "stats": ask(STATS, {"topic": A}),
        "deleted": ask(DELETE_TOPIC, {"topic": A}),
        "offset": query_offset(topic=A, consumerGroup=GROUP),
        "offset, not set to zero": query_offset(
            topic=A, consumerGroup=GROUP, setZeroIfNotFound=False
        ),
    }.items():
        yield row(f"light: unknown queue, {what}", frame)
    made = create_topic(A, queues=4)
    yield row("light: created", made, after=[ask(TOPIC_CONFIG, {"topic": A})])


def of_groups() -> Iterator[Case]:
    asked = query_offset(topic=A, consumerGroup=GROUP, setZeroIfNotFound=False)
    yield row("light: commit", commit_offset(7, topic=A, consumerGroup=GROUP), after=[asked])
    other = changed(asked, queueId=3)
    yield row(
        "light: commit, queue 3",
        commit_offset(7, topic=A, consumerGroup=GROUP, queueId=3),
        after=[asked, other],
    )
    yield row(
        "light: commit for an ordinary topic",
        commit_offset(7, consumerGroup=GROUP, queueId=2),
        before=[create_topic()],
        after=[query_offset(consumerGroup=GROUP, setZeroIfNotFound=False)],
    )
    yield row(
        "light: commit of an ordinary group",
        commit_offset(7, topic=A),
        before=[create_group()],
        after=[query_offset(topic=A, setZeroIfNotFound=False)],
    )
    yield row("light: group config", ask(GROUP_CONFIG, {"group": GROUP}))
    yield row(
        "light: group created",
        create_group(GROUP, consumeEnable=False),
        after=[ask(GROUP_CONFIG, {"group": GROUP})],
    )
