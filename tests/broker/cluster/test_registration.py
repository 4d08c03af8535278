"""A broker registers with NameServers that live in the same loop, over real connections.

Trio's clock is moved by hand: no time-out fires by accident, and half a minute passes at once.
"""

import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from compat_tests.servers.processes import free_port
from trimq.base.clock import Clock
from trimq.broker.cluster.registration import Registration, name_server_list
from trimq.broker.config import BrokerConfig
from trimq.broker.identity import BrokerIdentity
from trimq.broker.topics.table import Topics
from trimq.codec.bodies.register import RegisterBrokerBody, decode_register
from trimq.codec.bodies.route import QueueData
from trimq.codec.bodies.topics import TopicConfig
from trimq.codec.codes import RequestCode
from trimq.codec.headers.base import Header, decode_header
from trimq.codec.headers.namesrv import (
    QueryDataVersionResponseHeader,
    RegisterBrokerRequestHeader,
    UnRegisterBrokerRequestHeader,
)
from trimq.remoting.contract import Processor, RemotingError, Request, Response
from trimq.remoting.serving.dispatch import Dispatcher
from trimq.remoting.serving.server import Server


class NameServer(Processor[None]):
    """Records what it is sent and answers as the test wants."""

    codes = (
        RequestCode.REGISTER_BROKER,
        RequestCode.UNREGISTER_BROKER,
        RequestCode.QUERY_DATA_VERSION,
        RequestCode.REGISTER_TOPIC_IN_NAMESRV,
    )

    def __init__(self, port: int) -> None:
        self.addr = f"127.0.0.1:{port}"
        self._tell, self._told = trio.open_memory_channel[str](1000)
        self.headers: list[Header] = []
        self.bodies: list[RegisterBrokerBody] = []
        self.known_version = b""
        self.order_topics = b""
        self.refusals = 0
        self.held: trio.Event | None = None

    async def heard(self) -> str:
        return await self._told.receive()

    def silent(self) -> bool:
        return self._told.statistics().current_buffer_used == 0

    def handle(self, request: Request[None]) -> Response:
        if request.code == RequestCode.REGISTER_BROKER:
            return self._register(request)
        if request.code == RequestCode.QUERY_DATA_VERSION:
            self._tell.send_nowait("version?")
            changed = self.known_version != request.body
            reply = QueryDataVersionResponseHeader(changed=changed)
            return Response(header=reply, body=self.known_version)
        if request.code == RequestCode.REGISTER_TOPIC_IN_NAMESRV:
            (queues,) = json.loads(request.body)["queueDatas"]
            self._tell.send_nowait(f"only {request.ext_fields['topic']} perm {queues['perm']}")
            return Response()
        self.headers.append(decode_header(UnRegisterBrokerRequestHeader, request.ext_fields))
        self._tell.send_nowait("bye")
        return Response()

    def _register(self, request: Request[None]) -> Response:
        header = decode_header(RegisterBrokerRequestHeader, request.ext_fields)
        body = decode_register(request.body, header.compressed, request.version)
        self.headers.append(header)
        self.bodies.append(body)
        names = list(body.topic_config_serialize_wrapper.topic_config_table)
        self._tell.send_nowait("all" if "TBW102" in names else "+".join(names))
        if self.refusals:
            self.refusals -= 1
            raise RemotingError(1, "register broker failed")
        return Response(body=self.order_topics)


@asynccontextmanager
async def name_server(port: int = 0) -> AsyncIterator[NameServer]:
    """Serves until the block ends, which closes its connections too."""
    sock = socket.create_server(("127.0.0.1", port))
    found = NameServer(sock.getsockname()[1])
    async with trio.open_nursery() as nursery:
        await nursery.start(Server(Dispatcher([found])).serve, [sock])
        yield found
        nursery.cancel_scope.cancel()


class Broker:
    """What registers."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        self.config = BrokerConfig(broker_name="broker-a", **settings)
        self.topics = Topics(self.config, folder, Clock())
        self.identity = BrokerIdentity("c", "broker-a", 0, "10.0.0.1:10911", "10.0.0.1:10912")

    @asynccontextmanager
    async def registered(self, *name_servers: str) -> AsyncIterator[Registration]:
        registration = Registration(self.config, self.identity, self.topics, name_servers)
        async with trio.open_nursery() as nursery:
            await nursery.start(registration.run)
            yield registration
            nursery.cancel_scope.cancel()

    def create(self, *names: str) -> None:
        for name in names:
            self.topics.create_if_absent(TopicConfig(topic_name=name))


@pytest.fixture
def broker(tmp_path: Path) -> Broker:
    return Broker(tmp_path)


async def pass_time(clock: trio.testing.MockClock, seconds: float) -> None:
    """Second by second, so that whoever looks at the clock each second sees them all."""
    while seconds > 0:
        # A task that waits for a socket counts as blocked: give the kernel a moment to deliver.
        await trio.testing.wait_all_tasks_blocked(0.01)
        clock.jump(min(seconds, 1))
        seconds -= 1
    await trio.testing.wait_all_tasks_blocked(0.01)


def test_list_of_name_servers() -> None:
    assert name_server_list(" a:1; b:2;;") == ["a:1", "b:2"]
    assert name_server_list("") == []


async def test_everything_is_registered_before_the_service_has_started(broker: Broker) -> None:
    broker.create("T")
    async with name_server() as server:
        async with broker.registered(server.addr) as registration:
            assert registration.registered_with() == [server.addr]
        assert await server.heard() == "all"
        header, body = server.headers[0], server.bodies[0]
        assert isinstance(header, RegisterBrokerRequestHeader)
        assert (header.broker_name, header.cluster_name, header.broker_id) == ("broker-a", "c", 0)
        assert (header.broker_addr, header.ha_server_addr) == ("10.0.0.1:10911", "10.0.0.1:10912")
        assert header.enable_acting_master is False
        assert header.heartbeat_timeout_millis is None
        wrapper = body.topic_config_serialize_wrapper
        assert wrapper.topic_config_table == broker.topics.all()
        assert wrapper.data_version == broker.topics.data_version


async def test_a_new_topic_is_told_alone_and_at_once(broker: Broker) -> None:
    async with name_server() as server, broker.registered(server.addr) as registration:
        assert await server.heard() == "all"
        broker.create("T")
        assert await registration.settled(20)
        assert await server.heard() == "T"
        version = server.bodies[-1].topic_config_serialize_wrapper.data_version
        assert version == broker.topics.data_version
        # Several in one go leave together.
        broker.create("U", "V", "U")
        assert await registration.settled(20)
        assert await server.heard() == "U+V"
        assert server.silent()


async def test_the_name_server_in_this_process_knows_a_topic_at_once(broker: Broker) -> None:
    told: list[tuple[str, str, int]] = []

    def tell(topic: str, queues: list[QueueData]) -> None:
        told.extend((topic, data.broker_name, data.read_queue_nums) for data in queues)

    Registration(broker.config, broker.identity, broker.topics, [], tell)
    broker.create("T")
    assert told == [("T", "broker-a", 16)]


async def test_replies_are_held_back_until_all_name_servers_know_a_new_topic(
    broker: Broker,
) -> None:
    async with name_server() as server, broker.registered(server.addr) as registration:
        assert await server.heard() == "all"
        assert not registration.held_replies.wanted
        broker.create("T")
        assert registration.held_replies.wanted
        assert server.silent()
        await registration.held_replies.passed()
        assert server.bodies[-1].topic_config_serialize_wrapper.topic_config_table.keys() == {"T"}
        assert not registration.held_replies.wanted


async def test_nobody_is_held_back_while_no_name_server_answers(broker: Broker) -> None:
    async with name_server() as server:
        addr = server.addr
    async with broker.registered(addr) as registration:
        broker.create("T")
        assert not registration.held_replies.wanted


async def test_a_refused_topic_makes_a_full_registration(broker: Broker) -> None:
    async with name_server() as server, broker.registered(server.addr) as registration:
        assert await server.heard() == "all"
        server.refusals = 1
        broker.create("T")
        assert [await server.heard() for _ in range(2)] == ["T", "all"]
        assert await registration.settled(20)
        assert registration.registered_with() == [server.addr]


async def test_everything_again_every_half_minute(
    broker: Broker, mock_clock: trio.testing.MockClock
) -> None:
    async with name_server() as server, broker.registered(server.addr):
        assert await server.heard() == "all"
        await pass_time(mock_clock, 29)
        assert server.silent()
        await pass_time(mock_clock, 1)
        assert await server.heard() == "all"


async def test_without_force_the_version_is_asked_first(
    tmp_path: Path, mock_clock: trio.testing.MockClock
) -> None:
    broker = Broker(tmp_path, force_register=False)
    async with name_server() as server, broker.registered(server.addr):
        assert await server.heard() == "all"
        await pass_time(mock_clock, 30)
        assert [await server.heard(), await server.heard()] == ["version?", "all"]
        version = broker.topics.data_version
        server.known_version = (
            f'{{"counter":{version.counter},"stateVersion":0,"timestamp":{version.timestamp}}}'
        ).encode()
        await pass_time(mock_clock, 30)
        assert await server.heard() == "version?"
        await pass_time(mock_clock, 1)
        assert server.silent()


async def test_a_topic_registered_on_its_own(tmp_path: Path) -> None:
    broker = Broker(tmp_path, enable_single_topic_register=True, broker_permission=4)
    async with name_server() as server, broker.registered(server.addr) as registration:
        assert await server.heard() == "all"
        broker.create("T")
        assert await registration.settled(20)
        assert await server.heard() == "only T perm 4"


async def test_no_topic_has_more_permissions_than_the_broker(tmp_path: Path) -> None:
    broker = Broker(tmp_path, broker_permission=2, compressed_register=True)
    async with name_server() as server, broker.registered(server.addr):
        assert await server.heard() == "all"
    told = server.bodies[0].topic_config_serialize_wrapper.topic_config_table
    assert told["TBW102"].perm == 2
    assert broker.topics.all()["TBW102"].perm == 7


async def test_topics_leave_in_parts(tmp_path: Path) -> None:
    settings = {"enable_split_registration": True, "split_registration_size": 6}
    broker = Broker(tmp_path, **settings)
    async with name_server() as server, broker.registered(server.addr):
        pass
    sizes = [len(body.topic_config_serialize_wrapper.topic_config_table) for body in server.bodies]
    assert sum(sizes) == len(broker.topics)
    assert set(sizes[:-1]) == {6}
    versions = [body.topic_config_serialize_wrapper.data_version for body in server.bodies]
    counters = [version.counter for version in versions]
    # Each is newer than what the NameServer got with the one before, which it compares by this.
    assert counters == list(range(counters[0], counters[0] + len(sizes)))
    assert len(sizes) > 1


async def test_thousands_of_topics_leave_in_parts_too(broker: Broker) -> None:
    """A NameServer that reads all of them at once answers nobody meanwhile."""
    names = [f"T{number}" for number in range(2500)]
    async with name_server() as server, broker.registered(server.addr) as registration:
        assert await server.heard() == "all"
        broker.create(*names)
        assert await registration.settled(20)
    _check_parts(server, names, broker)
    async with name_server() as server, broker.registered(server.addr) as registration:
        assert await registration.settled(20)
    _check_parts(server, list(broker.topics.all()), broker)


def _check_parts(server: NameServer, names: list[str], broker: Broker) -> None:
    tables = [body.topic_config_serialize_wrapper for body in server.bodies[-3:]]
    assert [name for table in tables for name in table.topic_config_table] == names
    assert [len(table.topic_config_table) for table in tables[:2]] == [1000, 1000]
    versions = [table.data_version for table in tables]
    # A NameServer takes only what has another version than what came before.
    assert versions[0] != versions[1] != versions[2] == broker.topics.data_version
    assert [version.timestamp for version in versions[:2]] == [0, 0]


async def test_ordered_topics_are_taken_over(broker: Broker) -> None:
    broker.create("T")
    async with name_server() as server:
        server.order_topics = b'{"table":{"T":"broker-a:4","X":"broker-a:1"}}'
        async with broker.registered(server.addr):
            assert broker.topics.is_order_topic("T")


async def test_a_name_server_that_comes_back_is_told_again(
    broker: Broker, mock_clock: trio.testing.MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "trimq.broker")
    async with trio.open_nursery() as nursery:
        # Nobody else gets it while there is no server.
        async with name_server(free_port()) as server:
            registration = await nursery.start(_registered, broker, server.addr)
        # It is noticed at once: no time passes.
        while registration.registered_with():
            await trio.testing.wait_all_tasks_blocked(0.01)
        await pass_time(mock_clock, 20)
        # Nobody is there to wait for.
        broker.create("T")
        assert await registration.settled(0)
        async with name_server(int(server.addr.rpartition(":")[2])) as again:
            # Within two seconds. No further than needed: on a busy machine an answer on its way would be given up.
            for _ in range(20):
                if again.silent():
                    await pass_time(mock_clock, 0.1)
            assert await again.heard() == "all"
            # Heard is not yet answered.
            for _ in range(1000):
                if registration.registered_with():
                    break
                await trio.testing.wait_all_tasks_blocked(0.01)
            assert registration.registered_with() == [again.addr]
        nursery.cancel_scope.cancel()
    states = [record.getMessage() for record in caplog.records if server.addr in record.message]
    # That the second one ends is noticed at once, too, if there is time before the broker does.
    assert [state.partition(":")[0] for state in states[:3]] == [
        "registered",
        "NameServer lost, trying again",
        "registered",
    ]


async def _registered(
    broker: Broker, addr: str, task_status: trio.TaskStatus[Registration]
) -> None:
    async with broker.registered(addr) as registration:
        task_status.started(registration)
        await trio.sleep_forever()


async def test_one_dead_name_server_does_not_hold_up_the_other(broker: Broker) -> None:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        dead = f"127.0.0.1:{unused.getsockname()[1]}"
    async with name_server() as server, broker.registered(dead, server.addr) as registration:
        assert registration.registered_with() == [server.addr]
        broker.create("T")
        assert await registration.settled(20)
        assert [await server.heard() for _ in range(2)] == ["all", "T"]


async def test_leaving(broker: Broker, mock_clock: trio.testing.MockClock) -> None:
    async with name_server() as server, broker.registered(server.addr) as registration:
        await registration.leave()
        assert [await server.heard(), await server.heard()] == ["all", "bye"]
        header = server.headers[-1]
        assert isinstance(header, UnRegisterBrokerRequestHeader)
        assert (header.broker_addr, header.broker_name) == ("10.0.0.1:10911", "broker-a")
        broker.create("T")
        await pass_time(mock_clock, 40)
        assert server.silent()


async def test_leaving_without_a_name_server(broker: Broker) -> None:
    async with broker.registered("127.0.0.1:1") as registration:
        await registration.leave()
        assert registration.registered_with() == []


@pytest.mark.parametrize(("period", "counts_as"), [(1, 10), (2**31 - 1, 60)])
async def test_the_period_has_bounds(
    tmp_path: Path, autojump_clock: trio.testing.MockClock, period: int, counts_as: int
) -> None:
    broker = Broker(tmp_path, register_name_server_period=period)
    async with broker.registered("127.0.0.1:1") as registration:
        link = registration._links[0]
        assert link._next_turn() - trio.current_time() == counts_as
