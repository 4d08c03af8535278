"""What elasticTopic show tells of load: messages by partition, and a second by queue."""

import json
import time
from collections.abc import Callable, Iterator

import pytest
from click.testing import CliRunner

from tests.patience import until
from trimq.admin.blocking import BlockingAdminClient
from trimq.admin.messages.sending import NewMessage
from trimq.admin.topics import elastic
from trimq.broker.elastic.partition_load import PartitionLoads
from trimq.broker.elastic.scaling import Scaling
from trimq.codec.bodies.elastic_admin import (
    ElasticGroup,
    ElasticProducer,
    ElasticVersion,
    ElasticView,
    ElasticWait,
)
from trimq.codec.bodies.route import BrokerData, TopicRouteData
from trimq.codec.bodies.topics import TopicConfig
from trimq.codec.java.moments import local_seconds
from trimq.mqadmin.cli import main
from trimq.mqadmin.common.elastic_text import show_groups, show_old_producers
from trimq.mqadmin.framework import Run
from trimq.mqadmin.output import Output
from trimq.testing import TestServer, running_server

TOPIC = "Shown"
PARTITION_RATES = {2: 12.5, 6: 0.5, 3: 7.0}


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[TestServer]:
    """As if it had looked at its topics for a while."""

    def rates(_: PartitionLoads, topic: str) -> list[float]:
        return [PARTITION_RATES.get(partition, 0.0) for partition in range(1000)]

    monkeypatch.setattr(PartitionLoads, "rates", rates)
    with running_server(settings={"brokerName": "broker-a"}) as started:
        with BlockingAdminClient(started.namesrv_addr) as admin:
            admin.elastic_create(started.broker_addr, TOPIC, 4)
            for partition in (2, 2, 6, 3):
                admin.send(NewMessage(topic=TOPIC, body=b"m"), "broker-a", partition)
        yield started


@pytest.fixture
def show(server: TestServer) -> Callable[..., str]:
    def shown(*words: str) -> str:
        command = ["-n", server.namesrv_addr, "elasticTopic", "show", "-t", TOPIC, *words]
        done = CliRunner().invoke(main, command)
        assert done.exit_code == 0, done.stderr
        return done.stdout

    return shown


def test_queues_and_busiest_partitions(show: Callable[..., str]) -> None:
    rows = [line.split() for line in show().splitlines()]
    # Queue 2 has the partitions 2 and 6.
    assert ["2", "250", "0", "3", "13.0"] in rows
    assert ["3", "250", "0", "1", "7.0"] in rows
    busiest = rows.index(["#Partition", "#QID", "#Messages/s"])
    assert rows[busiest + 1 : busiest + 4] == [
        ["2", "2", "12.5"],
        ["3", "3", "7.0"],
        ["6", "2", "0.5"],
    ]


def test_for_programs(show: Callable[..., str]) -> None:
    (view,) = [json.loads(line) for line in show("--json").splitlines()]
    assert [(one["partition"], one["queue"], one["messages"]) for one in view["loads"]] == [
        (2, 2, 2),
        (3, 3, 1),
        (6, 2, 1),
    ]
    assert [one["rate"] for one in view["queues"]] == [0, 0, 13, 7]


def test_queues_that_are_to_leave_the_route(show: Callable[..., str], server: TestServer) -> None:
    with BlockingAdminClient(server.namesrv_addr) as admin:
        admin.elastic_scale(server.broker_addr, TOPIC, 1)
        until(lambda: not admin.elastic_view(server.broker_addr, TOPIC).pending)
    why = "no group has read the topic yet, and queue 2 has messages"
    assert f"queues 1 to 3 are to leave the route: {why}" in show().splitlines()
    done = CliRunner().invoke(
        main, ["-n", server.namesrv_addr, "elasticTopic", "merge", "-t", TOPIC, "--to", "0"]
    )
    assert "only the last queue, 0, can be merged" in done.stderr


def test_a_second_master_that_has_the_topic_is_shown(
    show: Callable[..., str], server: TestServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Created there while the topic's own broker was away: that is when somebody looks."""
    with running_server(settings={"brokerName": "broker-b"}) as other:
        both = [
            BrokerData(broker_name=name, broker_addrs={0: addr})
            for name, addr in (("broker-b", other.broker_addr), ("broker-a", server.broker_addr))
        ]

        async def route(*_: object) -> TopicRouteData:
            return TopicRouteData(broker_datas=both)

        monkeypatch.setattr(elastic, "topic_route", route)
        with BlockingAdminClient(other.namesrv_addr) as admin:
            admin.put_topic(other.broker_addr, TopicConfig(topic_name=TOPIC))
        lines = show().splitlines()
        assert f"On {server.broker_addr}:" in lines
        assert f"{TOPIC}: 1000 partitions, version 0" in lines
        assert f"{other.broker_addr} has {TOPIC} as an ordinary topic." in lines
        values = [json.loads(line) for line in show("--json").splitlines()]
        assert [one.get("version", one.get("elastic")) for one in values] == [0, False]
        command = ["-n", server.namesrv_addr, "elasticTopic", "scale", "-t", TOPIC, "-q", "8"]
        done = CliRunner().invoke(main, command)
        assert done.exit_code != 0
        assert f"elasticTopic show -t {TOPIC}" in done.stderr


def test_since_when_and_the_last_commit(capsys: pytest.CaptureFixture[str]) -> None:
    since, last = 1_700_000_000_000, 1_700_000_060_000
    waits = [
        ElasticWait(
            version=1, queue=0, end=9, committed=2, owner="C", since=since, last_commit=last
        ),
        ElasticWait(version=1, queue=1, end=3, committed=2),
    ]
    group = ElasticGroup(group="G", members=1, waits=waits)
    view = ElasticView(topic=TOPIC, changes=[ElasticVersion(version=1)], groups=[group])
    with BlockingAdminClient("127.0.0.1:1") as admin:
        show_groups(Run(admin, Output(False)), view)
    shown = capsys.readouterr().out
    assert f"since {local_seconds(since)}, C, last commit {local_seconds(last)}" in shown
    assert "nobody has it locked, no commit since the broker's start" in shown


def test_cancel_can_be_tried(server: TestServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """The plan stays, and is given up without --dry-run."""
    monkeypatch.setattr(Scaling, "_is_ready", lambda *_: False)
    command = ["-n", server.namesrv_addr, "elasticTopic", "cancel", "-t", TOPIC]
    with BlockingAdminClient(server.namesrv_addr) as admin:
        admin.elastic_scale(server.broker_addr, TOPIC, 8)
        for _ in range(2):
            done = CliRunner().invoke(main, [*command, "--dry-run"])
            assert done.stdout == "would give up 4 changes; those that have happened stay\n"
            assert admin.elastic_view(server.broker_addr, TOPIC).pending == 4
        assert "4 changes given up" in CliRunner().invoke(main, command).stdout
        assert admin.elastic_view(server.broker_addr, TOPIC).pending == 0


def test_producers_that_seem_to_have_the_old_list(
    show: Callable[..., str], server: TestServer
) -> None:
    namesrv, addr = server.namesrv_addr, server.broker_addr
    with BlockingAdminClient(namesrv) as old, BlockingAdminClient(namesrv) as new:
        new.put_topic(addr, TopicConfig(topic_name="Old", read_queue_nums=4, write_queue_nums=4))
        new.elastic_create(addr, "Old")
        for queue in (0, 3, 1):
            old.send(NewMessage(topic="Old", body=b"m"), "broker-a", queue)
        new.send(NewMessage(topic="Old", body=b"m"), "broker-a", 3)
        new.send(NewMessage(topic="Old", body=b"m"), "broker-a", 4)
        view = json.loads(show("--json", "-t", "Old"))
        assert view["oldQueues"] == 4
        (one,) = view["oldProducers"]
        assert (one["sends"], one["clientId"]) == (3, None)
        assert abs(one["since"] / 1000 - time.time()) < 60
        lines = show("-t", "Old").splitlines()
        assert "sent to ids below 4 alone" in lines[-3]
        assert lines[-1].split()[:3] == [one["address"], "-", "3"]
        # Of a topic that was made elastic nothing is said.
        assert "#Address" not in show()
        assert json.loads(show("--json"))["oldQueues"] == 0
    until(lambda: not json.loads(show("--json", "-t", "Old"))["oldProducers"])


def test_old_producers_have_names_and_are_not_all_shown(capsys: pytest.CaptureFixture[str]) -> None:
    producers = [
        ElasticProducer(address=f"10.0.0.{n}:4711", client_id=f"c{n}", sends=n, since=10**12)
        for n in range(22)
    ]
    with BlockingAdminClient("127.0.0.1:1") as admin:
        run = Run(admin, Output(False))
        show_old_producers(run, ElasticView(topic=TOPIC, old_queues=8, old_producers=producers))
        shown = capsys.readouterr().out.splitlines()
        show_old_producers(run, ElasticView(topic=TOPIC, old_queues=8))
    assert shown[-2].split()[:3] == ["10.0.0.19:4711", "c19", "19"]
    assert shown[-1] == "and 2 more producers: see --json"
    assert capsys.readouterr().out == ""
