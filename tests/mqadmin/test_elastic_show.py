"""What elasticTopic show tells of load: messages by partition, and a second by queue."""

import json
import time
from collections.abc import Callable, Iterator

import pytest
from click.testing import CliRunner

from trimq.admin.blocking import BlockingAdminClient
from trimq.admin.messages.sending import NewMessage
from trimq.broker.elastic.loads import Loads
from trimq.mqadmin.cli import main
from trimq.testing import TestServer, running_server

TOPIC = "Shown"
PARTITION_RATES = {2: 12.5, 6: 0.5, 3: 7.0}


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[TestServer]:
    """As if it had looked at its topics for a while."""

    def rates(_: Loads, topic: str) -> list[float]:
        return [PARTITION_RATES.get(partition, 0.0) for partition in range(1000)]

    monkeypatch.setattr(Loads, "rates", rates)
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
        while admin.elastic_view(server.broker_addr, TOPIC).pending:
            time.sleep(0.1)
    why = "no group has read the topic yet, and queue 2 has messages"
    assert f"queues 1 to 3 are to leave the route: {why}" in show().splitlines()
    done = CliRunner().invoke(
        main, ["-n", server.namesrv_addr, "elasticTopic", "merge", "-t", TOPIC, "--to", "0"]
    )
    assert "only the last queue, 0, can be merged" in done.stderr
