"""The PROXY preamble: who may send one, what it says, and what follows it."""

import contextlib
import socket
import ssl
import struct

import pytest
import trio
import trio.testing
import trustme
from hypothesis import given
from hypothesis import strategies as st

from trimq.codec.frames.command import RemotingCommand, decode_command, encode_command
from trimq.remoting.contract import Processor, Response
from trimq.remoting.limits import Limits
from trimq.remoting.serving.dispatch import Dispatcher
from trimq.remoting.serving.server import Server
from trimq.remoting.tls.contexts import TlsContext, client_context
from trimq.remoting.wire.handshake import ServerTls
from trimq.remoting.wire.proxy_protocol import (
    PreambleError,
    is_in,
    parse_line,
    parse_networks,
    parse_rest,
    read_preamble,
    rest_length,
)

SIGNATURE = b"\r\n\r\n\x00\r\nQUIT\n"
LOOPBACK = parse_networks("127.0.0.0/8")
LINE = b"PROXY TCP4 192.0.2.1 192.0.2.9 56324 10911\r\n"


def binary(family=0x11, addresses=None, command=0x21, extensions=b""):
    if addresses is None:
        ips = socket.inet_aton("192.0.2.1") + socket.inet_aton("192.0.2.9")
        addresses = ips + struct.pack("!HH", 56324, 10911)
    rest = addresses + extensions
    return SIGNATURE + struct.pack("!BBH", command, family, len(rest)) + rest


IPV6 = socket.inet_pton(socket.AF_INET6, "2001:db8::1") * 2 + struct.pack("!HH", 7, 8)
PREAMBLES = [
    (LINE, "192.0.2.1:56324"),
    (b"PROXY TCP6 2001:db8::1 2001:db8::2 7 8\r\n", "[2001:db8::1]:7"),
    (b"PROXY UNKNOWN\r\n", None),
    (b"PROXY UNKNOWN ffff:: ffff:: 1 2\r\n", None),
    (binary(), "192.0.2.1:56324"),
    (binary(extensions=b"\x20\x00\x03abc" * 100), "192.0.2.1:56324"),
    (binary(0x21, IPV6), "[2001:db8::1]:7"),
    (binary(0x31, b"\x00" * 216), None),
    (binary(0x00, b""), None),
    (binary(command=0x20), None),
    (binary(addresses=b"\x7f\x00\x00\x01" * 2 + b"\x00" * 4), None),
]
BROKEN = [
    b"PROXY TCP4 192.0.2.1 192.0.2.9 0 10911\r\n",
    b"PROXY TCP4 192.0.2.1 192.0.2.9 \xb2 10911\r\n",
    b"PROXY TCP4 192.0.2.1 192.0.2.9 56324\r\n",
    b"PROXY TCP4 192.0.2.1 192.0.2.9 56324 10911 \r\n",
    b"PROXY TCP4 192.0.2.256 192.0.2.9 56324 10911\r\n",
    b"PROXY TCP4 192.0.2.1 192.0.2.9 65536 10911\r\n",
    b"PROXY TCP4 192.0.2.1 192.0.2.9 -1 10911\r\n",
    b"PROXY TCP4 2001:db8::1 2001:db8::2 7 8\r\n",
    b"PROXY TCP5 192.0.2.1 192.0.2.9 56324 10911\r\n",
    b"POST / HTTP/1.1\r\n",
    b"P" * 200,
    b"\r" * 16,
    binary(command=0x22),
    binary(command=0x11),
    binary(addresses=b"\x7f\x00\x00\x01"),
    LINE[:20],
    binary()[:20],
]


def parse(data):
    if data[:1] == b"P":
        return parse_line(data)
    assert rest_length(data[:16]) == len(data) - 16
    return parse_rest(data[:16], data[16:])


@pytest.mark.parametrize(("preamble", "client"), PREAMBLES)
def test_who_the_client_is(preamble, client):
    assert parse(preamble) == client


@pytest.fixture
def pair():
    near, far = socket.socketpair()
    with near, far:
        near.setblocking(False)
        yield near, far


@pytest.mark.parametrize(("preamble", "client"), PREAMBLES)
async def test_what_follows_it_stays(pair, preamble, client):
    near, far = pair
    far.sendall(preamble + b"\0\0\0rest")
    assert await read_preamble(near, preamble[0]) == client
    assert near.recv(100) == b"\0\0\0rest"


@pytest.mark.parametrize("preamble", [LINE, binary()])
async def test_it_may_come_in_pieces(pair, preamble, nursery):
    near, far = pair
    found = []

    async def read():
        found.append(await read_preamble(near, preamble[0]))

    nursery.start_soon(read)
    for each in preamble:
        far.send(bytes([each]))
        await trio.testing.wait_all_tasks_blocked()
    assert found == ["192.0.2.1:56324"]


@pytest.mark.parametrize("preamble", BROKEN)
async def test_broken_ones_are_refused(pair, preamble):
    near, far = pair
    far.sendall(preamble)
    far.shutdown(socket.SHUT_WR)
    with pytest.raises(PreambleError):
        await read_preamble(near, preamble[0])


@given(st.sampled_from([b"PROXY ", b"PROXY TCP4 ", SIGNATURE, b"\r\n"]), st.binary(max_size=300))
def test_no_bytes_do_worse_than_a_refusal(begin, rest):
    async def read():
        near, far = socket.socketpair()
        with near, far:
            near.setblocking(False)
            far.sendall(begin + rest)
            far.shutdown(socket.SHUT_WR)
            with contextlib.suppress(PreambleError):
                await read_preamble(near, begin[0])

    trio.run(read)


def test_networks():
    networks = parse_networks("192.0.2.7, 10.0.0.0/8;2001:db8::/32")
    inside = ("192.0.2.7:1", "10.1.2.3:1", "[2001:db8::5]:1", "[::ffff:10.0.0.1]:1")
    assert all(is_in(addr, networks) for addr in inside)
    outside = ("192.0.2.8:1", "[2001:db9::5]:1", "127.0.0.1:1")
    assert not any(is_in(addr, networks) for addr in outside)
    with pytest.raises(ValueError, match="balancer"):
        parse_networks("10.0.0.0/8,balancer")


class WhoAmI(Processor[None]):
    codes = (10,)

    def handle(self, request):
        peer = request.peer
        return Response(body=f"{peer.remote_addr} {peer.packed_host[:4].hex()}".encode())


@pytest.fixture
async def start(nursery):
    scope = trio.CancelScope()

    async def run(**options):
        server = Server(Dispatcher([WhoAmI()]), **options)
        sock = socket.create_server(("127.0.0.1", 0))

        async def serve(task_status):
            with scope:
                await server.serve([sock], task_status)

        await nursery.start(serve)
        return sock.getsockname()

    yield run
    scope.cancel()


async def answer_to(stream):
    await stream.send_all(encode_command(RemotingCommand(10, 1)))
    return decode_command((await stream.receive_some())[4:]).body.decode()


@pytest.mark.parametrize("preamble", [LINE, binary()])
async def test_the_client_is_the_one_that_the_balancer_names(start, preamble):
    """But records are born at the balancer's address, as in RocketMQ."""
    async with await trio.open_tcp_stream(*await start(balancers=LOOPBACK)) as stream:
        await stream.send_all(preamble)
        assert await answer_to(stream) == "192.0.2.1:56324 7f000001"


async def test_a_balancer_need_not_say(start):
    where = await start(balancers=LOOPBACK)
    for preamble in (b"", b"PROXY UNKNOWN\r\n", binary(command=0x20)):
        async with await trio.open_tcp_stream(*where) as stream:
            await stream.send_all(preamble)
            assert (await answer_to(stream)).startswith("127.0.0.1:")


async def test_tls_after_it(start):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("127.0.0.1").configure_cert(context)
    tls = ServerTls(source=TlsContext(lambda: context))
    async with await trio.open_tcp_stream(*await start(balancers=LOOPBACK, tls=tls)) as stream:
        await stream.send_all(LINE)
        secret = trio.SSLStream(stream, client_context(), server_hostname="127.0.0.1")
        assert await answer_to(secret) == "192.0.2.1:56324 7f000001"


@pytest.mark.parametrize("preamble", [LINE, binary()])
async def test_strangers_are_not_believed(start, preamble, caplog):
    async with await trio.open_tcp_stream(*await start()) as stream:
        await stream.send_all(preamble)
        with trio.fail_after(60):
            await until_closed(stream)
    assert [
        record.getMessage().partition("reason=")[2]
        for record in caplog.records
        if "reason=" in record.getMessage()
    ] == ["a PROXY preamble, but proxyProtocolFrom does not name the sender"]


@pytest.mark.parametrize("preamble", [LINE[:-1], binary()[:-1]])
async def test_one_that_does_not_end_is_cut_off(start, preamble, caplog):
    where = await start(balancers=LOOPBACK, limits=Limits(handshake_seconds=0.05))
    async with await trio.open_tcp_stream(*where) as stream:
        await stream.send_all(preamble)
        with trio.fail_after(60):
            await until_closed(stream)
    assert "a PROXY preamble that does not end" in caplog.text


async def until_closed(stream):
    try:
        assert await stream.receive_some() == b""
    except trio.BrokenResourceError:
        # Closed with something left unread.
        return
