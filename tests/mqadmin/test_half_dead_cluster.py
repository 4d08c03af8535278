"""A cluster of two brokers, of which one is registered but does not answer."""

import re
import socket
import subprocess
from collections.abc import Iterator

import pytest

from tests.run.mqadmin import run_mqadmin
from trimq.admin.blocking import BlockingAdminClient
from trimq.admin.groups.progress import Side, Target
from trimq.admin.messages.sending import NewMessage
from trimq.codec.bodies.groups import SubscriptionGroupConfig
from trimq.codec.bodies.register import RegisterBrokerBody, encode_register
from trimq.codec.bodies.topics import TopicConfig
from trimq.codec.codes import RequestCode
from trimq.codec.headers.namesrv import RegisterBrokerRequestHeader
from trimq.remoting.clients.blocking import BlockingClient
from trimq.testing import TestServer, running_server


@pytest.fixture(scope="module")
def dead_addr() -> Iterator[str]:
    """An address that nobody listens at, and nobody else gets meanwhile."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{taken.getsockname()[1]}"


@pytest.fixture(scope="module")
def server(dead_addr: str) -> Iterator[TestServer]:
    with running_server(settings={"brokerName": "alive"}) as started:
        body = RegisterBrokerBody()
        topics = body.topic_config_serialize_wrapper.topic_config_table
        for name in ("Shared", "Other", "Read", "%RETRY%G"):
            topics[name] = TopicConfig(topic_name=name)
        header = RegisterBrokerRequestHeader(
            broker_name="dead", broker_addr=dead_addr, cluster_name="DefaultCluster", broker_id=0
        )
        # It is registered as long as this connection is open.
        with BlockingClient(started.namesrv_addr) as registered:
            answer = registered.request(
                RequestCode.REGISTER_BROKER, header, encode_register(body, compressed=False)
            )
            assert answer.code == 0
            with BlockingAdminClient(started.namesrv_addr) as admin:
                _fill(admin, started.broker_addr)
            yield started


def _fill(admin: BlockingAdminClient, addr: str) -> None:
    """On the living broker: two queues with a message each, which a group has read."""
    for topic in ("Read", "%RETRY%G"):
        admin.put_topic(addr, TopicConfig(topic_name=topic, read_queue_nums=2, write_queue_nums=2))
    admin.put_group(addr, SubscriptionGroupConfig(group_name="G"))
    for queue_id in range(2):
        admin.send(NewMessage(topic="Read", body=b"x"), "alive", queue_id)
    admin.move_group(addr, "G", "Read", Target(Side.LATEST))


def run(server: TestServer, *words: str) -> subprocess.CompletedProcess[str]:
    return run_mqadmin(*words, NAMESRV_ADDR=server.namesrv_addr)


def test_what_can_be_done_is_done_and_the_rest_is_reported(
    server: TestServer, dead_addr: str
) -> None:
    done = run(server, "updateTopic", "-c", "DefaultCluster", "-t", "New")
    assert done.returncode == 1
    assert f"create topic to {server.broker_addr} success." in done.stdout
    assert f"mqadmin: no connection to {dead_addr}" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_dead_broker_keeps_its_line(server: TestServer, dead_addr: str) -> None:
    done = run(server, "clusterList")
    assert done.returncode == 1
    lines = {line.split()[1]: line for line in done.stdout.splitlines()}
    assert dead_addr in lines["dead"]
    assert server.broker_addr in lines["alive"]
    assert f"no connection to {dead_addr}" in done.stderr


def test_nothing_is_forgotten_of_a_topic_that_is_only_half_deleted(server: TestServer) -> None:
    assert run(server, "deleteTopic", "-c", "DefaultCluster", "-t", "Shared").returncode == 1
    done = run(server, "topicRoute", "-t", "Shared")
    assert (done.returncode, '"brokerName":"dead"' in done.stdout) == (0, True)


# (command line, what the living broker's part of the output has)
HALF_DONE = (
    ("topicStatus -t Read", r"(?m)^alive +1 +0 +1 "),
    ("consumerProgress -g G", r"(?m)^Read +alive +1 +1 +1 "),
    ("consumerProgress -g G -t Read", "Consume Diff Total: 0"),
    ("consumerProgress", r"(?m)^G +0 +OFFLINE "),
    ("offsets -g G", r"(?m)^Read +alive +1 +0 +1 +1 "),
    ("offsets -g G -t Read --json", '"brokerName":"alive"'),
    ("resetOffsetByTime -g G -t Read -s 0", r"(?m)^alive +1 +0 *$"),
    ("skipAccumulatedMessage -g G -t Read", r"(?m)^alive +1 +1 *$"),
    ("resetOffset -g G -t Read --to earliest", r"(?m)^Read +alive +1 +1 +0$"),
    ("resetOffset -g G --all-topics --to latest", r"(?m)^Read +alive +1 +1 +1$"),
    ("statsAll -t Read", r"(?m)^Read +G +0 "),
    ("haStatus -c DefaultCluster", "#SlaveNum\t0"),
    ("setConsumeMode -c DefaultCluster -t Read -g G -m PULL", "set consume mode to .* success"),
    ("brokerStatus -c DefaultCluster", "commitLogMaxOffset"),
    ("startMonitoring --rounds 1", "endRound"),
)


@pytest.mark.parametrize(("line", "shown"), HALF_DONE, ids=[line for line, _ in HALF_DONE])
def test_the_living_part_is_shown(
    server: TestServer, dead_addr: str, line: str, shown: str
) -> None:
    with BlockingAdminClient(server.namesrv_addr) as admin:
        admin.move_group(server.broker_addr, "G", "Read", Target(Side.LATEST))
    done = run(server, *line.split(" "))
    assert done.returncode == 1
    assert re.search(shown, done.stdout), done.stdout
    said = done.stderr.splitlines()
    assert len(said) == 1
    assert f"no connection to {dead_addr}: " in said[0]


@pytest.mark.parametrize(
    "line",
    [
        "producer -b {dead}",
        "brokerConsumeStats -b {dead}",
        "haStatus -b {dead}",
        "queryCq -t Shared -q 0 -i 0 -b {dead}",
        "consumerStatus -g G -b {dead}",
        "topicStatus -t Other",
    ],
)
def test_what_only_the_dead_one_knows_fails_in_one_sentence(
    server: TestServer, dead_addr: str, line: str
) -> None:
    done = run(server, *line.format(dead=dead_addr).split(" "))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"mqadmin: no connection to {dead_addr}: ")
    assert done.stderr.count("\n") == 1


def test_who_is_connected_is_asked_of_the_living(server: TestServer) -> None:
    """A broker that does not answer does not hide what the other one knows."""
    done = run(server, "consumerConnection", "-g", "G")
    assert done.returncode == 1
    assert done.stderr == (
        f"mqadmin: no consumer of group 'G' is connected to {server.broker_addr}\n"
    )


def test_a_broker_that_hangs(server: TestServer) -> None:
    """Its connections are accepted by the kernel, and nothing ever comes back."""
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        addr = f"127.0.0.1:{silent.getsockname()[1]}"
        for line in (f"brokerStatus -b {addr}", f"producer -b {addr}"):
            done = run(server, *line.split(" "), "--timeout", "0.2")
            assert (done.returncode, done.stdout) == (1, "")
            assert addr in done.stderr
            assert done.stderr.count("\n") == 1
            assert "Traceback" not in done.stderr
