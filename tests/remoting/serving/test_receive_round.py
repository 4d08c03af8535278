"""Receives of several sockets that are ready together: one write for all, and its failure is told to each."""

import fcntl
import socket
import termios
import time
from array import array
from functools import partial

import pytest
import trio

from trimq.codec.codes import ResponseCode
from trimq.codec.frames.command import RemotingCommand, decode_command, encode_command
from trimq.codec.frames.frame import FrameBuffer
from trimq.remoting.contract import Processor, RemotingError, Response
from trimq.remoting.serving.dispatch import Dispatcher
from trimq.remoting.serving.receive_frames import Reply, Turn
from trimq.remoting.serving.receive_round import ReceiveRound
from trimq.remoting.serving.server import Server
from trimq.remoting.wire.poller import AVAILABLE


class Answers(Processor[None]):
    """A request without a body stages nothing."""

    codes = (10,)
    joins_rounds = True

    def handle(self, request):
        return Response(body=request.body, staged=bool(request.body))


class Asks(Processor[None]):
    """What is decided when nothing of others is staged."""

    codes = (11,)

    def __init__(self, writes):
        self.writes = writes
        self.seen = []

    def handle(self, request):
        self.seen.append(self.writes.count)
        return Response()


class Writes:
    """Counts its calls, and fails if told to."""

    def __init__(self):
        self.fails = False
        self.count = 0

    def __call__(self):
        self.count += 1
        if self.fails:
            raise RemotingError(ResponseCode.SYSTEM_ERROR, "the disk failed")


def frame(opaque, body, code=10):
    return encode_command(RemotingCommand(code, opaque, body=body))


def answers(sock):
    """Of one request; waits for it in a thread."""
    frames = FrameBuffer()
    while (found := frames.next_frame()) is None:
        data = sock.recv(1 << 16)
        assert data
        frames.feed(data)
    return decode_command(found)


@pytest.fixture
def writes():
    return Writes()


@pytest.fixture
def asks(writes):
    return Asks(writes)


@pytest.fixture
async def clients(nursery, writes, asks):
    """Connections to a server; each has had an answer."""
    listening = socket.create_server(("127.0.0.1", 0))
    server = Server(Dispatcher([Answers(), asks], end_of_receive=writes))
    await nursery.start(partial(server.serve, [listening]))
    made = []
    for _ in range(3):
        made.append(socket.create_connection(listening.getsockname()))
        made[-1].sendall(frame(1, b""))
        await trio.to_thread.run_sync(answers, made[-1])
    writes.count = 0
    yield made
    for each in made:
        each.close()


def delivered(*clients):
    """All that was sent is with the server: on a busy machine the kernel delivers later than it sends."""
    unacknowledged = array("i", [0])
    for client in clients:
        fcntl.ioctl(client, termios.TIOCOUTQ, unacknowledged)
        while unacknowledged[0]:
            time.sleep(0.001)
            fcntl.ioctl(client, termios.TIOCOUTQ, unacknowledged)


async def asked(clients, *bodies):
    """One request of each client, all there before the server looks."""
    for client, body in zip(clients, bodies, strict=True):
        client.sendall(frame(2, body))
    delivered(*clients)
    return [await trio.to_thread.run_sync(answers, client) for client in clients]


@pytest.mark.skipif(not AVAILABLE, reason="there is no epoll on this system")
async def test_what_is_ready_together_is_written_at_once(clients, writes):
    found = await asked(clients, b"a", b"b", b"c")
    assert [each.body for each in found] == [b"a", b"b", b"c"]
    assert writes.count == 1


async def test_a_failed_write_is_told_to_everybody_whose_records_were_in_it(clients, writes):
    writes.fails = True
    found = await asked(clients, b"a", b"", b"c")
    assert [(each.code, each.remark) for each in found] == [
        (ResponseCode.SYSTEM_ERROR, "the disk failed"),
        (ResponseCode.SUCCESS, None),
        (ResponseCode.SYSTEM_ERROR, "the disk failed"),
    ]
    writes.fails = False
    assert [each.code for each in await asked(clients, b"a", b"b", b"c")] == [0, 0, 0]


@pytest.mark.skipif(not AVAILABLE, reason="there is no epoll on this system")
@pytest.mark.parametrize("fails", [False, True])
async def test_other_requests_are_decided_when_that_is_written(clients, writes, asks, fails):
    writes.fails = fails
    first, second, _ = clients
    first.sendall(frame(2, b"a"))
    second.sendall(frame(2, b"b") + frame(3, b"", 11) + frame(4, b""))
    delivered(first, second)
    codes = [(await trio.to_thread.run_sync(answers, one)).code for one in (first, second)]
    # Whichever of the two is read first: alone, it leaves nothing behind that is not written.
    assert codes == [ResponseCode.SYSTEM_ERROR if fails else ResponseCode.SUCCESS] * 2
    assert asks.seen in ([0], [1])
    assert writes.count == asks.seen[0] + 1


def test_a_turn_that_has_begun_is_told_of_the_write_in_its_middle(writes):
    ended = []
    together = ReceiveRound(Dispatcher([Answers()], end_of_receive=writes))
    first, begun = turn(1), turn(1)
    together.add(first, ended.append)
    assert together.is_open
    writes.fails = True
    together.write(begun)
    assert [each.replies[0].response.code for each in (first, begun)] == [1, 1]
    assert (ended, together.is_open) == ([first], False)


def turn(frames, more=False):
    made = Turn()
    made.frames, made.more = frames, more
    made.replies.append(Reply(1, 0, Response(staged=True)))
    return made


@pytest.mark.parametrize(("second", "more"), [(7, False), (1, True)])
def test_a_large_receive_does_not_wait_for_others(writes, second, more):
    ended = []
    together = ReceiveRound(Dispatcher([Answers()], end_of_receive=writes))
    first, large, last = turn(1), turn(second, more), turn(1)
    together.add(first, ended.append)
    assert (ended, writes.count) == ([], 0)
    together.add(large, ended.append)
    assert (ended, writes.count) == ([first, large], 1)
    together.add(last, ended.append)
    together.end()
    together.end()
    assert (ended, writes.count) == ([first, large, last], 2)


def test_what_brought_no_request_writes_nothing(writes):
    ended = []
    together = ReceiveRound(Dispatcher([Answers()], end_of_receive=writes))
    together.add(turn(0), ended.append)
    together.end()
    assert (len(ended), writes.count) == (1, 0)
