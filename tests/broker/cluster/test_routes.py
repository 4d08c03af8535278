"""Routes are asked of NameServers, of which some say nothing."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from trimq.base.clock import Clock
from trimq.broker.cluster import routes
from trimq.broker.cluster.routes import ClusterRoutes
from trimq.broker.config import BrokerConfig
from trimq.codec.bodies.base import encode_body
from trimq.codec.bodies.route import BrokerData, QueueData, TopicRouteData
from trimq.codec.codes import ResponseCode
from trimq.codec.frames.command import RemotingCommand
from trimq.remoting.errors import RemotingConnectError, RemotingTimeout

ONE, TWO, THREE = "one:9876", "two:9876", "three:9876"
ROUTE = TopicRouteData(
    queue_datas=[QueueData(broker_name="a", read_queue_nums=1, write_queue_nums=1, perm=6)],
    broker_datas=[BrokerData(cluster="C", broker_name="a", broker_addrs={0: "10.0.0.1:10911"})],
)


class NameServers:
    """In place of the client. They answer, but for some that are `mute` for 3 seconds, or `gone`."""

    def __init__(self) -> None:
        self.mute: set[str] = set()
        self.gone: set[str] = set()
        self.unknown: set[str] = set()
        self.asked: list[str] = []

    @asynccontextmanager
    async def connect(self, addr: str, tls: object) -> AsyncIterator["Asked"]:
        self.asked.append(addr)
        if addr in self.gone:
            raise RemotingConnectError("refused")
        yield Asked(self, addr)


class Asked:
    def __init__(self, servers: NameServers, addr: str) -> None:
        self._servers = servers
        self._addr = addr

    async def request(self, code: int, header: Any) -> RemotingCommand:
        if self._addr in self._servers.mute:
            await trio.sleep(3)
            raise RemotingTimeout("no answer")
        if header.topic in self._servers.unknown:
            return RemotingCommand(int(ResponseCode.TOPIC_NOT_EXIST), 1)
        return RemotingCommand(int(ResponseCode.SUCCESS), 1, body=encode_body(ROUTE))


class Bench:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.servers = NameServers()
        monkeypatch.setattr(routes, "Client", self.servers)
        self.routes = ClusterRoutes(BrokerConfig(), [ONE, TWO, THREE], Clock())

    async def ask(self, topic: str) -> tuple[bool, float, list[str]]:
        """Whether the topic has queues, after how many seconds, and whom that was asked of."""
        self.servers.asked.clear()
        start = trio.current_time()
        found = await self.routes.readable_queues(topic)
        return bool(found), round(trio.current_time() - start), list(self.servers.asked)


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Bench:
    return Bench(monkeypatch)


async def test_a_mute_name_server_holds_up_one_question(
    bench: Bench, autojump_clock: MockClock
) -> None:
    bench.servers.mute = {ONE}
    assert await bench.ask("T") == (True, 3, [ONE, TWO])
    assert await bench.ask("U") == (True, 0, [TWO])
    await trio.sleep(60)
    assert await bench.ask("T") == (True, 0, [TWO])
    # One that refuses costs no time, and is asked first again.
    bench.servers.gone = {TWO}
    assert await bench.ask("V") == (True, 0, [TWO, THREE])
    bench.servers.gone = set()
    assert await bench.ask("W") == (True, 0, [TWO])


async def test_a_mute_name_server_is_asked_when_no_other_one_answers(
    bench: Bench, autojump_clock: MockClock
) -> None:
    bench.servers.mute = {ONE, TWO}
    assert await bench.ask("T") == (True, 6, [ONE, TWO, THREE])
    bench.servers.mute, bench.servers.gone = {TWO}, {THREE}
    found, seconds, asked = await bench.ask("U")
    assert (found, seconds) == (True, 0)
    assert sorted(asked) == [ONE, THREE, TWO]
    assert await bench.ask("V") == (True, 0, [ONE])


async def test_when_all_are_mute_the_last_answer_counts_at_once(
    bench: Bench, autojump_clock: MockClock
) -> None:
    assert await bench.ask("T") == (True, 0, [ONE])
    await trio.sleep(31)
    bench.servers.mute = {ONE, TWO, THREE}
    assert await bench.ask("T") == (True, 9, [ONE, TWO, THREE])
    assert await bench.ask("T") == (True, 0, [])
    # What nobody knows is asked of all of them side by side.
    found, seconds, asked = await bench.ask("U")
    assert (found, seconds, len(asked)) == (False, 3, 3)
    # They may be back.
    await trio.sleep(31)
    bench.servers.mute = set()
    found, seconds, asked = await bench.ask("T")
    assert (found, seconds) == (True, 0)
    assert ONE in asked


async def test_what_does_not_exist_is_not_remembered(
    bench: Bench, autojump_clock: MockClock
) -> None:
    assert (await bench.ask("T"))[0]
    await trio.sleep(31)
    bench.servers.unknown = {"T"}
    assert await bench.ask("T") == (False, 0, [ONE])
    bench.servers.unknown = set()
    assert await bench.ask("T") == (True, 0, [ONE])
