"""Readers of a slave, and NameServers that go and come back empty."""

from __future__ import annotations

import json
import math
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

from compat_tests.servers.processes import free_port
from tests.patience import until
from tests.requests import pull_header
from tests.trimq.replication.pair import Pair, Process
from tests.trimq.supervising.test_running_family import AWAY, send
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.headers.namesrv import GetRouteInfoRequestHeader
from trimq.codec.headers.pull import PullMessageRequestHeader
from trimq.remoting.clients.blocking import BlockingClient
from trimq.remoting.errors import TransportError

TOPIC = "Read"
# Seconds in which a NameServer that began empty knows everything.
SOON, TRIES = 2, 6
# Of a client on a machine that has much else to do.
PATIENCE = 30


def pull(offset: int, wait: int = 0) -> PullMessageRequestHeader:
    return pull_header("Readers", TOPIC, offset, wait_millis=wait)


def test_a_slave_answers_readers_with_and_without_its_master(pair: Pair) -> None:
    master = pair.master.start()
    assert send(master, TOPIC) == ResponseCode.SUCCESS
    slave = pair.slave.start()

    def has_first() -> bool:
        with BlockingClient(slave, timeout=PATIENCE) as client:
            return client.request(RequestCode.PULL_MESSAGE, pull(0)).code == ResponseCode.SUCCESS

    until(has_first, "the slave has the topic and its message", excused=AWAY)
    with BlockingClient(slave, timeout=120) as client:
        asked = client.start(RequestCode.PULL_MESSAGE, pull(1, 60_000))
        time.sleep(0.5)
        began = time.monotonic()
        assert send(master, TOPIC) == ResponseCode.SUCCESS
        assert client.finish(asked).code == ResponseCode.SUCCESS
        # It waited for the message, not for the end of its time.
        assert time.monotonic() - began < 30
        pair.master.end()
        answer = client.request(RequestCode.PULL_MESSAGE, pull(0))
        assert answer.code == ResponseCode.SUCCESS
        assert (answer.ext_fields or {})["maxOffset"] == "2"
        assert send(slave, TOPIC) == ResponseCode.SYSTEM_BUSY


def brokers_of(namesrv: str) -> set[str]:
    """The addresses in the topic's route."""
    with BlockingClient(namesrv, timeout=PATIENCE) as client:
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


class Application(threading.Thread):
    """Sends and pulls, one after the other, and asks for the route before: the NameServers in turn until one knows."""

    def __init__(self, namesrvs: list[str]) -> None:
        super().__init__()
        self._namesrvs = namesrvs
        self._over = threading.Event()
        self.done = 0
        self.failed: list[str] = []

    def run(self) -> None:
        while not self._over.wait(0.01):
            try:
                (addr,) = next(filter(None, map(self._brokers, self._namesrvs)))
                with BlockingClient(addr, timeout=PATIENCE) as client:
                    pulled = client.request(RequestCode.PULL_MESSAGE, pull(0)).code
                codes = (send(addr, TOPIC), pulled)
            except (TransportError, OSError, StopIteration) as error:
                self.failed.append(repr(error))
                continue
            self.done += 1
            if codes != (ResponseCode.SUCCESS, ResponseCode.SUCCESS):
                self.failed.append(str(codes))

    def end(self) -> None:
        self._over.set()
        if self.ident is not None:
            self.join()

    @staticmethod
    def _brokers(namesrv: str) -> set[str]:
        try:
            return brokers_of(namesrv)
        except (TransportError, OSError):
            return set()


def test_a_name_server_that_comes_back_empty_is_complete_soon(tmp_path: Path) -> None:
    addresses = [f"127.0.0.1:{free_port()}" for _ in range(2)]
    names = [
        Process(["namesrv", "--listen", addr], tmp_path / f"n{at}")
        for at, addr in enumerate(addresses)
    ]
    for one in names:
        one.ready("namesrv")
    application = Application(addresses)
    words = ["server", "--namesrv", ";".join(addresses), "--listen", "127.0.0.1:0"]
    broker = Process([*words, "--store", str(tmp_path / "store")], tmp_path / "broker")
    try:
        addr = broker.ready("broker")
        assert send(addr, TOPIC) == ResponseCode.SUCCESS
        assert [brokers_of(one) for one in addresses] == [{addr}, {addr}]
        application.start()
        took: list[float] = []
        # On a machine that has much else to do, not every time.
        while len(took) < TRIES and min(took, default=math.inf) > SOON:
            names[0].end()
            # The other one goes on, and so does the broker.
            before = application.done
            until(
                lambda before=before: application.done > before + 5,
                "sends and pulls go on",
                excused=AWAY,
            )
            assert brokers_of(addresses[1]) == {addr}
            names[0] = Process(["namesrv", "--listen", addresses[0]], tmp_path / "again")
            names[0].ready("namesrv")
            took.append(seconds_until(lambda: brokers_of(addresses[0]) == {addr}))
        assert min(took) < SOON
        application.end()
        assert not application.failed
    finally:
        application.end()
        broker.end(signal.SIGTERM)
        for one in names:
            one.end()
