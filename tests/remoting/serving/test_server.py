"""The server on real sockets: back pressure, vectored sends, TLS, limits, the orderly end."""

import errno
import gc
import os
import socket
import ssl
import struct
import weakref
from collections import deque

import pytest
import trio
import trio.testing
import trustme

from tests.patience import until_in_trio
from trimq.codec.frames.command import RemotingCommand, decode_command, encode_command
from trimq.codec.frames.frame import FrameBuffer
from trimq.remoting.clients.client import Client
from trimq.remoting.contract import Awaited, Gate, Later, Processor, Response
from trimq.remoting.errors import RemotingConnectError
from trimq.remoting.limits import Limits
from trimq.remoting.serving.dispatch import Dispatcher
from trimq.remoting.serving.server import Server
from trimq.remoting.tls.contexts import TlsContext, TlsMode, client_context
from trimq.remoting.wire.handshake import ServerTls
from trimq.remoting.wire.streams import SocketWire, remove

BIG = bytes(range(256)) * 1024  # 256 KiB, as a full pull


class Do(Processor[None]):
    def __init__(self, code, handle):
        self.codes = (code,)
        self.handle = handle


def echo(request):
    return Response(body=request.body)


def big(_request):
    return Response(body=[memoryview(BIG), b"", BIG[:1], memoryview(BIG)[1:]])


def frame(opaque=1, code=10, body=b""):
    return encode_command(RemotingCommand(code, opaque, body=body))


class Running:
    """A server on a free port, and what a test wants of it."""

    def __init__(self, server, nursery, addr, scope):
        self.server = server
        self.nursery = nursery
        self.addr = addr
        self.scope = scope
        self.ended = trio.Event()

    async def raw(self, receive_buffer=None):
        """A bare socket, to misbehave with."""
        sock = socket.socket()
        if receive_buffer is not None:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        stream = trio.SocketStream(trio.socket.from_stdlib_socket(sock))
        host, port = self.addr.split(":")
        await stream.socket.connect((host, int(port)))
        return stream


async def on_a_free_port(server, nursery):
    sock = socket.create_server(("127.0.0.1", 0))
    host, port = sock.getsockname()
    running = Running(server, nursery, f"{host}:{port}", trio.CancelScope())

    async def serve(task_status):
        with running.scope:
            await server.serve([sock], task_status)
        running.ended.set()

    await nursery.start(serve)
    return running


@pytest.fixture
async def start(nursery):
    async def run(*processors, **options):
        server = Server(Dispatcher([Do(10, echo), Do(12, big), *processors]), **options)
        return await on_a_free_port(server, nursery)

    return run


async def ended(stream):
    """Whether the server closed: in order, or while something was left unread."""
    try:
        return await stream.receive_some() == b""
    except trio.BrokenResourceError:
        return True


async def answers(stream, count):
    frames = FrameBuffer()
    got = []
    while len(got) < count:
        data = await stream.receive_some()
        if not data:
            break
        frames.feed(data)
        while (each := frames.next_frame()) is not None:
            got.append(decode_command(each))
    return got


async def test_pipelined_requests_are_answered_in_order(start):
    running = await start()
    async with await running.raw() as stream:
        await stream.send_all(b"".join(frame(n, body=b"%d" % n) for n in range(2000)))
        got = await answers(stream, 2000)
    assert [(c.opaque, c.body) for c in got] == [(n, b"%d" % n) for n in range(2000)]


async def test_bodies_in_pieces_arrive_whole(start):
    running = await start()
    async with Client.connect(running.addr) as client:
        assert (await client.request(12)).body == BIG + BIG
        large = os.urandom(4 << 20)
        assert (await client.request(10, body=large, timeout=10)).body == large


async def test_a_slow_reader_stops_being_read_and_loses_nothing(start):
    limit = 300_000
    running = await start(limits=Limits(outbox_limit=limit))
    count = 60
    async with await running.raw(receive_buffer=4096) as stream:
        await stream.send_all(b"".join(frame(n, 12) for n in range(count)))
        await until_in_trio(lambda: running.server.connections, pause=0)
        (peer,) = running.server.connections
        await until_in_trio(lambda: peer._outbox.full, pause=0)
        # One reply beyond the bound at most, however many requests are there.
        assert peer._outbox.size < limit + 2 * len(BIG) + 1000
        # The others are served meanwhile.
        async with Client.connect(running.addr) as client:
            assert (await client.request(10, body=b"x")).body == b"x"
        # Notices are dropped rather than piled up.
        peer.oneway(40, body=b"notice")
        assert running.server.counters.dropped_pushes == 1
        got = await answers(stream, count)
    assert [c.opaque for c in got] == list(range(count))
    assert all(len(c.body) == 2 * len(BIG) for c in got)


async def test_requests_that_wait_do_not_pile_up_replies_for_a_slow_reader(start):
    async def later(request):
        await trio.lowlevel.checkpoint()
        await request.peer.room()
        return Response(body=BIG)

    limit = 300_000
    running = await start(
        Do(11, lambda request: Later(request, later)), limits=Limits(outbox_limit=limit)
    )
    async with await running.raw(receive_buffer=4096) as stream:
        await stream.send_all(b"".join(frame(n, 11) for n in range(100)))
        await until_in_trio(lambda: running.server.connections, pause=0)
        (peer,) = running.server.connections
        most = 0
        seen = []
        frames = FrameBuffer()
        while len(seen) < 100:
            frames.feed(await stream.receive_some())
            most = max(most, peer._outbox.size)
            while (each := frames.next_frame()) is not None:
                seen.append(decode_command(each).opaque)
    assert sorted(seen) == list(range(100))
    assert most < limit + len(BIG) + 1000


async def test_a_client_that_never_reads_is_closed_when_idle_for_long(start, nursery):
    running = await start(limits=Limits(outbox_limit=100_000, idle_seconds=0.25))
    async with await running.raw(receive_buffer=4096) as stream:
        await stream.send_all(b"".join(frame(n, 12) for n in range(50)))
        await until_in_trio(lambda: running.server.counters.closed_idle == 1, pause=0)
        await until_in_trio(lambda: not running.server.connections, pause=0)


async def test_an_idle_connection_is_closed_and_counted_once(start):
    running = await start(limits=Limits(idle_seconds=60))
    async with await running.raw() as stream:
        await stream.send_all(frame(1, 10))
        await until_in_trio(lambda: running.server.counters.frames_in == 1, pause=0)
        for _ in range(3):
            # The first look sees that it has moved; the third comes before it is gone.
            running.server._close_idle(trio.current_time() + 100)
            running.server._close_idle(trio.current_time() + 200)
        await until_in_trio(lambda: not running.server.connections, pause=0)
    assert running.server.counters.closed_idle == 1


async def test_a_thousand_connections_leave_nothing_behind(start):
    visitors = []

    class Listener:
        def opened(self, peer):
            visitors.append(weakref.ref(peer))

        def closed(self, peer):
            assert peer.closed

    running = await start(listener=Listener())
    server = running.server

    async def visit(number):
        stream = await running.raw()
        if number % 3:
            await stream.send_all(frame()[: number % 60])
        if number % 5 == 0:
            await stream.send_all(frame())
        await trio.aclose_forcefully(stream)

    for batch in range(10):
        async with trio.open_nursery() as nursery:
            for number in range(100):
                nursery.start_soon(visit, batch * 100 + number)
    await until_in_trio(lambda: not server.connections and server.door.inside == 0, pause=0)
    assert server.counters.connections == 0
    assert server.counters.waiting == 0
    gc.collect()
    assert visitors
    assert not [each for each in visitors if each() is not None]
    async with Client.connect(running.addr) as client:
        assert (await client.request(10, body=b"x")).body == b"x"


@pytest.mark.parametrize(
    "bad",
    [
        struct.pack(">I", 16 * 1024 * 1024),
        struct.pack(">i", -5),
        b"GET / HTTP/1.1\r\n\r\n",
        struct.pack(">II", 20, 0x7F000004) + b"x" * 16,
        struct.pack(">II", 20, 0x00FFFFFF) + b"x" * 16,
    ],
)
async def test_what_is_not_a_frame_closes_only_its_connection(start, caplog, bad):
    running = await start()
    async with await running.raw() as stream, Client.connect(running.addr) as client:
        await stream.send_all(bad)
        assert await ended(stream)
        assert (await client.request(10, body=b"x")).body == b"x"
    assert len([r for r in caplog.records if r.levelname == "WARNING"]) == 1


async def test_connections_above_the_limit_are_refused(start, caplog):
    running = await start(limits=Limits(connection_limit=2))
    async with await running.raw(), await running.raw():
        await until_in_trio(lambda: running.server.door.inside == 2, pause=0)
        for _ in range(2):
            async with await running.raw() as third:
                assert await ended(third)
    assert running.server.counters.refused == 2
    assert len([r for r in caplog.records if "limit=maxConnections" in r.getMessage()]) == 1
    await until_in_trio(lambda: running.server.door.inside == 0, pause=0)
    async with Client.connect(running.addr) as client:
        assert (await client.request(10)).code == 0


async def test_shutdown_answers_what_was_received_and_closes(start):
    gate = Gate()
    running = await start(Do(11, lambda _: Response(durable_at=7)), gates=(Awaited(gate, 5, 10),))
    async with await running.raw() as stream, await running.raw() as silent:
        await stream.send_all(frame(1, 11) + frame(2, 12))
        await until_in_trio(lambda: running.server.counters.frames_in == 2, pause=0)
        running.scope.cancel()
        await trio.testing.wait_all_tasks_blocked(0.01)
        with pytest.raises(RemotingConnectError):
            async with Client.connect(running.addr):
                pytest.fail("still accepting")
        assert not running.ended.is_set()
        gate.advance(7)
        got = await answers(stream, 3)
        assert [c.opaque for c in got] == [2, 1]
        assert await silent.receive_some() == b""
        await running.ended.wait()


async def test_shutdown_does_not_wait_for_ever(start):
    running = await start(limits=Limits(outbox_limit=100_000, drain_seconds=0.05))
    async with await running.raw(receive_buffer=4096) as stream:
        await stream.send_all(b"".join(frame(n, 12) for n in range(50)))
        await until_in_trio(lambda: running.server.connections, pause=0)
        (peer,) = running.server.connections
        await until_in_trio(lambda: peer._outbox.full, pause=0)
        running.scope.cancel()
        with trio.fail_after(60):
            await running.ended.wait()


async def test_when_descriptors_run_out_accepting_goes_on_later(start, monkeypatch, caplog):
    running = await start()
    original = socket.socket.accept
    failures = [OSError(errno.EMFILE, "Too many open files"), OSError(errno.ECONNABORTED, "x")]

    def accept(sock):
        if failures:
            raise failures.pop(0)
        return original(sock)

    monkeypatch.setattr(socket.socket, "accept", accept)
    async with Client.connect(running.addr) as client:
        assert (await client.request(10)).code == 0
    assert "Too many open files" in caplog.text


@pytest.fixture(scope="module")
def certificates():
    authority = trustme.CA()
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1", "localhost").configure_cert(server)
    trusting = ssl.create_default_context()
    authority.configure_trust(trusting)
    return TlsContext(lambda: server), trusting


async def test_tls_and_plain_text_share_a_port(start, certificates):
    context, trusting = certificates
    running = await start(tls=ServerTls(source=context))
    for tls in (None, trusting, client_context()):
        async with Client.connect(running.addr, tls) as client:
            assert (await client.request(12)).body == BIG + BIG
            assert (await client.request(10, body=BIG)).body == BIG
    await until_in_trio(lambda: not running.server.connections, pause=0)


async def test_tls_is_refused_when_disabled_and_demanded_when_enforced(start, certificates, caplog):
    context, trusting = certificates
    disabled = await start(tls=ServerTls(TlsMode.DISABLED, context))
    with pytest.raises(RemotingConnectError):
        async with Client.connect(disabled.addr, trusting):
            pytest.fail("TLS accepted")
    without = await start()
    with pytest.raises(RemotingConnectError):
        async with Client.connect(without.addr, trusting):
            pytest.fail("TLS accepted")
    enforcing = await start(tls=ServerTls(TlsMode.ENFORCING, context))
    async with await enforcing.raw() as stream:
        await stream.send_all(frame())
        assert await ended(stream)
    async with Client.connect(enforcing.addr, trusting) as client:
        assert (await client.request(10)).code == 0
    assert [
        r.getMessage().partition("reason=")[2]
        for r in caplog.records
        if "reason=" in r.getMessage()
    ] == [
        "a TLS handshake, but tls.server.mode is disabled",
        "a TLS handshake, but no certificate is configured (tls.server.certPath)",
        "plain text, but tls.server.mode is enforcing",
    ]


async def test_a_failed_handshake_harms_nobody(start, certificates, caplog):
    context, trusting = certificates
    running = await start(tls=ServerTls(source=context))
    async with await running.raw() as stream:
        await stream.send_all(b"\x16\x03\x01\x00\x05hello")
        await until_in_trio(lambda: running.server.counters.errors == 1, pause=0)
    with pytest.raises(RemotingConnectError, match="certificate"):
        async with Client.connect(running.addr, ssl.create_default_context()):
            pytest.fail("an unknown authority was trusted")
    async with Client.connect(running.addr, trusting) as client:
        assert (await client.request(10)).code == 0


async def test_a_handshake_that_never_ends_is_cut_off(start, certificates):
    running = await start(
        tls=ServerTls(source=certificates[0]), limits=Limits(handshake_seconds=0.05)
    )
    async with await running.raw() as stream:
        await stream.send_all(b"\x16\x03\x01")
        with trio.fail_after(60):
            assert await ended(stream)


async def test_more_buffers_than_one_sendmsg_takes():
    near, far = socket.socketpair()
    with far:
        wire = SocketWire(near)
        parts = [b"%04d" % n for n in range(3000)]
        total = wire.send_now(parts)
        buffers = deque(parts)
        remove(buffers, total)
        assert 0 < total < 12000
        got = b""
        far.setblocking(False)
        while total < 12000:
            total += await wire.send(buffers)
            while len(got) < total:
                got += far.recv(65536)
        assert got == b"".join(parts)
        assert not buffers
        await wire.aclose()
