"""Looks from Python over HTTP, on a server that has a hand of its own."""

from pathlib import Path

import pytest
import trio

from tests.requests import send_header
from trimq.codec.codes import RequestCode
from trimq.hand.client import HandClient
from trimq.hand.client_looks import Looks
from trimq.hand.operation import HandError
from trimq.remoting.clients.blocking import BlockingClient
from trimq.serving.server import open_server
from trimq.settings.options import ServerOptions


def look(address: str, broker: str) -> None:
    looks = Looks(HandClient(address))
    with BlockingClient(broker) as client:
        client.request(RequestCode.SEND_MESSAGE, send_header("Orders"), b"\xffa")
    assert [one.body for one in looks.wait_for("Orders", timeout="5s")] == [b"\xffa"]
    name = looks.snapshot()
    with BlockingClient(broker) as client:
        client.request(RequestCode.SEND_MESSAGE, send_header("Orders"), b"b")
    looks.restore(name)
    assert [one.offset for one in looks.sent("Orders")] == [0]
    with pytest.raises(
        HandError, match=r"waited 0.01 s for 2 messages of topic Orders; there is 1"
    ):
        looks.wait_for("Orders", 2, timeout="10ms")
    with pytest.raises(HandError, match="no consumer group G: there is none at all yet"):
        looks.wait_until_consumed("G", timeout=0)
    with pytest.raises(HandError, match="no consumer group G"):
        looks.dead_letters("G")
    with pytest.raises(HandError, match="no consumer group G"):
        looks.in_flight("G")
    assert looks.pending_timers() == []
    assert looks.half_messages() == []
    looks.reset()
    with pytest.raises(HandError, match="there is no topic Orders"):
        looks.sent("Orders")


async def test_over_http(tmp_path: Path) -> None:
    options = ServerOptions(
        store=tmp_path, listen="127.0.0.1:0", namesrv_listen="127.0.0.1:0", hand="127.0.0.1:0"
    )
    async with open_server(options) as server:
        assert server.process is not None
        await trio.to_thread.run_sync(look, server.process.address, server.broker_addr)
