"""The poller: which connection is called when, and that one connection's trouble affects no other."""

import os
import socket
from functools import partial
from time import perf_counter

import pytest
import trio

from tests.patience import until_in_trio
from trimq.codec.frames.command import RemotingCommand, decode_command, encode_command
from trimq.codec.frames.frame import FrameBuffer
from trimq.remoting.contract import Processor, Response
from trimq.remoting.limits import Limits
from trimq.remoting.serving import server as server_module
from trimq.remoting.serving.dispatch import Dispatcher
from trimq.remoting.serving.server import Server
from trimq.remoting.wire.poller import AVAILABLE, Poller

pytestmark = pytest.mark.skipif(not AVAILABLE, reason="there is no epoll on this system")


class Pipe:
    """A descriptor to poll; every call reads `size` bytes and is noted."""

    def __init__(self, poller, calls, name, size=1, answers=False):
        self.read, self.write = os.pipe()
        os.set_blocking(self.read, False)
        self.poller, self.calls, self.name, self.size = poller, calls, name, size
        poller.add(self.read, self.ready, answers)

    def ready(self):
        self.calls.append((self.name, os.read(self.read, self.size)))

    def close(self):
        self.poller.remove(self.read)
        os.close(self.read)
        os.close(self.write)


@pytest.fixture
async def polled():
    poller, calls, pipes = Poller(), [], []

    def make(name, **options):
        pipes.append(Pipe(poller, calls, name, **options))
        return pipes[-1]

    async with trio.open_nursery() as nursery:
        nursery.start_soon(poller.run)
        yield make, calls, poller
        nursery.cancel_scope.cancel()
    for pipe in pipes:
        pipe.close()
    poller.close()


async def test_everybody_gets_a_turn_before_somebody_gets_a_second(polled):
    make, calls, _ = polled
    pipes = [make(name) for name in "abc"]
    for pipe in pipes:
        os.write(pipe.write, b"xyz")
    await until_in_trio(lambda: len(calls) == 9, pause=0.001)
    assert [{name for name, _ in calls[at : at + 3]} for at in (0, 3, 6)] == [set("abc")] * 3


async def test_a_slow_one_does_not_eat_the_turns_of_others(polled, monkeypatch):
    """However long each call takes, the others are called next, and other tasks run between."""
    make, calls, _ = polled
    pipes = [make(name) for name in "abc"]
    monkeypatch.setattr("trimq.remoting.wire.poller._MOST_SECONDS", 0.0)
    for pipe in pipes:
        os.write(pipe.write, b"xyz")
    await until_in_trio(lambda: len(calls) == 9, pause=0.001)
    assert [{name for name, _ in calls[at : at + 3]} for at in (0, 3, 6)] == [set("abc")] * 3


async def test_paused_means_not_called(polled):
    make, calls, poller = polled
    one, other = make("one"), make("other")
    poller.pause(one.read)
    os.write(one.write, b"1")
    os.write(other.write, b"2")
    await until_in_trio(lambda: calls, pause=0.001)
    assert calls == [("other", b"2")]
    # Even its end: that would be reported again and again.
    os.close(one.write)
    one.write = os.dup(one.read)
    await trio.sleep(0.01)
    poller.resume(one.read)
    await until_in_trio(lambda: len(calls) >= 2, pause=0.001)
    assert calls[1] == ("one", b"1")


async def test_removed_while_it_is_ready(polled):
    """Two are found ready at once, and the first call takes the other one away."""
    make, calls, poller = polled
    pipes = [make("one"), make("other")]

    def called(one, other):
        calls.append(one)
        poller.remove(one.read)
        poller.remove(other.read)

    for one, other in (pipes, reversed(pipes)):
        poller.remove(one.read)
        poller.add(one.read, partial(called, one, other))
        os.write(one.write, b"1")
    await until_in_trio(lambda: calls, pause=0.001)
    await trio.sleep(0.01)
    assert len(calls) == 1


@pytest.fixture
async def lingering():
    """A poller whose one pipe has been asking again right after each answer; its task does not run."""
    poller, calls = Poller(), []
    pipe = Pipe(poller, calls, "alone")
    poller._in_a_row = 8
    yield poller, pipe
    pipe.close()
    poller.close()


async def test_the_poller_stays_awake_for_a_client_that_always_asks_again(lingering):
    poller, pipe = lingering
    os.write(pipe.write, b"1")
    assert poller._linger(perf_counter())
    assert list(poller._ready) == [pipe.read]


async def test_waiting_in_vain_makes_it_rarer(lingering):
    poller, pipe = lingering
    assert not poller._linger(perf_counter())
    # The row starts again, and has to be twice as long.
    for in_a_row, waits in ((8, False), (15, False), (16, True)):
        poller._in_a_row = in_a_row
        os.write(pipe.write, b"1")
        assert poller._linger(perf_counter()) is waits
    # It was worth it: back to the beginning.
    poller._ready.clear()
    poller._in_a_row = 8
    assert poller._linger(perf_counter())


async def test_nobody_is_waited_for_while_others_want_to_run(lingering, nursery):
    poller, pipe = lingering
    os.write(pipe.write, b"1")
    nursery.start_soon(trio.lowlevel.checkpoint)
    assert not poller._linger(perf_counter())
    await trio.lowlevel.checkpoint()
    await trio.lowlevel.checkpoint()
    trio.lowlevel.current_trio_token().run_sync_soon(lambda: None)
    assert not poller._linger(perf_counter())


def test_a_row_ends_with_another_socket_a_pause_or_haste():
    poller = Poller()
    for fd, gap, in_a_row in (
        (5, 50, 0),
        (5, 50, 1),
        (5, 50, 2),
        (5, 1, 0),
        (5, 50, 1),
        (5, 1000, 0),
        (5, 50, 1),
        (6, 50, 0),
    ):
        poller._answered_at = 100.0
        poller._note(fd, 100.0 + gap / 1e6)
        assert poller._in_a_row == in_a_row
    poller.close()


async def test_what_an_answer_waits_for_is_waited_for_too():
    """A producer's replies wait for a slave's reports: the producer is still the only one that is busy."""
    poller, calls = Poller(), []
    producer = Pipe(poller, calls, "producer")
    slave = Pipe(poller, calls, "slave", answers=True)

    def ask_and_answer():
        os.write(producer.write, b"1")
        poller._look()
        os.write(slave.write, b"2")
        poller._look()

    for _ in range(9):
        ask_and_answer()
    assert [name for name, _ in calls] == ["producer", "slave"] * 9
    assert poller._alone == 8
    # How often the clock let it stay awake is not what this is about.
    poller._in_a_row = poller._linger_after = 8
    os.write(slave.write, b"2")
    assert poller._linger(perf_counter())
    assert list(poller._ready) == [slave.read]
    poller._watch(perf_counter())
    assert poller._in_a_row == 8
    # Nor does it matter when nobody waits for it: it comes together with a request, or right before.
    poller._ready.append(producer.read)
    poller._answered_at = 100.0
    poller._watch(100.000_05)
    assert (poller._in_a_row, poller._alone) == (9, 9)
    poller._ready.clear()
    poller._look()
    assert poller._answered_at == 100.0
    for pipe in (producer, slave):
        pipe.close()
    poller.close()


@pytest.mark.parametrize(("before", "served"), [(0, ["a", "b"]), (9, ["a"])])
async def test_another_one_is_looked_for_at_once_unless_one_is_alone(before, served):
    """`before`: so many times it was the only one that asked."""
    poller, calls = Poller(), []
    one, other = Pipe(poller, calls, "a"), Pipe(poller, calls, "b")
    for _ in range(before):
        os.write(one.write, b"1")
        poller._look()
    calls.clear()

    def ask_in_turn():
        one.ready()
        os.write(other.write, b"1")

    poller.remove(one.read)
    poller.add(one.read, ask_in_turn)
    os.write(one.write, b"1")
    poller._look()
    assert [name for name, _ in calls] == served
    for pipe in (one, other):
        pipe.close()
    poller.close()


async def test_a_conversation_leaves_the_other_tasks_their_turns(served):
    """One client asks again and again, from a thread of its own."""
    _, address = served
    ended = trio.Event()
    ticks = 0

    def converse():
        with socket.create_connection(address) as sock:
            stream = sock.makefile("rb")
            for number in range(2000):
                sock.sendall(encode_command(RemotingCommand(10, number, body=b"?")))
                size = int.from_bytes(stream.read(4), "big")
                frame = size.to_bytes(4, "big") + stream.read(size)
                frames = FrameBuffer()
                frames.feed(frame)
                assert decode_command(frames.next_frame()).opaque == number

    async def tick():
        nonlocal ticks
        while not ended.is_set():
            await trio.sleep(0.002)
            ticks += 1

    async with trio.open_nursery() as nursery:
        nursery.start_soon(tick)
        await trio.to_thread.run_sync(converse)
        ended.set()
    assert ticks > 0


class Echo(Processor[None]):
    codes = (10,)

    def handle(self, request):
        return Response(body=request.body)


@pytest.fixture
async def served(nursery):
    """A server, and a way to ask it over a bare socket."""
    sock = socket.create_server(("127.0.0.1", 0))
    address = sock.getsockname()
    server = Server(Dispatcher([Echo()]), limits=Limits(drain_seconds=0.2))
    await nursery.start(server.serve, [sock])
    yield server, address
    nursery.cancel_scope.cancel()


async def ask(stream, opaque):
    await stream.send_all(encode_command(RemotingCommand(10, opaque, body=b"?")))
    frames = FrameBuffer()
    with trio.fail_after(10):
        while (found := frames.next_frame()) is None:
            frames.feed(await stream.receive_some())
    return decode_command(found).opaque


async def test_a_bug_ends_its_connection_only(served, caplog):
    server, address = served
    one, other = [await trio.open_tcp_stream(*address) for _ in range(2)]
    assert await ask(one, 1) == 1
    assert await ask(other, 2) == 2
    (first, _) = sorted(server.connections, key=lambda connection: connection.id)

    class Broken:
        @property
        def bytes_in(self):
            raise RuntimeError("a bug")

    first._receiving._counters = Broken()
    await one.send_all(b"x")
    with trio.fail_after(10):
        assert await one.receive_some() == b""
    assert "a bug" in caplog.text
    assert await ask(other, 3) == 3
    await one.aclose()
    await other.aclose()


async def test_without_epoll_each_connection_reads_for_itself(nursery, monkeypatch):
    monkeypatch.setattr(server_module, "AVAILABLE", False)
    sock = socket.create_server(("127.0.0.1", 0))
    address = sock.getsockname()
    await nursery.start(Server(Dispatcher([Echo()])).serve, [sock])
    stream = await trio.open_tcp_stream(*address)
    assert [await ask(stream, number) for number in range(20)] == list(range(20))
    await stream.aclose()
    nursery.cancel_scope.cancel()
