"""Members of a broker group are told their lowest id."""

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import trio

from trimq.codec.codes import RequestCode
from trimq.codec.headers.base import encode_header
from trimq.codec.headers.replication import NotifyMinBrokerIdChangeRequestHeader
from trimq.namesrv.min_broker_notices import MinBrokerNotices
from trimq.remoting.contract import Processor, Request, Response
from trimq.remoting.serving.dispatch import Dispatcher
from trimq.remoting.serving.server import Server


class Broker(Processor[NotifyMinBrokerIdChangeRequestHeader]):
    codes = (RequestCode.NOTIFY_MIN_BROKER_ID_CHANGE,)
    header = NotifyMinBrokerIdChangeRequestHeader

    def __init__(self, port: int) -> None:
        self.addr = f"127.0.0.1:{port}"
        self._tell, self._told = trio.open_memory_channel[dict[str, str]](10)

    def handle(self, request: Request[NotifyMinBrokerIdChangeRequestHeader]) -> Response:
        assert request.oneway
        self._tell.send_nowait(encode_header(request.header))
        return Response()

    async def heard(self) -> dict[str, str]:
        return await self._told.receive()

    def silent(self) -> bool:
        return self._told.statistics().current_buffer_used == 0


@asynccontextmanager
async def broker() -> AsyncIterator[Broker]:
    sock = socket.create_server(("127.0.0.1", 0))
    found = Broker(sock.getsockname()[1])
    async with trio.open_nursery() as nursery:
        await nursery.start(Server(Dispatcher([found])).serve, [sock])
        yield found
        nursery.cancel_scope.cancel()


async def test_who_is_told_what(nursery: trio.Nursery) -> None:
    notices = MinBrokerNotices()
    nursery.start_soon(notices.run)
    async with broker() as master, broker() as slave:
        group = {2: slave.addr, 0: master.addr}
        notices.changed(group, None, "10.0.0.1:10912")
        assert await slave.heard() == {
            "minBrokerId": "0",
            "minBrokerAddr": master.addr,
            "haBrokerAddr": "10.0.0.1:10912",
        }
        notices.changed({2: slave.addr}, master.addr, None)
        assert await slave.heard() == {
            "minBrokerId": "2",
            "minBrokerAddr": slave.addr,
            "offlineBrokerAddr": master.addr,
        }
        assert master.silent()


async def test_a_dead_broker_does_not_stop_the_others(nursery: trio.Nursery) -> None:
    notices = MinBrokerNotices()
    nursery.start_soon(notices.run)
    with socket.create_server(("127.0.0.1", 0)) as unused:
        dead = f"127.0.0.1:{unused.getsockname()[1]}"
    async with broker() as slave:
        notices.changed({1: dead, 2: slave.addr}, "10.0.0.1:1", None)
        assert (await slave.heard())["minBrokerAddr"] == dead


async def test_too_many_notices_are_lost_not_fatal() -> None:
    notices = MinBrokerNotices()
    for _ in range(1100):
        notices.changed({1: "10.0.0.1:1"}, None, None)
