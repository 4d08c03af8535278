"""Readers of a slave, and NameServers that go and come back empty."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.trimq.replication.pair import Pair, Process
from tests.trimq.supervising.test_running_family import send, until
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.headers.namesrv import GetRouteInfoRequestHeader
from trimq.codec.headers.pull import PullMessageRequestHeader
from trimq.remoting.clients.blocking import BlockingClient
from trimq.remoting.errors import TransportError

TOPIC = "Read"
SUSPEND, HAS_SUBSCRIPTION = 2, 4


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    made = Pair(tmp_path / "pair")
    made.master.settings |= {"brokerRole": "ASYNC_MASTER", "inSyncReplicas": 1}
    yield made
    made.end()


def pull(offset: int, wait: int = 0) -> PullMessageRequestHeader:
    return PullMessageRequestHeader(
        consumer_group="Readers",
        topic=TOPIC,
        queue_id=0,
        queue_offset=offset,
        max_msg_nums=32,
        sys_flag=HAS_SUBSCRIPTION | (SUSPEND if wait else 0),
        commit_offset=0,
        suspend_timeout_millis=wait,
        subscription="*",
        sub_version=0,
    )


def test_a_slave_answers_readers_with_and_without_its_master(pair: Pair) -> None:
    master = pair.master.start()
    assert send(master, TOPIC) == ResponseCode.SUCCESS
    slave = pair.slave.start()

    def has_first() -> bool:
        with BlockingClient(slave) as client:
            return client.request(RequestCode.PULL_MESSAGE, pull(0)).code == ResponseCode.SUCCESS

    until(has_first, "the slave has the topic and its message")
    with BlockingClient(slave, timeout=20) as client:
        asked = client.start(RequestCode.PULL_MESSAGE, pull(1, 15_000))
        time.sleep(0.5)
        began = time.monotonic()
        assert send(master, TOPIC) == ResponseCode.SUCCESS
        assert client.finish(asked).code == ResponseCode.SUCCESS
        # It waited for the message, not for the end of its time.
        assert time.monotonic() - began < 5
        pair.master.end()
        answer = client.request(RequestCode.PULL_MESSAGE, pull(0))
        assert answer.code == ResponseCode.SUCCESS
        assert (answer.ext_fields or {})["maxOffset"] == "2"
        assert send(slave, TOPIC) == ResponseCode.SYSTEM_BUSY


def brokers_of(namesrv: str) -> set[str]:
    """The addresses in the topic's route."""
    with BlockingClient(namesrv) as client:
        asked = GetRouteInfoRequestHeader(topic=TOPIC)
        answer = client.request(RequestCode.GET_ROUTEINFO_BY_TOPIC, asked)
    if answer.code != ResponseCode.SUCCESS:
        return set()
    datas = json.loads(answer.body)["brokerDatas"]
    return {addr for data in datas for addr in data["brokerAddrs"].values()}


def seconds_until(holds: Callable[[], bool]) -> float:
    began = time.monotonic()
    while time.monotonic() - began < 20:
        try:
            if holds():
                break
        except (TransportError, OSError):
            pass
        time.sleep(0.05)
    return time.monotonic() - began


def test_a_name_server_that_comes_back_empty_is_complete_soon(tmp_path: Path) -> None:
    names = [Process(["namesrv", "--listen", "127.0.0.1:0"], tmp_path / f"n{at}") for at in (0, 1)]
    addresses = [one.ready("namesrv") for one in names]
    words = ["server", "--namesrv", ";".join(addresses), "--listen", "127.0.0.1:0"]
    broker = Process([*words, "--store", str(tmp_path / "store")], tmp_path / "broker")
    try:
        addr = broker.ready("broker")
        assert send(addr, TOPIC) == ResponseCode.SUCCESS
        assert [brokers_of(one) for one in addresses] == [{addr}, {addr}]
        names[0].end()
        # The other one goes on, and so does the broker.
        assert send(addr, TOPIC) == ResponseCode.SUCCESS
        assert brokers_of(addresses[1]) == {addr}
        names[0] = Process(["namesrv", "--listen", addresses[0]], tmp_path / "n2")
        names[0].ready("namesrv")
        took = seconds_until(lambda: brokers_of(addresses[0]) == {addr})
        # 2 s on a machine that has nothing else to do.
        assert took < 8
        assert send(addr, TOPIC) == ResponseCode.SUCCESS
    finally:
        broker.end(signal.SIGTERM)
        for one in names:
            one.end()
