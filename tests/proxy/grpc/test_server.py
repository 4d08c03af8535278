"""Through real sockets: TLS and plain text on one port, PROXY preambles before either, bounds, the end."""

from __future__ import annotations

import socket
import ssl
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Final

import grpc
import pytest
import trio
import trio.lowlevel

from tests.patience import until_in_trio
from tests.proxy.grpc.peer import Peer, Server, framed
from tests.proxy.http2.frames import GREETING, PING, frame
from trimq.process.tls import server_tls
from trimq.proxy.grpc.bounds import GrpcBounds
from trimq.proxy.grpc.server import GrpcServer
from trimq.remoting.wire.handshake import ServerTls
from trimq.remoting.wire.proxy_protocol import parse_networks
from trimq.settings.tls import TlsConfig

HOST: Final = "127.0.0.1"
LINE: Final = b"PROXY TCP4 192.0.2.1 192.0.2.9 56324 8081\r\n"
BINARY: Final = (
    b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c"
    + socket.inet_aton("192.0.2.1")
    + socket.inet_aton("192.0.2.9")
    + struct.pack("!HH", 56324, 8081)
)


class Running:
    def __init__(self, calls: Server, server: GrpcServer, port: int) -> None:
        self.calls = calls
        self.server = server
        self.port = port
        self.scope = trio.CancelScope()

    async def connect(self, *, tls: bool = False, first: bytes = b"") -> trio.abc.Stream:
        stream: trio.abc.Stream = await trio.open_tcp_stream(HOST, self.port)
        if first:
            await stream.send_all(first)
        if tls:
            context = ssl.create_default_context()
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            context.set_alpn_protocols(["h2"])
            stream = trio.SSLStream(stream, context, https_compatible=True)
        return stream


@asynccontextmanager
async def running(
    bounds: GrpcBounds | None = None,
    balancers: str = "",
    mode: str = "permissive",
    port: int = 0,
) -> AsyncIterator[Running]:
    calls = Server()
    tls = server_tls(TlsConfig(mode=mode, config_file=""), protocols=("h2",))
    server = GrpcServer(calls.methods(), tls, parse_networks(balancers), bounds)
    listener = socket.create_server((HOST, port))
    found = Running(calls, server, listener.getsockname()[1])
    async with trio.open_nursery() as nursery:

        async def serve(task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
            with found.scope:
                await server.serve([listener], task_status)

        await nursery.start(serve)
        yield found
        found.scope.cancel()


async def is_closed(stream: trio.abc.Stream) -> bool:
    """By the server, with what it had not read yet or without."""
    with trio.fail_after(30):
        try:
            return await stream.receive_some() == b""
        except trio.BrokenResourceError:
            return True


async def echoed(stream: trio.abc.Stream) -> bytes:
    peer = Peer(stream)
    heard = await peer.answer(await peer.ask("/t/Echo", framed(b"text")))
    await trio.aclose_forcefully(stream)
    return heard.data


@pytest.mark.parametrize("tls", [False, True])
@pytest.mark.parametrize("first", [b"", LINE, BINARY], ids=["none", "version 1", "version 2"])
async def test_one_port(first: bytes, *, tls: bool) -> None:
    async with running(balancers=HOST) as server:
        stream = await server.connect(tls=tls, first=first)
        assert await echoed(stream) == framed(b"text")
        (caller,) = server.calls.callers
        assert (caller.remote_addr == "192.0.2.1:56324") == bool(first)
        assert caller.local_addr == f"{HOST}:{server.port}"


@pytest.mark.parametrize("first", [LINE, BINARY])
async def test_a_preamble_of_a_stranger(first: bytes, caplog: pytest.LogCaptureFixture) -> None:
    async with running(balancers="192.0.2.9") as server:
        async with await server.connect(first=first) as stream:
            with pytest.raises((AssertionError, trio.BrokenResourceError)):
                await echoed(stream)
        assert "proxyProtocolFrom does not name the sender" in caplog.text
        # Others are served.
        assert await echoed(await server.connect()) == framed(b"text")


async def test_http2_is_told_from_a_preamble_byte_by_byte() -> None:
    async with running() as server:
        stream = await server.connect()
        peer = Peer(stream)
        asked = peer.h2.data_to_send()
        for byte in asked[:5]:
            await stream.send_all(bytes((byte,)))
            await trio.lowlevel.checkpoint()
        await stream.send_all(asked[5:])
        heard = await peer.answer(await peer.ask("/t/Echo", framed(b"text")))
        assert heard.data == framed(b"text")
        await stream.aclose()


async def test_a_beginning_that_ends_at_once() -> None:
    async with running() as server, await server.connect(first=b"PR") as stream:
        await stream.send_eof()
        assert await is_closed(stream)


def _by_grpcio(port: int, text: bytes) -> bytes:
    """With the certificate that the server has made for itself."""
    certificate = ssl.get_server_certificate((HOST, port)).encode()
    credentials = grpc.ssl_channel_credentials(certificate)
    with grpc.secure_channel(f"{HOST}:{port}", credentials) as channel:
        return bytes(channel.unary_unary("/t/Echo")(text, timeout=30))


def _plain(port: int, call: Callable[[grpc.Channel], object]) -> object:
    with grpc.insecure_channel(f"{HOST}:{port}") as channel:
        return call(channel)


async def test_the_library_of_clients_over_tls() -> None:
    async with running() as server:
        text = b"x" * 1_000_000
        assert await trio.to_thread.run_sync(_by_grpcio, server.port, text) == text


async def test_the_library_of_clients() -> None:
    def calls(channel: grpc.Channel) -> object:
        counted = list(channel.unary_stream("/t/Count")(b"200 30000", timeout=60))
        packed = channel.unary_unary("/t/Echo")(
            b"packed" * 1000, timeout=60, compression=grpc.Compression.Gzip
        )
        talk = list(channel.stream_stream("/t/Talk")(iter([b"one", b"two"]), timeout=60))
        with pytest.raises(grpc.RpcError) as caught:
            channel.unary_unary("/t/Nope")(b"", timeout=60)
        late = channel.unary_unary("/t/Wait").future(b"", timeout=0.2)
        return [
            [len(one) for one in counted],
            packed,
            talk,
            (caught.value.code(), caught.value.details()),
            late.code(),
        ]

    async with running() as server:
        server.calls.reads.set()
        counted, packed, talk, nope, late = await trio.to_thread.run_sync(  # type: ignore[misc]
            _plain, server.port, calls
        )
    assert counted == [30_000] * 200
    assert packed == b"packed" * 1000
    assert talk == [b"heard"] * 2
    assert nope == (grpc.StatusCode.UNIMPLEMENTED, "Method not found: t/Nope")
    assert late is grpc.StatusCode.DEADLINE_EXCEEDED
    assert server.calls.ended == ["count", "talk", "wait"]


async def test_plain_text_where_tls_is_demanded(caplog: pytest.LogCaptureFixture) -> None:
    async with running(mode="enforcing") as server:
        async with await server.connect() as stream:
            with pytest.raises((AssertionError, trio.BrokenResourceError)):
                await echoed(stream)
        assert "tls.server.mode is enforcing" in caplog.text


async def test_no_more_connections_than_there_may_be() -> None:
    async with running(GrpcBounds(connections=2)) as server:
        kept = [await server.connect() for _ in range(2)]
        for stream in kept:
            peer = Peer(stream)
            await peer.answer(await peer.ask("/t/Echo", framed(b"")))
        async with await server.connect() as third:
            assert await is_closed(third)
        await kept[0].aclose()
        await until_in_trio(lambda: len(server.server.connections) == 1)
        assert await echoed(await server.connect()) == framed(b"text")
        await kept[1].aclose()


def test_no_more_of_an_address_than_there_may_be() -> None:
    bounds = GrpcBounds(connections_of_address=2, new_of_address=1)
    door = GrpcServer({}, ServerTls(), bounds=bounds).door
    assert [door.admit("192.0.2.1", 0.0) for _ in range(3)] == [True, True, False]
    assert door.admit("192.0.2.2", 0.0)
    door.left("192.0.2.1")
    assert door.admit("192.0.2.1", 0.0)
    # And so many new ones a second.
    for _ in range(20):
        door.left("192.0.2.1")
        admitted = door.admit("192.0.2.1", 0.0)
    assert not admitted


async def test_who_says_nothing_is_closed() -> None:
    async with running(GrpcBounds(greeting_seconds=0.05)) as server:
        for first in (b"", b"P", LINE[:20], b"\x16\x03"):
            async with await server.connect(first=first) as stream:
                assert await is_closed(stream)
        assert not server.server.connections


async def test_stopping_lets_calls_end() -> None:
    async with running(GrpcBounds(drain_seconds=30)) as server:
        peer = Peer(await server.connect(), gives_room=False)
        stream = await peer.ask("/t/Count", framed(b"2 40000"))
        await peer.until(lambda: len(peer.heard[stream].data) == 65535)
        server.scope.cancel()
        await peer.until(lambda: peer.goaway == 0)
        with pytest.raises(OSError, match="attempts to connect"):
            await server.connect()
        peer.h2.increment_flow_control_window(1 << 20)
        peer.h2.increment_flow_control_window(1 << 20, stream)
        await peer.flush()
        assert (await peer.answer(stream)).status == "0"
        await peer.end()
        await peer.stream.aclose()


async def test_stopping_does_not_wait_for_ever() -> None:
    async with running(GrpcBounds(drain_seconds=0.1)) as server:
        peer = Peer(await server.connect())
        await peer.ask("/t/Wait", framed(b""))
        await peer.hear()
        server.scope.cancel()
        await peer.end()
        await peer.stream.aclose()
        assert server.calls.ended == ["wait"]


async def test_a_client_comes_back_by_itself() -> None:
    async with running() as first:
        channel = grpc.insecure_channel(f"{HOST}:{first.port}")
        echo = partial(channel.unary_unary("/t/Echo"), timeout=60, wait_for_ready=True)
        assert await trio.to_thread.run_sync(echo, b"one") == b"one"
    async with running(port=first.port):
        assert await trio.to_thread.run_sync(echo, b"two") == b"two"
        channel.close()


async def test_a_flood_is_nobody_elses_stall() -> None:
    flood = GREETING + frame(PING, bytes(8)) * 50_000
    async with running() as server, trio.open_nursery() as nursery:

        async def floods() -> None:
            for _ in range(20):
                async with await server.connect() as stream:
                    with suppress(trio.BrokenResourceError):
                        await stream.send_all(flood)

        nursery.start_soon(floods)
        for _ in range(20):
            assert await echoed(await server.connect()) == framed(b"text")
