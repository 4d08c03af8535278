"""Topics and groups as the admin requests make, show and delete them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, Final

from compat_tests.wire import fastjson
from compat_tests.wire.asks import (
    ask,
    body_of,
    changed,
    commit_offset,
    create_group,
    create_topic,
    pull,
    query_offset,
    queue_question,
    send,
)
from compat_tests.wire.case import Case, in_binary, row
from compat_tests.wire.reading import as_json
from compat_tests.wire.stage import Stage

SHOW: Final = ask(351, {"topic": "$T"})
SHOW_GROUP: Final = ask(352, {"group": "$G"})
DELETE, ALL_TOPICS, OFFSETS, DELAYS, ALL_GROUPS, DELETE_GROUP = 215, 21, 43, 45, 201, 207
SYSTEM_TOPICS = 305


def cases() -> Iterator[Case]:
    yield from creating()
    yield from attributes()
    yield from updating()
    yield from showing()
    yield from deleting()
    yield from groups()
    yield from group_refusals()
    yield from listings()


def creating() -> Iterator[Case]:
    shown: dict[str, Any] = {"after": [SHOW]}
    yield row("create topic: plain", create_topic(), **shown)
    yield in_binary("create topic: plain", create_topic(), **shown)
    yield row("create topic: on the fast port", create_topic(), on="fast")
    for name in create_topic().ext:
        request = changed(create_topic(), **{name: None})
        yield row(f"create topic: without {name}", request, **shown)
    for name in ("readQueueNums", "writeQueueNums", "perm", "topicSysFlag"):
        for value in ("x", -1, 0, 7, 5000):
            request = changed(create_topic(), **{name: value})
            yield row(f"create topic: {name} is {value}", request, **shown)
    for kind in ("MULTI_TAG", "ELVISH", ""):
        request = create_topic(topicFilterType=kind)
        yield row(f"create topic: filter type {kind!r}", request, **shown)
    yield row("create topic: ordered", create_topic(order=True), **shown)
    yield row("create topic: order is no boolean", create_topic(order="perhaps"), **shown)
    named = {
        "empty": "",
        "blank": "  ",
        "with a dot": "a.b",
        "of 127 letters": "t" * 119 + "$RUN",
        "of 128 letters": "t" * 120 + "$RUN",
        "that is a retry topic": "%RETRY%x$RUN",
        "of 255 letters that is a retry topic": "%RETRY%" + "t" * 240 + "$RUN",
        "of 256 letters that is a retry topic": "%RETRY%" + "t" * 241 + "$RUN",
        "with the system's prefix": "rmq_sys_$RUN",
        "TBW102": "TBW102",
        "SCHEDULE_TOPIC_XXXX": "SCHEDULE_TOPIC_XXXX",
        "SELF_TEST_TOPIC": "SELF_TEST_TOPIC",
        "OFFSET_MOVED_EVENT": "OFFSET_MOVED_EVENT",
        "BenchmarkTest": "BenchmarkTest",
    }
    for what, topic in named.items():
        yield row(f"create topic: name {what}", create_topic(topic))
    yield row("create topic: no fields", ask(17))


def attributes() -> Iterator[Case]:
    shown: dict[str, Any] = {"after": [SHOW]}
    for text in (
        "+message.type=NORMAL",
        "+message.type=FIFO",
        "+message.type=DELAY",
        "+message.type=TRANSACTION",
        "+message.type=MIXED",
        "+message.type=ELVISH",
        "message.type=NORMAL",
        "+queue.type=SimpleCQ",
        "+cleanup.policy=DELETE",
        "+cleanup.policy=COMPACTION",
        "+surprise=yes",
        "-message.type",
        "+message.type=NORMAL,+queue.type=SimpleCQ",
        "+message.type=NORMAL,+message.type=FIFO",
        "nonsense",
        "",
        "+",
    ):
        request = create_topic(attributes=text)
        yield row(f"create topic: attributes {text!r}", request, **shown)
    there = [create_topic(attributes="+message.type=NORMAL")]
    for text in ("-message.type", "+message.type=FIFO", "-queue.type", ""):
        request = create_topic(attributes=text)
        yield row(f"update topic: attributes {text!r}", request, before=there, **shown)


def updating() -> Iterator[Case]:
    there: dict[str, Any] = {"before": [create_topic()], "after": [SHOW, send(queueId=3)]}
    yield row("update topic: the same", create_topic(), **there)
    yield row("update topic: more queues", create_topic(queues=8), **there)
    yield row("update topic: fewer queues", create_topic(queues=2), **there)
    yield row("update topic: read only", create_topic(perm=4), **there)
    yield row("update topic: ordered", create_topic(order=True), **there)


def showing() -> Iterator[Case]:
    yield row("show topic: unknown", SHOW)
    yield row("show topic: without its name", ask(351))
    there = [create_topic()]
    yield row("show topic: with its mapping", changed(SHOW, lo=True), before=there)
    yield row("show topic: made by a send", SHOW, before=[send()])
    for system in [
        "TBW102",
        "SELF_TEST_TOPIC",
        "SCHEDULE_TOPIC_XXXX",
        "BenchmarkTest",
        "OFFSET_MOVED_EVENT",
        "broker-a",
        "DefaultCluster",
        "DefaultCluster_REPLY_TOPIC",
        "RMQ_SYS_TRANS_HALF_TOPIC",
        "RMQ_SYS_TRANS_OP_HALF_TOPIC",
        "rmq_sys_wheel_timer",
        # Not TRANS_CHECK_MAX_TIME_TOPIC: it is made when a transaction is given up, in another module.
        "rmq_sys_REVIVE_LOG_DefaultCluster",
        "rmq_sys_SYNC_BROKER_MEMBER_broker-a",
        "RMQ_SYS_ROCKSDB_TRANS_HALF_TOPIC",
    ]:
        yield row(f"show topic: {system}", ask(351, {"topic": system}))


def deleting() -> Iterator[Case]:
    delete = ask(DELETE, {"topic": "$T"})
    used = [create_topic(), create_group(), send(), commit_offset(1)]
    gone: dict[str, Any] = {"after": [SHOW, pull(), query_offset(), queue_question(30)]}
    yield row("delete topic: used", delete, before=used, **gone)
    yield row("delete topic: unknown", delete)
    yield row("delete topic: empty name", changed(delete, topic=""))
    yield row("delete topic: no name", ask(DELETE))
    yield row("delete topic: illegal name", changed(delete, topic="a.b"))
    for system in ("TBW102", "SCHEDULE_TOPIC_XXXX", "rmq_sys_x"):
        yield row(f"delete topic: {system}", changed(delete, topic=system))

    def again(stage: Stage) -> None:
        for frame in used:
            stage.must(frame)
        stage.must(delete)
        stage.show("made again", create_topic())
        stage.show("its first message", send())
        stage.show("its offset", query_offset(setZeroIfNotFound=False))

    yield Case("delete topic: and make it again", again)


def groups() -> Iterator[Case]:
    shown: dict[str, Any] = {"after": [SHOW_GROUP]}
    yield row("create group: plain", create_group(), **shown)
    yield in_binary("create group: plain", create_group(), **shown)
    settings: dict[str, dict[str, Any]] = {
        "of all kinds": {
            "consumeEnable": False,
            "consumeFromMinEnable": True,
            "consumeBroadcastEnable": False,
            "consumeMessageOrderly": True,
            "retryQueueNums": 3,
            "retryMaxTimes": 5,
            "brokerId": 2,
            "whichBrokerWhenConsumeSlowly": 3,
            "notifyConsumerIdsChangedEnable": False,
            "groupSysFlag": 1,
            "consumeTimeoutMinute": 20,
        },
        "nobody knows": {"surprise": "yes"},
        "of a retry policy": {
            "groupRetryPolicy": {
                "type": "EXPONENTIAL",
                "exponentialRetryPolicy": {"initial": 5000, "max": 7200000, "multiplier": 2},
            }
        },
        "of subscriptions": {"subscriptionDataSet": [{"topic": "$T"}]},
        "with an attribute": {"attributes": {"+priority.factor": "3"}},
        "with an unknown attribute": {"attributes": {"+surprise": "3"}},
        "with an attribute without a sign": {"attributes": {"priority.factor": "3"}},
        "of wrong types": {"retryQueueNums": "x"},
        "numbers as texts": {"retryQueueNums": "3"},
    }
    for what, values in settings.items():
        yield row(f"create group: settings {what}", create_group(**values), **shown)
    there = [create_group(retryMaxTimes=3, consumeEnable=False)]
    yield row("update group: back to defaults", create_group(), before=there, **shown)
    yield row("show group: unknown", SHOW_GROUP)
    yield row("show group: illegal", ask(352, {"group": "a.b"}))
    yield row("show group: without its name", ask(352))
    yield row("show group: of the system", ask(352, {"group": "SELF_TEST_C_GROUP"}))


def group_refusals() -> Iterator[Case]:
    named = {
        "empty": "",
        "with a dot": "a.b",
        "of 120 letters": "g" * 112 + "$RUN",
        "of 121 letters": "g" * 113 + "$RUN",
    }
    for what, name in named.items():
        yield row(f"create group: name {what}", create_group(name))
    bodies = {"no body": b"", "no JSON": b"nonsense", "an empty object": b"{}", "null": b"null"}
    for what, body in bodies.items():
        yield row(f"create group: {what}", ask(200, body=body))
    used = [create_topic(), create_group(), commit_offset(1)]
    for clean in (True, False, None):
        request = ask(DELETE_GROUP, {"groupName": "$G", "cleanOffset": clean})
        effects = [query_offset(setZeroIfNotFound=False)]
        yield row(f"delete group: clean {clean}", request, before=used, after=effects)
    yield row("delete group: unknown", ask(DELETE_GROUP, {"groupName": "$G", "cleanOffset": True}))
    yield row("delete group: no fields", ask(DELETE_GROUP))


def picked(stage: Stage, pick: Callable[[Any, Stage], Any]) -> Callable[[bytes], Any]:
    """A reader of what belongs to this case in a list of everything there is."""

    def read(body: bytes) -> Any:
        text = body.decode()
        return {"mine": pick(fastjson.loads(text), stage), "strict": fastjson.is_strict(text)}

    return read


def of_table(table: str, name: str) -> Callable[[Any, Stage], Any]:
    return lambda value, stage: value[table].get(stage.fill(name), "not there")


def listings() -> Iterator[Case]:
    def topics(stage: Stage) -> None:
        stage.must(create_topic())
        mine = picked(stage, of_table("topicConfigTable", "$T"))
        pages: dict[str, dict[str, object]] = {
            "everything": {},
            "from the first": {"topicSeq": 0, "maxTopicNum": 2000},
            "three at most": {"topicSeq": 0, "maxTopicNum": 3},
            "beyond the last": {"topicSeq": 100000, "maxTopicNum": 3},
            "negative": {"topicSeq": -1, "maxTopicNum": 2000},
            "no number": {"topicSeq": "x"},
        }
        for what, ext in pages.items():
            reply = stage.ask(ask(ALL_TOPICS, ext))
            tables = fastjson.loads(reply.body.decode()) if reply.body else {}
            stage.record(
                what,
                {
                    "code": reply.code,
                    "remark": reply.remark,
                    "fields": sorted(reply.ext),
                    "keys": sorted(tables),
                    "topics": min(len(tables.get("topicConfigTable", {})), 5),
                },
            )
        for on in ("broker", "fast"):
            stage.record(f"mine, {on}", mine(stage.must(ask(ALL_TOPICS), on).body))

    # The real one pages through a table that must not change meanwhile.
    yield Case("list topics", topics, alone=True)

    def all_groups(stage: Stage) -> None:
        stage.must(create_group(retryMaxTimes=3))
        mine = picked(stage, of_table("subscriptionGroupTable", "$G"))
        stage.record("mine", mine(stage.must(ask(ALL_GROUPS)).body))
        system = picked(stage, of_table("subscriptionGroupTable", "SELF_TEST_C_GROUP"))
        stage.record("the system's", system(stage.must(ask(ALL_GROUPS)).body))
        paged = {"groupSeq": 0, "maxGroupNum": 2}
        reply = stage.ask(ask(ALL_GROUPS, paged))
        tables = fastjson.loads(reply.body.decode())
        stage.record("two at most", [sorted(reply.ext), len(tables["subscriptionGroupTable"])])

    yield Case("list groups", all_groups, alone=True)

    def offsets(stage: Stage) -> None:
        for frame in (create_topic(), create_group(), commit_offset(5), commit_offset(7)):
            stage.must(frame)
        mine = picked(stage, of_table("offsetTable", f"{stage.topic}@{stage.group}"))
        stage.show("mine", ask(OFFSETS), mine)
        stage.show("on the fast port", ask(OFFSETS), mine, "fast")

    yield Case("list offsets", offsets)

    def delays(stage: Stage) -> None:
        reply = stage.ask(ask(DELAYS))
        value = fastjson.loads(reply.body.decode())
        stage.record("keys", [reply.code, sorted(value)])

    yield Case("list delay offsets", delays)

    def system(stage: Stage) -> None:
        reply = stage.ask(ask(SYSTEM_TOPICS))
        stage.record("names", [reply.code, as_json(reply.body)["value"]])

    yield Case("list system topics of the broker", system)
    yield row("create topics: none", ask(18, body=json.dumps({"topicConfigList": []}).encode()))
    yield row("create group: by a list", ask(225, body=body_of({"groupConfigList": []})))
