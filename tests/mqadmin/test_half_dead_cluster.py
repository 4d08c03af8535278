"""A cluster of two brokers, of which one is registered but does not answer."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

from codec.bodies.register import RegisterBrokerBody, encode_register
from codec.bodies.topics import TopicConfig
from codec.codes import RequestCode
from codec.headers.namesrv import RegisterBrokerRequestHeader
from remoting.blocking import BlockingClient
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
        for name in ("Shared", "Other"):
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
            yield started


def run(server: TestServer, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "mqadmin", *words],
        capture_output=True,
        text=True,
        env={**os.environ, "NAMESRV_ADDR": server.namesrv_addr},
        check=False,
    )


def test_what_can_be_done_is_done_and_the_rest_is_said(server: TestServer, dead_addr: str) -> None:
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


def test_a_question_that_needs_the_dead_one_fails_in_one_sentence(
    server: TestServer, dead_addr: str
) -> None:
    done = run(server, "topicStatus", "-t", "Shared")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"mqadmin: no connection to {dead_addr}: ")
    assert done.stderr.count("\n") == 1
