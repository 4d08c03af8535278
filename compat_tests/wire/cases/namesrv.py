"""The NameServer: made-up brokers register; what is then asked about them and the real one.

Cluster, broker and topic have the names of the case's group, producer group and topic.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from compat_tests.wire import fastjson, reading
from compat_tests.wire.asks import ask, body_of, changed
from compat_tests.wire.case import Case, in_binary
from compat_tests.wire.cases.brokers import (
    ADDRESS,
    ROUTE,
    UNREGISTER,
    VERSION,
    at,
    register,
    topic_config,
    topics_body,
    unregister,
)
from compat_tests.wire.stage import Stage

KV, GET_KV, DELETE_KV, LIST_KV = 100, 101, 102, 219
CLUSTERS, TOPICS, TOPICS_OF_CLUSTER, NAMES = 106, 206, 224, 304
WIPE, ADD_PERM, DATA_VERSION = 205, 327, 322
DELETE_TOPIC, REGISTER_TOPIC = 216, 217
HEARTBEAT, MEMBERS = 904, 901
SYSTEM_TOPICS: Final = [
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
]


def cases() -> Iterator[Case]:
    yield from settings()
    yield from routes()
    yield from versions()
    yield from slaves()
    yield from permissions()
    yield from leaving()
    yield from listings()
    yield from single_topics()
    yield from real_broker()
    yield from unknown()


def settings() -> Iterator[Case]:
    where = {"namespace": "$G", "key": "k"}
    put, get = ask(KV, {**where, "value": "v"}), ask(GET_KV, where)
    delete, everything = ask(DELETE_KV, where), ask(LIST_KV, {"namespace": "$G"})
    yield at("put setting", put, after=[get, everything])
    yield in_binary("namesrv: put setting", put, after=[get, everything], on="namesrv")
    yield at("put setting twice", changed(put, value="w"), before=[put], after=[get, everything])
    yield at("put empty setting", changed(put, value=""), after=[get, everything])
    yield at("put setting beyond ASCII", changed(put, value="Grüße 你好"), after=[get, everything])
    yield at("get unknown setting", get)
    yield at("list unknown namespace", everything)
    yield at("delete setting", delete, before=[put], after=[get, everything])
    yield at("delete unknown setting", delete)
    for request, what in ((put, "put"), (get, "get"), (delete, "delete"), (everything, "list")):
        for name in request.ext:
            yield at(f"{what} setting without {name}", changed(request, **{name: None}))
        yield at(f"{what} setting without fields", ask(request.code))
    yield Case("namesrv: route with an order", ordered_route, alone=True)


def ordered_route(stage: Stage) -> None:
    """The order settings of all topics go to every broker that registers."""
    where = {"namespace": "ORDER_TOPIC_CONFIG", "key": "$T"}
    stage.must(ask(KV, {**where, "value": "$P:4"}), "namesrv")
    stage.show("register", register(), on="namesrv")
    stage.show("route", ROUTE, on="namesrv")
    stage.must(ask(DELETE_KV, where), "namesrv")
    stage.show("register again", register(), on="namesrv")
    stage.show("route without the order", ROUTE, on="namesrv")


def routes() -> Iterator[Case]:
    there = [register()]
    yield at("route of nothing known", ROUTE)
    yield at("route without a topic", ask(105))
    yield at("route of an empty topic", changed(ROUTE, topic=""))
    for version in (0, 62, 317, 400, 401, 475, 513):
        request = changed(ROUTE)
        request.version = version
        yield at(f"route for version {version}", request, before=there)
        for standard in ("true", "false", "x"):
            asked = changed(ROUTE, acceptStandardJsonOnly=standard)
            asked.version = version
            if version in (317, 513):
                name = f"route for version {version}, standard JSON {standard}"
                yield at(name, asked, before=there)
    yield in_binary("namesrv: route", ROUTE, before=there, on="namesrv")
    two = register(brokerName="$P-2", brokerAddr="10.0.0.2:10911")
    yield at("route over two brokers", ROUTE, before=[*there, two])
    slave = register(brokerId=1, brokerAddr="10.0.0.3:10911")
    yield at("route with a slave", ROUTE, before=[*there, slave])
    old = changed(ROUTE)
    old.version = 317
    yield at("route with a slave, for version 317", old, before=[*there, slave])


def versions() -> Iterator[Case]:
    fields = {"brokerName": "$P", "brokerAddr": ADDRESS, "clusterName": "$G", "brokerId": 0}
    same = ask(DATA_VERSION, fields, body_of(VERSION))
    yield at("data version, unknown broker", same)
    yield at("data version, the same", same, before=[register()])
    for name in VERSION:
        other = body_of({**VERSION, name: VERSION[name] + 1})
        request = ask(DATA_VERSION, fields, other)
        yield at(f"data version, another {name}", request, before=[register()])
    yield at("data version, no body", ask(DATA_VERSION, fields), before=[register()])
    yield at("data version, no fields", ask(DATA_VERSION, body=body_of(VERSION)))
    newer = topics_body(
        topic_config(readQueueNums=7, writeQueueNums=7),
        topic_config("o-$T"),
        version={**VERSION, "counter": 2},
    )
    yield at("register a newer version", register(newer), before=[register()], after=[ROUTE])
    unmarked = topics_body(topic_config(readQueueNums=7, writeQueueNums=7), topic_config("o-$T"))
    name = "register other topics, the same version"
    yield at(name, register(unmarked), before=[register()], after=[ROUTE])
    beat = ask(HEARTBEAT, {"brokerName": "$P", "brokerAddr": ADDRESS, "clusterName": "$G"})
    yield at("broker heartbeat", beat, before=[register()])
    yield at("broker heartbeat, unknown broker", beat)
    yield at("broker heartbeat, no fields", ask(HEARTBEAT))
    members = ask(MEMBERS, {"clusterName": "$G", "brokerName": "$P"})
    yield at("members of a broker group", members, before=[register()])
    slave = register(brokerId=1, brokerAddr="10.0.0.3:10911")
    yield at("members with a slave", members, before=[register(), slave])
    yield at("members of nothing known", members)
    yield at("members, no fields", ask(MEMBERS))


def slaves() -> Iterator[Case]:
    slave = register(brokerId=1, brokerAddr="10.0.0.3:10911", haServerAddr="10.0.0.3:10912")
    yield at("register a slave", slave, before=[register()], after=[ROUTE])
    yield at("register a slave without a master", slave, after=[ROUTE])
    acting = changed(slave, enableActingMaster=True)
    yield at("register an acting slave without a master", acting, after=[ROUTE])
    moved = register(brokerId=0, brokerAddr="10.0.0.3:10911")
    yield at("a slave becomes master", moved, before=[register(), slave], after=[ROUTE])
    elsewhere = register(brokerAddr="10.0.0.9:10911")
    yield at("the same id from another address", elsewhere, before=[register()], after=[ROUTE])
    newer = topics_body(
        topic_config(), topic_config("o-$T"), version={**VERSION, "stateVersion": 5}
    )
    yield at(
        "the same id from another address, older state",
        elsewhere,
        before=[register(newer)],
        after=[ROUTE],
    )


def permissions() -> Iterator[Case]:
    wipe, add = ask(WIPE, {"brokerName": "$P"}), ask(ADD_PERM, {"brokerName": "$P"})
    yield at("wipe write permission", wipe, before=[register()], after=[ROUTE])
    yield at("wipe write permission of nobody", wipe)
    yield at("wipe write permission, no fields", ask(WIPE))
    again = [register(), wipe]
    yield at("wipe write permission twice", wipe, before=again, after=[ROUTE])
    yield at("add write permission", add, before=again, after=[ROUTE])
    yield at("add write permission of nobody", add)
    yield at("add write permission, no fields", ask(ADD_PERM))
    name = "wiped, the same version registers"
    yield at(name, register(), before=again, after=[ROUTE])
    newer = topics_body(topic_config(), topic_config("o-$T"), version={**VERSION, "counter": 2})
    yield at("wiped, a newer version registers", register(newer), before=again, after=[ROUTE])
    closed = topics_body(topic_config(perm=0), topic_config("o-$T", perm=4))
    yield at("add to a closed topic", add, before=[register(closed)], after=[ROUTE])


def leaving() -> Iterator[Case]:
    def gone(stage: Stage, what: str) -> None:
        reply = stage.until(ROUTE, lambda reply: reply.code != 0, "namesrv")
        stage.record(what, reading.reply(reply, reading.as_json))

    def unregistered(stage: Stage) -> None:
        stage.must(register(), "namesrv")
        stage.show("unregister", unregister(), on="namesrv")
        gone(stage, "route")
        stage.show("again", unregister(), on="namesrv")
        members = ask(MEMBERS, {"clusterName": "$G", "brokerName": "$P"})
        stage.show("members", members, on="namesrv")
        stage.show("register again", register(), on="namesrv")
        stage.show("route again", ROUTE, on="namesrv")

    yield Case("namesrv: unregister", unregistered)
    for name in unregister().ext:
        yield at(f"unregister without {name}", changed(unregister(), **{name: None}))
    yield at("unregister nobody", unregister())
    yield at("unregister without fields", ask(UNREGISTER))

    def closed(stage: Stage) -> None:
        stage.must(register(), "namesrv-2")
        stage.show("route", ROUTE, on="namesrv")
        stage.link("namesrv-2").close()
        gone(stage, "route after the connection closed")

    yield Case("namesrv: a broker's connection closes", closed)

    def one_of_two(stage: Stage) -> None:
        stage.must(register(), "namesrv")
        slave = register(brokerId=1, brokerAddr="10.0.0.3:10911")
        stage.must(slave, "namesrv-2")
        stage.link("namesrv-2").close()
        reply = stage.until(ROUTE, lambda reply: b"10.0.0.3" not in reply.body, "namesrv")
        stage.record("route without the slave", reading.reply(reply, reading.as_json))
        stage.must(register(brokerId=1, brokerAddr="10.0.0.3:10911"), "namesrv-3")
        stage.show("unregister the master", unregister(), on="namesrv")
        reply = stage.until(ROUTE, lambda reply: b"10.0.0.1" not in reply.body, "namesrv")
        stage.record("route without the master", reading.reply(reply, reading.as_json))

    yield Case("namesrv: master and slave leave", one_of_two)

    def acting(stage: Stage) -> None:
        stage.must(register(enableActingMaster=True), "namesrv")
        address = "10.0.0.3:10911"
        slave = register(brokerId=1, brokerAddr=address, enableActingMaster=True)
        stage.must(slave, "namesrv-2")
        stage.must(unregister(), "namesrv")
        reply = stage.until(ROUTE, lambda reply: b"10.0.0.1" not in reply.body, "namesrv")
        stage.record("route without the master", reading.reply(reply, reading.as_json))

    yield Case("namesrv: master leaves an acting slave", acting)

    delete = ask(DELETE_TOPIC, {"topic": "$T"})
    other = ask(105, {"topic": "other-$T"})
    yield at("delete topic", delete, before=[register()], after=[ROUTE, other])
    of_cluster = changed(delete, clusterName="$G")
    yield at("delete topic in its cluster", of_cluster, before=[register()], after=[ROUTE])
    elsewhere = changed(delete, clusterName="x$G")
    yield at("delete topic in another cluster", elsewhere, before=[register()], after=[ROUTE])
    yield at("delete unknown topic", delete)
    yield at("delete topic, no fields", ask(DELETE_TOPIC))


def listings() -> Iterator[Case]:
    def everything(stage: Stage) -> None:
        stage.must(register(), "namesrv")
        stage.must(register(brokerId=1, brokerAddr="10.0.0.3:10911"), "namesrv")
        cluster, broker = stage.group, stage.fill("$P")
        for form in (513, 317):
            request = ask(CLUSTERS, version=form)
            body = stage.must(request, "namesrv").body.decode()
            value = fastjson.loads(body)
            stage.record(
                f"cluster info for version {form}",
                {
                    "keys": sorted(value),
                    "mine": [value["clusterAddrTable"][cluster], value["brokerAddrTable"][broker]],
                    "real": value["brokerAddrTable"]["broker-a"],
                    "strict": fastjson.is_strict(body),
                },
            )
        value = fastjson.loads(stage.must(ask(TOPICS), "namesrv").body.decode())
        mine = sorted(topic for topic in value["topicList"] if stage.place.run in topic)
        mine = [topic for topic in mine if topic.endswith(stage.suffix)]
        stage.record("topics", {"keys": sorted(value), "mine": mine})
        value = fastjson.loads(stage.must(ask(NAMES), "namesrv").body.decode())
        stage.record(
            "names",
            {
                "keys": sorted(value),
                "mine": [cluster in value["topicList"], broker in value["topicList"]],
            },
        )

    yield Case("namesrv: list everything", everything, alone=True)
    of_cluster = ask(TOPICS_OF_CLUSTER, {"cluster": "$G"})
    yield at("topics of a cluster", of_cluster, before=[register()])
    yield at("topics of an unknown cluster", of_cluster)
    yield at("topics of a cluster, no fields", ask(TOPICS_OF_CLUSTER))
    for code in (311, 312, 313):

        def units(stage: Stage, code: int = code) -> None:
            topics = [topic_config("u-$T", topicSysFlag=1), topic_config("s-$T", topicSysFlag=2)]
            stage.must(register(topics_body(topic_config(), *topics)), "namesrv")
            value = fastjson.loads(stage.must(ask(code), "namesrv").body.decode())
            mine = [topic for topic in value["topicList"] if topic.endswith(stage.suffix)]
            stage.record("mine", [sorted(value), sorted(mine)])

        yield Case(f"namesrv: unit topics {code}", units)


def single_topics() -> Iterator[Case]:
    data = [{"brokerName": "$P", "perm": 6, "readQueueNums": 3, "writeQueueNums": 3}]
    request = ask(REGISTER_TOPIC, {"topic": "new-$T"}, body_of({"queueDatas": data}))
    shown: dict[str, Any] = {"after": [ask(105, {"topic": "new-$T"})]}
    yield at("register one topic", request, before=[register()], **shown)
    yield at("register one topic of nobody", request, **shown)
    yield at("register one topic, no body", ask(REGISTER_TOPIC, {"topic": "new-$T"}), **shown)


def real_broker() -> Iterator[Case]:
    """What the broker beside this NameServer registered."""
    for topic in SYSTEM_TOPICS:
        yield at(f"route of {topic}", ask(105, {"topic": topic}))
    yield at(
        "members of the real broker",
        ask(MEMBERS, {"clusterName": "DefaultCluster", "brokerName": "broker-a"}),
    )


def unknown() -> Iterator[Case]:
    for code in (0, 10, 11, 34, 38, 9999, 32767, -1, 903):
        yield at(f"request code {code}", ask(code, {"topic": "$T"}))
