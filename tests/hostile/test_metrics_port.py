"""Strangers on the metrics port: they get little, and hold up nobody."""

from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

import trimq
from trimq.process.metrics import CONNECTIONS, Sample, SampleCollector, metrics_server
from trimq.settings.endpoints import Endpoint
from trimq.settings.options import ServerOptions, server_plan

ASK = b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"


def samples() -> list[Sample]:
    return [Sample("figure", "A figure.", "gauge", 7)]


async def connect(endpoint: Endpoint) -> trio.SocketStream:
    return await trio.open_tcp_stream(endpoint.host, endpoint.port)


async def everything(stream: trio.SocketStream) -> bytes:
    received = b""
    try:
        async for data in stream:
            received += data
    except trio.BrokenResourceError:
        return received
    return received


async def test_a_scrape(nursery: trio.Nursery) -> None:
    async with (
        metrics_server(Endpoint("127.0.0.1", 0), SampleCollector(samples)) as address,
        await connect(address) as stream,
    ):
        await stream.send_all(ASK)
        answer = await everything(stream)
    assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
    assert answer.endswith(b"\nfigure 7.0\n")


@pytest.mark.parametrize(
    ("ask", "starts"),
    [
        (b"GET /else HTTP/1.1\r\n\r\n", b"HTTP/1.1 404"),
        (b"POST /metrics HTTP/1.1\r\n\r\n", b"HTTP/1.1 405"),
        (b"\n\n", b""),
        (b"GET /metrics " + b"x" * 9000, b""),
    ],
)
async def test_what_is_not_a_scrape(ask: bytes, starts: bytes) -> None:
    async with (
        metrics_server(Endpoint("127.0.0.1", 0), SampleCollector(samples)) as address,
        await connect(address) as stream,
    ):
        await stream.send_all(ask)
        answer = await everything(stream)
        assert answer.startswith(starts)
        assert starts or not answer


async def test_unfinished_requests_hold_up_neither_scrapes_nor_the_shutdown(
    mock_clock: MockClock,
) -> None:
    async with metrics_server(Endpoint("127.0.0.1", 0), SampleCollector(samples)) as address:
        hangers = [await connect(address) for _ in range(CONNECTIONS)]
        for hanger in hangers:
            await hanger.send_all(b"GET")
        async with await connect(address) as stream:
            await stream.send_all(ASK)
            await trio.testing.wait_all_tasks_blocked(0.01)
            mock_clock.jump(6)
            assert b"figure 7.0" in await everything(stream)
        for hanger in hangers:
            assert await everything(hanger) == b""
            await hanger.aclose()
        last = await connect(address)
        await last.send_all(b"GET")
    # The block has ended although it never said what it wants.
    assert await everything(last) == b""
    await last.aclose()


async def test_a_server_stops_with_an_unfinished_scrape(tmp_path: Path) -> None:
    async with trimq.serve(tmp_path, settings={"metricsListen": "127.0.0.1:0"}) as server:
        assert server.metrics_addr is not None
        stream = await connect(Endpoint.parse(server.metrics_addr))
        await stream.send_all(b"GET")
        await trio.testing.wait_all_tasks_blocked(0.01)
    assert await everything(stream) == b""
    await stream.aclose()


def test_a_port_alone_is_the_loopback_s(tmp_path: Path) -> None:
    for text in ("9090", ":9090"):
        assert str(server_plan(ServerOptions(store=tmp_path, metrics=text)).metrics) == (
            "127.0.0.1:9090"
        )
