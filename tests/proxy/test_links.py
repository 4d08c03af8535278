"""Connections to servers: one each, shared; who cannot be reached is known for a while."""

from __future__ import annotations

from typing import Any

import pytest
import trio

from trimq.codec.codes import RequestCode
from trimq.proxy.links import Links
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
