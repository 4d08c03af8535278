"""The client for plain threads, against bare sockets and against our own server."""

import socket
import ssl
import subprocess
import sys
import threading

import pytest
import trio
import trustme

from tests.patience import until
from trimq.codec.frames.command import RemotingCommand, decode_command, encode_command
from trimq.codec.frames.frame import FrameBuffer
from trimq.codec.headers.base import Header
from trimq.remoting.clients.blocking import BlockingClient
from trimq.remoting.contract import Processor, Response
from trimq.remoting.errors import PeerGone, RemotingConnectError, RemotingTimeout, TransportError
from trimq.remoting.serving.dispatch import Dispatcher
from trimq.remoting.serving.server import Server
from trimq.remoting.tls.contexts import TlsContext
from trimq.remoting.wire.handshake import ServerTls


class NameHeader(Header):
    consumer_group: str


class Echo(Processor[NameHeader]):
    codes = (10,)
    header = NameHeader

    def handle(self, request):
        return Response(header=request.header, body=request.body)


class Peer:
    """A server of one connection that does what its function says."""

    def __init__(self, behave):
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.addr = f"127.0.0.1:{self.listening.getsockname()[1]}"
        self.commands = []
        self.thread = threading.Thread(target=self._run, args=(behave,))
        self.thread.start()

    def _run(self, behave):
        sock, _ = self.listening.accept()
        with sock:
            frames = FrameBuffer()
            while data := sock.recv(65536):
                frames.feed(data)
                while (frame := frames.next_frame()) is not None:
                    command = decode_command(frame)
                    self.commands.append(command)
                    if behave(sock, command) == "close":
                        return

    def end(self):
        self.thread.join()
        self.listening.close()


@pytest.fixture
def peer():
    peers = []

    def start(behave):
        peers.append(Peer(behave))
        return peers[-1]

    yield start
    for each in peers:
        each.end()


def answer(sock, command, body=b"", opaque=None):
    opaque = command.opaque if opaque is None else opaque
    sock.sendall(encode_command(RemotingCommand(0, opaque, 1, body=body)))


async def test_against_our_server(nursery):
    sock = socket.create_server(("127.0.0.1", 0))
    addr = f"127.0.0.1:{sock.getsockname()[1]}"
    await nursery.start(Server(Dispatcher([Echo()])).serve, [sock])

    def use():
        with BlockingClient(addr) as client:
            client.oneway(10, NameHeader(consumer_group="G"))
            body = b"x" * 1_000_000
            got = client.request(10, NameHeader(consumer_group="G"), body)
            assert (got.body, got.ext_fields) == (body, {"consumerGroup": "G"})
            assert client.request(99).remark == " request type 99 not supported"
        assert client.closed
        with pytest.raises(PeerGone):
            client.request(10)

    await trio.to_thread.run_sync(use)
    nursery.cancel_scope.cancel()


async def test_tls(nursery):
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    trusting = ssl.create_default_context()
    authority.configure_trust(trusting)
    sock = socket.create_server(("127.0.0.1", 0))
    addr = f"127.0.0.1:{sock.getsockname()[1]}"
    await nursery.start(
        Server(Dispatcher([Echo()]), tls=ServerTls(source=TlsContext(lambda: context))).serve,
        [sock],
    )

    def use():
        with BlockingClient(addr, tls=trusting) as client:
            return client.request(10, NameHeader(consumer_group="G"), b"secret").body

    assert await trio.to_thread.run_sync(use) == b"secret"
    nursery.cancel_scope.cancel()


def test_threads_take_turns(peer):
    server = peer(lambda sock, command: answer(sock, command, command.body))
    got = {}
    with BlockingClient(server.addr) as client:

        def ask(n):
            got[n] = client.request(10, body=b"%d" % n).body

        threads = [threading.Thread(target=ask, args=(n,)) for n in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert got == {n: b"%d" % n for n in range(20)}


def test_what_is_not_an_answer_to_the_question_is_ignored(peer):
    def behave(sock, command):
        sock.sendall(encode_command(RemotingCommand(40, command.opaque, 2)))
        answer(sock, command, b"stale", opaque=command.opaque - 1)
        answer(sock, command, b"right")

    with BlockingClient(peer(behave).addr) as client:
        assert client.request(10).body == b"right"


def test_no_answer_is_a_time_out_and_the_connection_stays_usable(peer):
    server = peer(lambda sock, command: answer(sock, command) if command.code == 11 else None)
    with BlockingClient(server.addr) as client:
        with pytest.raises(RemotingTimeout, match=r"request code 10 within 0\.01 s"):
            client.request(10, timeout=0.01)
        assert client.request(11).code == 0


def test_a_lost_connection_is_reported_and_not_reopened(peer):
    with BlockingClient(peer(lambda _s, _c: "close").addr) as client:
        with pytest.raises(PeerGone):
            client.request(10)
        assert client.closed
        with pytest.raises(PeerGone, match="is closed"):
            client.oneway(10)


def test_a_peer_that_breaks_the_protocol_is_left(peer):
    def behave(sock, _command):
        sock.sendall(b"\xff" * 20)

    with BlockingClient(peer(behave).addr) as client:
        with pytest.raises(PeerGone, match="length"):
            client.request(10)
        assert client.closed


def test_nobody_there():
    with socket.create_server(("127.0.0.1", 0)) as sock:
        addr = f"127.0.0.1:{sock.getsockname()[1]}"
    with pytest.raises(RemotingConnectError, match=addr):
        BlockingClient(addr)
    with pytest.raises(RemotingConnectError):
        BlockingClient("no-port")
    assert issubclass(RemotingConnectError, TransportError)


@pytest.mark.parametrize(
    "module", ["trimq.remoting", "trimq.remoting.clients.blocking", "trimq.remoting.tls.contexts"]
)
def test_no_trio_for_plain_threads(module):
    code = f"import sys, {module}; sys.exit('trio' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_several_questions_under_way(peer):
    """Answers come in any order, and each goes to the caller that asked."""
    held = []

    def behave(sock, command):
        held.append(command)
        if len(held) == 3:
            for one in reversed(held):
                answer(sock, one, body=b"%d" % one.code)

    server = peer(behave)
    with BlockingClient(server.addr) as client:
        first = client.start(1, NameHeader(consumer_group="g"))
        second = client.start(2, {"consumerGroup": "g"})
        assert client.request(3).body == b"3"
        assert client.finish(first).body == b"1"
        assert client.finish(second).body == b"2"
    assert server.commands[0].ext_fields == server.commands[1].ext_fields == {"consumerGroup": "g"}


def test_an_answer_that_does_not_come(peer):
    with BlockingClient(peer(lambda *_: None).addr) as client:
        opaque = client.start(1)
        with pytest.raises(RemotingTimeout, match=r"did not answer a request within 0\.05 s"):
            client.finish(opaque, 0.05)


def test_what_came_before_the_end_is_not_lost(peer):
    def behave(sock, command):
        answer(sock, command, body=b"%d" % command.code)
        return "close" if command.code == 2 else None

    with BlockingClient(peer(behave).addr) as client:
        opaques = [client.start(code) for code in (1, 2, 3)]
        # The third is never answered; the answers to the others came in front of the end.
        with pytest.raises(PeerGone):
            client.finish(opaques[2])
        assert [client.finish(one).body for one in opaques[:2]] == [b"1", b"2"]


def test_a_connection_is_idle_when_nothing_is_owed_on_it(peer):
    def behave(sock, command):
        if command.code != 2:
            answer(sock, command)
        return "close" if command.code == 3 else None

    with BlockingClient(peer(behave).addr) as client:
        assert client.idle
        opaque = client.start(1)
        assert not client.idle
        client.finish(opaque)
        assert client.idle
        # Its answer may still come.
        client.start(2)
        assert not client.idle
    assert not client.idle
    with BlockingClient(peer(behave).addr) as client:
        client.request(3)
        until(lambda: not client.idle)
