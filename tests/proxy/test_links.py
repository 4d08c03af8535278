"""Connections to servers: one each, shared; who cannot be reached is known for a while."""

from __future__ import annotations

import logging
from typing import Any

import pytest
import trio

from trimq.codec.codes import RequestCode
from trimq.proxy.links import Links
from trimq.proxy.losses import Losses
from trimq.remoting.contract import Processor, Request, Response
from trimq.remoting.errors import RemotingConnectError
from trimq.remoting.serving.dispatch import Dispatcher
from trimq.remoting.serving.server import Server
from trimq.settings.endpoints import Endpoint
from trimq.settings.listening import listen

CODE = RequestCode.GET_BROKER_RUNTIME_INFO


class Echo(Processor[None]):
    codes = (CODE,)

    def handle(self, request: Request[None]) -> Response:
        return Response(body=request.body)


async def test_all_share_one_connection(nursery: Any) -> None:
    server = Server(Dispatcher([Echo()]))
    with listen(Endpoint("127.0.0.1", 0)) as sock:
        await nursery.start(server.serve, [sock])
        addr = f"127.0.0.1:{sock.getsockname()[1]}"
        links = Links(nursery)
        found: list[bytes] = []

        async def ask(number: int) -> None:
            found.append(bytes((await links.ask(addr, CODE, None, b"%d" % number)).body))

        async with trio.open_nursery() as asking:
            for number in range(20):
                asking.start_soon(ask, number)
        assert sorted(found) == sorted(b"%d" % number for number in range(20))
        assert server.counters.opened == 1
        for connection in server.connections:
            connection.close("a test")
        # It is made anew by whoever comes next.
        while server.connections:
            await trio.testing.wait_all_tasks_blocked(0.001)
        assert (await links.ask(addr, CODE, None, b"again")).body == b"again"
        assert not links.is_away(addr)
        nursery.cancel_scope.cancel()


async def test_a_loss_is_said_once_and_its_end(
    nursery: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "trimq.proxy")
    with listen(Endpoint("127.0.0.1", 0)) as sock:
        endpoint = Endpoint("127.0.0.1", sock.getsockname()[1])
    addr = str(endpoint)
    namesrv = "no.such.host.invalid:9876"
    links = Links(nursery, losses=Losses([namesrv]))
    for _ in range(3):
        for server in (addr, namesrv):
            with pytest.raises(RemotingConnectError):
                await links.ask(server, CODE)
    broker_lost, namesrv_lost = (one.getMessage() for one in caplog.records)
    assert broker_lost.startswith(f"broker lost, trying again: broker={addr} reason=no connection")
    assert namesrv_lost.startswith(f"NameServer lost, trying again: namesrv={namesrv} reason=")
    assert {one.levelname for one in caplog.records} == {"WARNING"}
    caplog.clear()
    with listen(endpoint) as sock:
        await nursery.start(Server(Dispatcher([Echo()])).serve, [sock])
        await links.ask(addr, CODE)
        assert f"broker found: broker={addr}" in [one.getMessage() for one in caplog.records]
        nursery.cancel_scope.cancel()


async def test_who_cannot_be_reached(nursery: Any) -> None:
    with listen(Endpoint("127.0.0.1", 0)) as sock:
        addr = f"127.0.0.1:{sock.getsockname()[1]}"
    links = Links(nursery)
    assert not links.is_away(addr)
    failures = []

    async def ask() -> None:
        with pytest.raises(RemotingConnectError):
            await links.ask(addr, CODE)
        failures.append(addr)

    async with trio.open_nursery() as asking:
        for _ in range(20):
            asking.start_soon(ask)
    assert len(failures) == 20
    assert links.is_away(addr)
    nursery.cancel_scope.cancel()
