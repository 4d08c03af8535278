"""`updateTopic --drain` on a broker of our own, and how it ends when it is stopped."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.mqadmin.terminals import terminal
from trimq.admin.blocking import BlockingAdminClient
from trimq.admin.messages.sending import NewMessage
from trimq.codec.bodies.groups import SubscriptionGroupConfig
from trimq.codec.codes import RequestCode
from trimq.codec.headers.offsets import UpdateConsumerOffsetRequestHeader
from trimq.remoting.clients.blocking import BlockingClient
from trimq.testing import TestServer


@pytest.fixture
def admin(server: TestServer) -> Iterator[BlockingAdminClient]:
    with BlockingAdminClient(server.namesrv_addr) as client:
        yield client


def started(server: TestServer, line: str) -> subprocess.Popen[str]:
    command = f"updateTopic -b {server.broker_addr} {line}".split()
    return subprocess.Popen(
        [sys.executable, "-m", "trimq.mqadmin", *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "NAMESRV_ADDR": server.namesrv_addr, "PYTHONUNBUFFERED": "1"},
    )


def run(server: TestServer, line: str) -> tuple[int, str, str]:
    process = started(server, line)
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


def queues(server: TestServer, admin: BlockingAdminClient, topic: str) -> tuple[int, int]:
    config = admin.topic_config(server.broker_addr, topic)
    return config.read_queue_nums, config.write_queue_nums


def clog(server: TestServer, admin: BlockingAdminClient, topic: str) -> None:
    """A message in queue 3, and a group that has not read it."""
    assert run(server, f"-t {topic} -r 4 -w 4")[0] == 0
    admin.send(NewMessage(topic=topic, body=b"x"), "broker-a", 3)
    admin.put_group(server.broker_addr, SubscriptionGroupConfig(group_name="Stuck"))
    header = UpdateConsumerOffsetRequestHeader(
        consumer_group="Stuck", topic=topic, queue_id=3, commit_offset=0
    )
    with BlockingClient(server.broker_addr) as client:
        assert client.request(RequestCode.UPDATE_CONSUMER_OFFSET, header).code == 0


def test_an_empty_topic_is_drained_at_once(server: TestServer, admin: BlockingAdminClient) -> None:
    run(server, "-t Empty -r 4 -w 4 -a +message.type=FIFO -o true")
    code, out, err = run(server, "-t Empty -r 1 -w 1 --drain --drain-settle 0")
    assert (code, err, queues(server, admin, "Empty")) == (0, "", (1, 1))
    assert out.splitlines()[-1].endswith("1 write queues, 1 read queues; done.")
    config = admin.topic_config(server.broker_addr, "Empty")
    assert (config.order, config.attributes) == (True, {"message.type": "FIFO"})
    assert admin.get_kv("ORDER_TOPIC_CONFIG", "Empty") == "broker-a:1"


def test_a_group_that_has_not_read_holds_it_up(
    server: TestServer, admin: BlockingAdminClient
) -> None:
    clog(server, admin, "Held")
    code, out, err = run(server, "-t Held -w 2 --drain --drain-settle 0 --drain-timeout 0")
    assert (code, queues(server, admin, "Held")) == (1, (4, 2))
    assert "draining Held: 1 messages left: Stuck 1" in out
    assert "not drained within 0 s; topic 'Held':" in err
    tail = admin.tail_of(server.broker_addr, "Held", 2)
    assert (tail.ends, tail.behind, tail.unknown) == ({2: 0, 3: 1}, {"Stuck": 1}, [])
    code, _, _ = run(server, "-t Held -w 2 --drain --drain-settle 0 --ignore-group Stuck")
    assert (code, queues(server, admin, "Held")) == (0, (2, 2))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_stopped_it_says_where_the_topic_stands(
    server: TestServer, admin: BlockingAdminClient, number: int
) -> None:
    topic = f"Stopped{int(number)}"
    clog(server, admin, topic)
    process = started(server, f"-t {topic} -w 2 --drain --drain-settle 0")
    assert process.stdout is not None
    for _ in range(2):
        process.stdout.readline()
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, queues(server, admin, topic)) == (1, (4, 2))
    assert f"interrupted; topic '{topic}': {server.broker_addr} takes no more writes" in err
    assert "the same command continues from here" in err
    assert f"-t {topic} -p 6 -r 4 -w 4" in err
    assert "Traceback" not in err


def test_a_terminal_shows_a_bar(server: TestServer, admin: BlockingAdminClient) -> None:
    clog(server, admin, "Watched")
    command = f"updateTopic -b {server.broker_addr} -t Watched -w 2 --drain --drain-timeout 0"
    environment = {**os.environ, "NAMESRV_ADDR": server.namesrv_addr, "TERM": "xterm"}
    code, shown = terminal(command.split(), environment, with_errors=False)
    assert code == 1
    assert "draining Watched  [-" in shown
    assert "0%" in shown
    assert "messages left" not in shown


def test_more_queues_come_at_once(server: TestServer, admin: BlockingAdminClient) -> None:
    run(server, "-t Grown -r 2 -w 2")
    code, _, _ = run(server, "-t Grown -r 6 --drain")
    assert (code, queues(server, admin, "Grown")) == (0, (6, 6))
