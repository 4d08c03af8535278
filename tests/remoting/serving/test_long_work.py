"""Long answers of a connection: one at a time, not read on when too many are asked for, dropped with it."""

import socket
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st

from trimq.base.step_queue import Steps
from trimq.codec.frames.command import RemotingCommand, encode_command
from trimq.remoting.clients.client import Client
from trimq.remoting.contract import Later, Processor, Request, Response
from trimq.remoting.limits import Limits
from trimq.remoting.memory_budget import MemoryBudget
from trimq.remoting.resources import Resources
from trimq.remoting.serving.dispatch import Dispatcher
from trimq.remoting.serving.server import Server
from trimq.remoting.testing import memory_wires

ECHO, LONG, FOREVER = 10, 11, 12


class Echo(Processor[None]):
    codes = (ECHO,)

    def handle(self, request: Request[None]) -> Response:
        return Response(body=request.body)


class Forever(Processor[None]):
    codes = (FOREVER,)

    def handle(self, request: Request[None]) -> Later:
        return Later(request, self._answer)

    async def _answer(self, request: Request[None]) -> Response:
        await trio.sleep_forever()
        return Response()


class Long(Processor[None]):
    """Its body says how many steps, each of so many bytes."""

    codes = (LONG,)

    def __init__(self) -> None:
        self.begun: list[int] = []
        self.steps_of: dict[int, int] = {}
        self.done = 0
        self.dropped = 0
        self.under_way = 0
        self.most_under_way: dict[int, int] = {}

    def handle(self, request: Request[None]) -> Later:
        return Later(request, self._answer)

    async def _answer(self, request: Request[None]) -> Response:
        return await request.peer.in_turn(self._steps(request))

    def _steps(self, request: Request[None]) -> Steps[Response]:
        steps, size = map(int, request.body.split())
        peer = request.peer.id
        self.begun.append(peer)
        self.most_under_way[peer] = self.most_under_way.get(peer, 0) + 1
        assert self.most_under_way[peer] == 1
        try:
            for _ in range(steps):
                self.steps_of[peer] = self.steps_of.get(peer, 0) + 1
                yield size
        except GeneratorExit:
            self.dropped += 1
            raise
        else:
            self.done += 1
        finally:
            self.most_under_way[peer] -= 1
        return Response(body=bytes(steps * size))


class Running:
    def __init__(self, limit: int = 0, **limits: Any) -> None:
        self.long = Long()
        self.memory = MemoryBudget(limit)
        self.resources = Resources(self.memory)
        self.server = Server(
            Dispatcher([Echo(), self.long, Forever()]),
            limits=Limits(**limits),
            resources=self.resources,
        )

    @asynccontextmanager
    async def client(self, number: int = 0) -> AsyncIterator[Client]:
        near, far = memory_wires()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self.server.serve_wire, far, f"10.0.0.{number}:4000")
            async with Client.over(near, "10.0.0.99:1") as client:
                yield client
            nursery.cancel_scope.cancel()


async def test_a_connection_that_asks_for_much_does_not_hold_up_another_one() -> None:
    running = Running()
    async with (
        running.client(1) as greedy,
        running.client(2) as modest,
        trio.open_nursery() as nursery,
    ):
        for _ in range(50):
            nursery.start_soon(greedy.request, LONG, None, b"100 1")
        while not running.long.begun:
            await trio.lowlevel.checkpoint()
        answer = await modest.request(LONG, None, b"10 1")
        assert answer.code == 0
        first, second = running.long.begun[0], running.long.begun[-1]
        taken = running.long.steps_of
        # Step by step in turn; the greedy one had begun before.
        assert taken[second] == 10
        assert taken[first] <= 30
        nursery.cancel_scope.cancel()


async def test_beyond_so_many_the_connection_is_not_read() -> None:
    running = Running()
    async with running.client(1) as client:
        await client.request(ECHO)
        (connection,) = running.server.connections
        # A busy machine takes longer for a thousand of them than a client waits for one.
        ask = partial(client.request, LONG, None, b"3 1", timeout=60)
        async with trio.open_nursery() as nursery:
            for _ in range(1000):
                nursery.start_soon(ask)
            most = 0
            while running.long.done < 1000:
                most = max(most, connection._long.under_way)
                await trio.lowlevel.checkpoint()
        # A turn has a few more requests in it.
        assert 64 <= most <= 64 + 16
        assert (await client.request(ECHO)).code == 0
        assert running.memory.total == connection._wire.kept


async def test_with_the_connection_its_work_is_dropped() -> None:
    running = Running()
    async with running.client(1) as bystander:
        async with running.client(2) as leaving, trio.open_nursery() as nursery:
            for _ in range(30):
                nursery.start_soon(leaving.request, LONG, None, b"1000000 1")
            while not running.long.begun:
                await trio.lowlevel.checkpoint()
            nursery.cancel_scope.cancel()
        for _ in range(10):
            await trio.lowlevel.checkpoint()
        assert running.resources.steps.waiting == 0
        taken = running.resources.steps.steps
        assert (await bystander.request(ECHO)).code == 0
        assert running.resources.steps.steps == taken
        assert running.long.dropped == 1
        assert running.long.done == 0


async def test_a_connection_that_closes_while_it_is_not_read_is_noticed(
    nursery: trio.Nursery,
) -> None:
    """What it has sent lies before the end of its stream: only the kernel knows of that."""
    running = Running()
    sock = socket.create_server(("127.0.0.1", 0))
    address = sock.getsockname()[1]
    await nursery.start(running.server.serve, [sock])
    frame = encode_command(RemotingCommand(LONG, 1, body=b"200 1"))
    async with await trio.open_tcp_stream("127.0.0.1", address) as stream:
        await stream.send_all(frame * 2000)
        while not running.long.begun:
            await trio.lowlevel.checkpoint()
        # Nothing of it is left in our own buffers.
        await trio.lowlevel.checkpoint()
    with trio.fail_after(60):
        while running.server.connections:
            await trio.lowlevel.checkpoint()
    assert running.long.done < 100
    assert running.resources.steps.waiting == 0
    assert running.memory.total == 0


async def test_answers_that_are_not_read_are_not_made() -> None:
    running = Running(outbox_limit=10_000)
    near, far = memory_wires()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(running.server.serve_wire, far, "10.0.0.1:4000")
        frame = encode_command(RemotingCommand(LONG, 1, body=b"6 1000"))
        stream: Any = near
        await stream._stream.send_all(frame * 40)
        # The stream between them takes what is sent at once; stop it.
        for _ in range(200):
            await trio.lowlevel.checkpoint()
        (connection,) = running.server.connections
        made = running.long.done
        assert made <= 40
        assert connection._outbox.size <= 10_000 + 7000
        nursery.cancel_scope.cancel()


async def test_what_is_being_made_counts_and_the_largest_goes() -> None:
    running = Running(limit=1_000_000)
    async with running.client(1) as greedy, running.client(2) as modest:
        async with trio.open_nursery() as nursery:

            async def ask() -> None:
                with pytest.raises(Exception, match=r"gone|ended"):
                    await greedy.request(LONG, None, b"1000 10000", timeout=1000)

            nursery.start_soon(ask)
        assert running.server.counters.limits["maxNetworkBytes"] == 1
        assert (await modest.request(LONG, None, b"10 1000")).code == 0
        assert running.long.dropped == 1


KINDS = st.sampled_from(["half", "rest", "forever", "long", "echo", "close"])


@given(st.lists(st.tuples(st.integers(0, 3), KINDS, st.integers(1, 60_000)), max_size=25))
@settings(max_examples=40, deadline=None)
def test_the_memory_of_all_connections_ends_at_zero(done: list[tuple[int, str, int]]) -> None:
    """Whatever peers begin, leave unfinished or close, with or without a bound."""
    for limit in (0, 150_000):
        trio.run(_play, limit, done)


async def _play(limit: int, done: list[tuple[int, str, int]]) -> None:
    running = Running(limit, outbox_limit=20_000)
    streams: dict[int, Any] = {}
    owed: dict[int, int] = {}
    async with trio.open_nursery() as nursery:
        for number, what, size in done:
            if number not in streams:
                near, far = memory_wires()
                streams[number] = near
                owed[number] = 0
                nursery.start_soon(running.server.serve_wire, far, f"10.0.0.{number}:4000")
            await _send(streams, owed, number, what, size)
            for _ in range(6):
                await trio.lowlevel.checkpoint()
            shares = running.memory._shares
            assert running.memory.total == sum(share.size for share in shares)
            assert all(share.size >= 0 for share in shares)
            assert not limit or running.memory.total <= limit
        for stream in streams.values():
            await stream.aclose()
        while running.server.connections:
            await trio.lowlevel.checkpoint()
    assert running.memory.total == 0
    assert not running.memory._shares


async def _send(
    streams: dict[int, Any], owed: dict[int, int], number: int, what: str, size: int
) -> None:
    stream = streams[number]._stream
    try:
        if what == "close":
            await streams.pop(number).aclose()
        elif what == "rest" or (what != "half" and owed[number]):
            await stream.send_all(bytes(min(owed[number], size)))
            owed[number] -= min(owed[number], size)
        elif what == "half":
            if not owed[number]:
                await stream.send_all(struct.pack(">I", 2 * size + 100))
                owed[number] = 2 * size + 100
            part = min(owed[number], size)
            await stream.send_all(bytes(part))
            owed[number] -= part
        else:
            code = {"forever": FOREVER, "long": LONG, "echo": ECHO}[what]
            body = b"7 %d" % size if what == "long" else bytes(size)
            await stream.send_all(encode_command(RemotingCommand(code, 1, body=body)))
    except (trio.BrokenResourceError, trio.ClosedResourceError):
        streams.pop(number, None)
