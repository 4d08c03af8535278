"""TriMQ's NameServer beside the real one: the same brokers register with both, both must answer alike.

One real broker and one TriMQ broker name both NameServers in their configuration. Raw requests and the
official mqadmin are then put to each of the two, and whatever they say is compared.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import pytest
import trio

from compat_tests.cluster.both_kinds import Field
from compat_tests.cluster.broker_orders import orders
from compat_tests.cluster.namesrv_asks import Ask, Connection, ask_once
from compat_tests.servers.jvm import Launcher
from tests.patience import until
from trimq.base.clock import Clock
from trimq.broker.cluster.duplicate_brokers import DuplicateBrokers
from trimq.broker.cluster.registration import Registration
from trimq.broker.config import BrokerConfig
from trimq.broker.identity import BrokerIdentity
from trimq.broker.topics.table import Topics
from trimq.codec.bodies.topics import TopicConfig
from trimq.remoting.clients.client import Client


@pytest.fixture(scope="module")
def field(launch: Launcher, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Field]:
    with ExitStack() as stack:
        yield Field(launch, tmp_path_factory.mktemp("namesrv"), stack)


VERSION: Final = b'{"counter":3,"stateVersion":0,"timestamp":9}'
STRANGER: Final = {
    "brokerName": "stranger",
    "brokerAddr": "10.1.1.1:1",
    "clusterName": "Elsewhere",
    "brokerId": "0",
    "haServerAddr": "10.1.1.1:2",
}


def registration(topics: str, **wrapper: Any) -> bytes:
    table = {name: {"topicName": name, "topicSysFlag": flag} for flag, name in enumerate(topics)}
    version = json.loads(VERSION)
    body = {"topicConfigSerializeWrapper": {"topicConfigTable": table, "dataVersion": version}}
    return json.dumps({**body, **wrapper}).encode()


def routes() -> list[Ask]:
    topics = ["TBW102", "broker-a", "broker-b", "DefaultCluster", "nope", ""]
    asks = [Ask(105, {"topic": topic}, version=v) for topic in topics for v in (317, 400, 401, 513)]
    return [
        *asks,
        Ask(105, {"topic": "TBW102", "acceptStandardJsonOnly": "true"}, version=317),
        Ask(105, {"topic": "TBW102", "acceptStandardJsonOnly": "maybe"}, version=317),
        Ask(105, {"topic": "TBW102", "__ZONE_MODE": "true", "__ZONE_NAME": "z"}),
        Ask(105, {}),
        *(Ask(code, {}) for code in (106, 206, 304, 311, 312, 313, 224)),
        Ask(224, {"cluster": "DefaultCluster"}),
        Ask(224, {"cluster": "nowhere"}),
        Ask(901, {"clusterName": "DefaultCluster", "brokerName": "broker-b"}),
        Ask(901, {"clusterName": "nowhere", "brokerName": "nobody"}),
        Ask(901, {}),
        Ask(12345, {}),
    ]


def key_values() -> list[Ask]:
    item = {"namespace": "n", "key": "k"}
    return [
        Ask(101, item),
        Ask(101, {}),
        Ask(219, {"namespace": "n"}),
        Ask(219, {}),
        Ask(100, {"namespace": "n"}),
        Ask(100, {**item, "value": "v"}),
        Ask(100, {**item, "key": "ü", "value": "ä b=c;d"}),
        Ask(101, item),
        Ask(219, {"namespace": "n"}),
        Ask(102, item),
        Ask(102, item),
        Ask(102, {}),
        Ask(101, item),
        Ask(219, {"namespace": "n"}),
        Ask(102, {**item, "key": "ü"}),
    ]


def registrations() -> list[Ask]:
    """A stranger and its slave come, change, and leave; with everything that can be wrong."""
    slave = {**STRANGER, "brokerId": "1", "brokerAddr": "10.1.1.2:1", "enableActingMaster": "true"}
    return [
        Ask(103, {}, exact=False),
        Ask(103, STRANGER, b"abc", exact=False),
        Ask(103, {**STRANGER, "compressed": "true"}, b"abc", exact=False),
        Ask(103, {**STRANGER, "bodyCrc32": "1"}, registration("AB")),
        Ask(103, STRANGER, registration("A")),
        Ask(106, {}),
        Ask(103, STRANGER, registration("ABCD")),
        *(Ask(105, {"topic": topic}) for topic in "ABCD"),
        *(Ask(code, {}) for code in (311, 312, 313)),
        Ask(322, STRANGER, VERSION),
        Ask(322, STRANGER, VERSION.replace(b"3", b"4")),
        Ask(322, STRANGER),
        Ask(322, {}, VERSION, exact=False),
        Ask(904, STRANGER),
        Ask(904, {}, exact=False),
        Ask(205, {"brokerName": "stranger"}),
        Ask(105, {"topic": "A"}),
        Ask(103, STRANGER, registration("AB")),
        Ask(105, {"topic": "A"}),
        Ask(327, {"brokerName": "stranger"}),
        Ask(105, {"topic": "A"}),
        Ask(205, {}),
        Ask(327, {}),
        Ask(103, {**slave, "__ZONE_NAME": "zz"}, registration("AX", filterServerList=["f:1"])),
        Ask(105, {"topic": "A"}),
        Ask(105, {"topic": "X"}),
        Ask(105, {"topic": "A", "__ZONE_MODE": "true", "__ZONE_NAME": "ZZ"}),
        Ask(105, {"topic": "TBW102", "__ZONE_MODE": "true", "__ZONE_NAME": "ZZ"}),
        Ask(217, {"topic": "N"}, b'{"queueDatas":[{"brokerName":"stranger","perm":6}]}'),
        Ask(105, {"topic": "N"}),
        Ask(217, {"topic": "M"}, b'{"queueDatas":[{"brokerName":"nobody","perm":6}]}'),
        Ask(105, {"topic": "M"}),
        Ask(217, {"topic": "M"}),
        Ask(217, {}, b"{}"),
        Ask(216, {"topic": "N", "clusterName": "nowhere"}),
        Ask(216, {"topic": "N", "clusterName": "Elsewhere"}),
        Ask(216, {"topic": "D"}),
        Ask(216, {}),
        *(Ask(105, {"topic": topic}) for topic in "ND"),
        Ask(104, {}),
        Ask(104, slave),
        Ask(104, STRANGER),
    ]


def settings() -> list[Ask]:
    return [
        Ask(318, {}),
        Ask(318, {}, b"kvConfigPath=/x"),
        Ask(318, {}, b"rocketmqHome=/x"),
        Ask(318, {}, b"enableTopicList=false\nenableAllTopicList=false"),
        *(Ask(code, {}) for code in (206, 311, 312, 313, 224)),
        Ask(318, {}, b"enableTopicList=true\nenableAllTopicList=true"),
        Ask(206, {}),
    ]


@pytest.mark.parametrize("asks", [routes, key_values, registrations, settings])
def test_both_answer_alike(field: Field, asks: Callable[[], list[Ask]]) -> None:
    field.serves("broker-a", "broker-a")
    field.serves("broker-b", "broker-b")
    differences = field.compare(asks())
    assert not differences, "\n".join(differences)
    # The real one takes a broker out some moments after it answered.
    field.forgets("A")


def test_only_ours_refuses_a_value_that_makes_no_sense(field: Field) -> None:
    (difference,) = field.compare([Ask(318, {}, b"scanNotActiveBrokerInterval=soon")])
    assert "real (0, None" in difference
    assert "ours (1, 'scanNotActiveBrokerInterval=soon: must be a whole number" in difference


def test_both_list_brokers_in_the_same_order(field: Field) -> None:
    real, ours = map(orders, field.addrs)
    assert len(real["routes"]) == len(ours["routes"])
    for at, (expected, seen) in enumerate(zip(real["routes"], ours["routes"], strict=True)):
        if at % 3 == 0:
            upwards = seen
            assert seen == expected
        assert seen["queueDatas"] == upwards["queueDatas"]
        assert seen["brokerDatas"] == upwards["brokerDatas"]
    assert ours["systemBroker"] == real["systemBroker"]
    assert list(ours["clusterAddrTable"]) == list(real["clusterAddrTable"])
    for topic in ("set-0", f"set-{len(real['routes']) - 1}"):
        field.forgets(topic)


@pytest.mark.parametrize("compatible", [True, False])
@pytest.mark.parametrize("number", [0, 1], ids=["real", "ours"])
def test_a_broker_learns_of_its_rival(
    field: Field, caplog: pytest.LogCaptureFixture, number: int, compatible: bool
) -> None:
    """Whoever keeps the NameServer, and whoever the other broker is: here it is the real one."""
    field.serves("broker-a", "broker-a")
    identity = BrokerIdentity("DefaultCluster", "broker-a", 0, "127.0.0.1:1", "")
    watch = DuplicateBrokers(identity, BrokerConfig(compatible_with_old_name_srv=compatible))
    addr = field.addrs[number]

    async def look() -> None:
        async with Client.connect(addr) as client:
            await watch.look(client, addr)

    trio.run(look)
    (line,) = [
        text for text in caplog.messages if text.startswith("two brokers have the same name")
    ]
    assert f"other={field.real_broker.addr}" in line


def test_a_broker_goes_with_its_connection(field: Field) -> None:
    for addr in field.addrs:
        connection = Connection(addr)
        assert connection.ask(Ask(103, STRANGER, registration("ABCD")))[0] == 0
        assert ask_once(addr, 105, topic="A")[0] == 0
        connection.close()
    field.forgets("A")


@pytest.mark.parametrize(
    "words",
    [
        ("topicList",),
        ("topicRoute", "-t", "TBW102"),
        ("updateKvConfig", "-s", "tools", "-k", "k", "-v", "v"),
        ("deleteKvConfig", "-s", "tools", "-k", "k"),
        ("wipeWritePerm", "-b", "broker-b"),
        ("addWritePerm", "-b", "broker-b"),
    ],
    ids=lambda words: words[0],
)
def test_mqadmin_prints_the_same(field: Field, words: tuple[str, ...]) -> None:
    real, ours = (field.mqadmin(addr, *words) for addr in field.addrs)
    expected, seen = (
        sorted(text.replace(addr, "NAMESRV").splitlines())
        for text, addr in zip((real, ours), field.addrs, strict=True)
    )
    assert seen == expected
    assert any(line.strip() for line in seen)


def test_mqadmin_sees_both_brokers(field: Field) -> None:
    for addr in field.addrs:
        lines = field.mqadmin(addr, "clusterList").splitlines()
        words = [line.split()[:4] for line in lines if line.startswith("DefaultCluster")]
        assert words == [
            ["DefaultCluster", "broker-a", "0", field.real_broker.addr],
            ["DefaultCluster", "broker-b", "0", field.our_broker.broker_addr],
        ]


def test_mqadmin_changes_a_setting(field: Field) -> None:
    for addr in field.addrs:
        field.mqadmin(addr, "updateNamesrvConfig", "-k", "waitSecondsForService", "-v", "7")
        printed = field.mqadmin(addr, "getNamesrvConfig")
        assert re.search(r"waitSecondsForService\s+=\s+7\b", printed), printed


def test_a_new_topic_reaches_both_at_once(field: Field) -> None:
    """Created by the official tool on each broker; the tool waits for the broker's answer only."""
    for broker in (field.real_broker.addr, field.our_broker.broker_addr):
        field.mqadmin(field.ours.addr, "updateTopic", "-b", broker, "-t", "Fresh", "-r", "3")
        if broker == field.real_broker.addr:
            # It answers when it has told both, or when that has taken 3 s.
            field.serves("Fresh", "broker-a")
        differences = field.compare([Ask(105, {"topic": "Fresh"})])
        assert not differences, "\n".join(differences)
    assert "readQueueNums': 3" in str(ask_once(field.ours.addr, 105, topic="Fresh"))


def test_thousands_of_topics_are_registered_in_parts(field: Field, tmp_path: Path) -> None:
    """Each part has a version of its own: with one that it has, a NameServer takes no change."""
    config = BrokerConfig(broker_name="many")
    topics = Topics(config, tmp_path, Clock())
    identity = BrokerIdentity("DefaultCluster", "many", 0, "10.1.1.3:1", "10.1.1.3:2")
    names = [f"many-{number}" for number in range(2500)]

    def put(queues: int) -> None:
        for name in names:
            topics.update(TopicConfig(topic_name=name, read_queue_nums=queues))

    def check(queues: int) -> None:
        asks = [Ask(105, {"topic": name}) for name in [*names[::50], names[-1]]]
        differences = field.compare([Ask(206, {}), *asks])
        assert not differences, "\n".join(differences)
        for ask in asks:
            assert f"'readQueueNums': {queues}" in str(ask_once(field.real.addr, 105, **ask.ext))

    async def register() -> None:
        registration = Registration(config, identity, topics, field.addrs)
        put(3)
        async with trio.open_nursery() as nursery:
            await nursery.start(registration.run)
            assert registration.missing == []
            await trio.to_thread.run_sync(check, 3)
            put(5)
            assert await registration.settled(20)
            await trio.to_thread.run_sync(check, 5)
            nursery.cancel_scope.cancel()

    trio.run(register)
    field.forgets(names[-1])


def test_ordered_topics_come_back_to_both_brokers(field: Field) -> None:
    namesrvs = ";".join(field.addrs)
    for broker in (field.real_broker.addr, field.our_broker.broker_addr):
        field.mqadmin(field.ours.addr, "updateTopic", "-b", broker, "-t", "Sorted")
    value = "broker-a:8;broker-b:8"
    words = ("updateOrderConf", "-m", "put", "-t", "Sorted", "-v", value)
    field.mqadmin(namesrvs, *words)
    for broker in (field.real_broker.addr, field.our_broker.broker_addr):
        until(
            lambda broker=broker: "'order': True" in str(ask_once(broker, 351, topic="Sorted")),
            f"Sorted is ordered on {broker}",
        )


def test_brokers_come_back_to_restarted_name_servers(field: Field) -> None:
    field.real.stop()
    field.ours.stop()
    field.real.start()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(field.home))
        field.ours.start()
    field.serves("TBW102", "broker-a")
    field.serves("TBW102", "broker-b")


def test_stopped_and_killed_brokers_are_gone(field: Field) -> None:
    field.our_broker.stop()
    field.serves("TBW102", "broker-b", yes=False)
    field.our_broker.start()
    field.serves("TBW102", "broker-b")
    field.our_broker.kill()
    field.real_broker.kill()
    field.serves("TBW102", "broker-b", yes=False)
    field.serves("TBW102", "broker-a", yes=False)
    differences = field.compare([Ask(106, {}), Ask(206, {}), Ask(304, {})])
    assert not differences, "\n".join(differences)
