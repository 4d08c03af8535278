"""What a stranger can make the server keep: connections, unfinished frames, requests that wait."""

import socket
import struct
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from tests.patience import until_in_trio
from trimq.codec.codes import ResponseCode
from trimq.codec.frames.command import RemotingCommand, encode_command
from trimq.remoting.clients.client import Client
from trimq.remoting.contract import Later, Processor, Request, Response
from trimq.remoting.counters import RemotingCounters
from trimq.remoting.limits import Limits
from trimq.remoting.serving.admission import ConnectionAdmission
from trimq.remoting.serving.dispatch import Dispatcher
from trimq.remoting.serving.server import Server
from trimq.remoting.wire.proxy_protocol import parse_networks
from trimq.remoting.wire.unfinished_frames import FrameWatch

ECHO, FOREVER, PULL = 10, 11, 12
HALF = struct.pack(">I", 1_000_000) + bytes(200_000)


class Echo(Processor[None]):
    codes = (ECHO,)

    def handle(self, request: Request[None]) -> Response:
        return Response(body=request.body)


async def forever(_request: Request[None]) -> Response:
    await trio.sleep_forever()
    return Response()


class Forever(Processor[None]):
    codes = (FOREVER,)

    def handle(self, request: Request[None]) -> Later:
        return Later(request, forever)


class Pull(Processor[None]):
    codes = (PULL,)

    def handle(self, request: Request[None]) -> Later:
        return Later(request, forever, keeps_body=False)


class Running:
    """A server on a free port."""

    def __init__(self, server: Server, port: int) -> None:
        self.server = server
        self.port = port

    async def connect(self) -> trio.SocketStream:
        return await trio.open_tcp_stream("127.0.0.1", self.port)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"


Start = Callable[..., Any]


@pytest.fixture
async def start(nursery: trio.Nursery) -> Start:
    async def run(**limits: Any) -> Running:
        server = Server(Dispatcher([Echo(), Forever(), Pull()]), limits=Limits(**limits))
        sock = socket.create_server(("127.0.0.1", 0))
        port = sock.getsockname()[1]
        await nursery.start(server.serve, [sock])
        return Running(server, port)

    return run


async def closed(stream: trio.SocketStream) -> bool:
    try:
        return await stream.receive_some() == b""
    except trio.BrokenResourceError:
        return True


def refusals(running: Running) -> dict[str, int]:
    return dict(running.server.counters.limits)


async def test_a_frame_of_more_than_the_setting_is_refused(start: Start) -> None:
    running = await start(frame_limit=100_000)
    async with await running.connect() as stream:
        await stream.send_all(struct.pack(">I", 100_000))
        assert await closed(stream)


async def test_unfinished_frames_have_a_budget(start: Start) -> None:
    """The frame that began first goes; everybody else is served on."""
    running = await start(unfinished_limit=1_000_000)
    unfinished = running.server._shared.unfinished
    async with AsyncExitStack() as stack:
        streams = [await stack.enter_async_context(await running.connect()) for _ in range(6)]
        for number, stream in enumerate(streams[:4], 1):
            await stream.send_all(HALF)
            await until_in_trio(
                lambda number=number: unfinished.total == number * len(HALF), pause=0
            )
        await streams[4].send_all(HALF + bytes(50_000))
        assert await closed(streams[0])
        assert unfinished.total <= 1_000_000
        client = await stack.enter_async_context(Client.connect(running.address))
        assert (await client.request(ECHO, body=b"x" * 300_000)).code == 0
        assert refusals(running) == {"maxUnfinishedFrameBytes": 2}
    await until_in_trio(lambda: unfinished.total == 0, pause=0)


async def test_a_frame_has_to_end_in_time(start: Start, mock_clock: MockClock) -> None:
    """Single bytes every now and then do not keep it alive; requests in between do."""
    running = await start(frame_seconds=30)
    frame = encode_command(RemotingCommand(ECHO, 1, body=b"x"))
    async with await running.connect() as slow, await running.connect() as lively:
        await slow.send_all(frame[:8])
        await lively.send_all(frame[:8])
        for number in range(5):
            before = running.server.counters.bytes_in
            await slow.send_all(frame[8 + number : 9 + number])
            await lively.send_all(frame[8:] + frame[:8])
            await until_in_trio(
                lambda before=before: running.server.counters.bytes_in > before, pause=0
            )
            await lively.receive_some()
            for _ in range(2):
                mock_clock.jump(5)
                await trio.testing.wait_all_tasks_blocked(0.001)
        assert await closed(slow)
        await lively.send_all(frame[8:])
        assert await lively.receive_some()
    assert refusals(running) == {"maxFrameSeconds": 1}


async def test_a_client_that_sends_nothing_is_not_waited_for(
    start: Start, mock_clock: MockClock
) -> None:
    running = await start(first_byte_seconds=10)
    async with await running.connect() as silent, await running.connect() as speaker:
        await until_in_trio(lambda: running.server.door.inside == 2, pause=0)
        await speaker.send_all(encode_command(RemotingCommand(ECHO, 1)))
        assert await speaker.receive_some()
        mock_clock.jump(11)
        assert await closed(silent)
        await speaker.send_all(encode_command(RemotingCommand(ECHO, 2)))
        assert await speaker.receive_some()
    assert refusals(running) == {"firstByteSeconds": 1}


async def test_requests_that_wait_have_a_budget_of_bytes(start: Start) -> None:
    running = await start(waiting_bytes_limit=100_000)
    counters = running.server.counters
    async with Client.connect(running.address) as client, trio.open_nursery() as nursery:
        nursery.start_soon(client.request, FOREVER, None, b"x" * 60_000, 600)
        await until_in_trio(lambda: counters.waiting == 1, pause=0)
        assert 60_000 <= counters.waiting_bytes < 70_000
        answer = await client.request(FOREVER, None, b"x" * 60_000)
        assert answer.code == ResponseCode.SYSTEM_BUSY
        assert "maxHeldRequestBytes" in (answer.remark or "")
        nursery.cancel_scope.cancel()
    await until_in_trio(lambda: counters.waiting == 0, pause=0)
    assert counters.waiting_bytes == 0
    assert refusals(running) == {"maxHeldRequestBytes": 1}


async def test_the_body_of_a_held_pull_is_not_kept(start: Start) -> None:
    running = await start()
    counters = running.server.counters
    async with Client.connect(running.address) as client, trio.open_nursery() as nursery:
        for _ in range(5):
            nursery.start_soon(client.request, PULL, None, b"x" * 800_000, 600)
        await until_in_trio(lambda: counters.waiting == 5, pause=0)
        assert counters.waiting_bytes < 5 * 4096
        nursery.cancel_scope.cancel()


class TestDoorkeeper:
    def test_one_address_gets_only_so_many(self) -> None:
        counters = RemotingCounters()
        door = ConnectionAdmission(Limits(address_limit=3, connection_limit=5), counters)
        assert [door.admit("192.0.2.1", 0) for _ in range(4)] == [True, True, True, False]
        assert door.admit("192.0.2.2", 0)
        door.left("192.0.2.1")
        assert door.admit("192.0.2.1", 0)
        assert counters.limits == {"maxConnectionsPerAddress": 1}

    def test_one_address_brings_only_so_many_a_second(self) -> None:
        counters = RemotingCounters()
        door = ConnectionAdmission(Limits(address_rate=2), counters)
        assert sum(door.admit("192.0.2.1", 0) for _ in range(50)) == 20
        assert sum(door.admit("192.0.2.1", 5) for _ in range(50)) == 10
        assert counters.limits == {"maxNewConnectionsPerAddress": 70}

    def test_this_machine_counts_in_all_only(self) -> None:
        counters = RemotingCounters()
        door = ConnectionAdmission(
            Limits(address_limit=1, address_rate=1, connection_limit=50), counters
        )
        hosts = ("127.0.0.1", "::1", "::ffff:127.0.0.1")
        assert sum(door.admit(hosts[n % 3], 0) for n in range(60)) == 50
        assert counters.limits == {"maxConnections": 10}

    def test_balancers_stand_for_many(self) -> None:
        limits = Limits(address_limit=1, address_rate=1)
        door = ConnectionAdmission(limits, RemotingCounters(), parse_networks("192.0.2.0/24"))
        assert all(door.admit("192.0.2.1", 0) for _ in range(50))

    def test_refusals_are_logged_once_a_minute(self, caplog: pytest.LogCaptureFixture) -> None:
        door = ConnectionAdmission(Limits(connection_limit=1), RemotingCounters())
        for now in range(121):
            door.admit("192.0.2.1", now)
        assert caplog.text.count("connections refused") == 2

    def test_0_is_no_limit(self) -> None:
        limits = Limits(address_limit=0, address_rate=0, connection_limit=0)
        door = ConnectionAdmission(limits, RemotingCounters())
        assert all(door.admit("192.0.2.1", 0) for _ in range(20_000))


def test_large_frames_get_more_time() -> None:
    watch = FrameWatch()
    megabyte = 16 * 64 * 1024
    assert not watch.is_late(1, megabyte, 100, 30)
    assert not watch.is_late(1, megabyte, 146, 30)
    assert watch.is_late(1, megabyte, 146.1, 30)
    assert not watch.is_late(2, megabyte, 146.1, 30)
    assert not watch.is_late(2, 0, 500, 30)
