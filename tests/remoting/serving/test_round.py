"""Receives of several sockets that are ready together: one write for all, and its failure is told to each."""

import socket
from functools import partial

import pytest
import trio

from trimq.codec.codes import ResponseCode
from trimq.codec.frames.command import RemotingCommand, decode_command, encode_command
from trimq.codec.frames.frame import FrameBuffer
from trimq.remoting.contract import Processor, RemotingError, Response
from trimq.remoting.serving.dispatch import Dispatcher
from trimq.remoting.serving.round import Round
from trimq.remoting.serving.server import Server
from trimq.remoting.serving.turn import Reply, Turn
from trimq.remoting.wire.poller import AVAILABLE


class Answers(Processor[None]):
    """A request without a body stages nothing."""

    codes = (10,)

    def handle(self, request):
        return Response(body=request.body, staged=bool(request.body))


class Writes:
    """Fails if told to; the requests that it was called behind."""

    def __init__(self):
        self.fails = False
        self.count = 0

    def __call__(self):
        self.count += 1
        if self.fails:
            raise RemotingError(ResponseCode.SYSTEM_ERROR, "the disk failed")


def frame(opaque, body):
    return encode_command(RemotingCommand(10, opaque, body=body))


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
async def clients(nursery, writes):
    """Connections to a server; each has had an answer."""
    listening = socket.create_server(("127.0.0.1", 0))
    server = Server(Dispatcher([Answers()], end_of_receive=writes))
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


async def asked(clients, *bodies):
    """One request of each client, all there before the server looks."""
    for client, body in zip(clients, bodies, strict=True):
        client.sendall(frame(2, body))
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


def turn(frames, more=False):
    made = Turn()
    made.frames, made.more = frames, more
    made.replies.append(Reply(1, 0, Response(staged=True)))
    return made


@pytest.mark.parametrize(("second", "more"), [(31, False), (1, True)])
def test_a_large_receive_does_not_wait_for_others(writes, second, more):
    ended = []
    together = Round(Dispatcher([Answers()], end_of_receive=writes))
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
    together = Round(Dispatcher([Answers()], end_of_receive=writes))
    together.add(turn(0), ended.append)
    together.end()
    assert (len(ended), writes.count) == (1, 0)
