"""Bodies that leave from files: in a thread, on real sockets, beside everything else on the connection."""

import os
import threading

import pytest
import trio
import trio.testing

from tests.patience import until_in_trio
from tests.remoting.serving.test_server import Do, answers, echo, ended, frame, on_a_free_port
from trimq.base.file_body import FileBody
from trimq.remoting.clients.client import Client
from trimq.remoting.contract import Response
from trimq.remoting.limits import Limits
from trimq.remoting.serving.dispatch import Dispatcher
from trimq.remoting.serving.server import Server

DATA = os.urandom(3 << 20)


class Filed(FileBody):
    """A file in two parts, with bytes between them."""

    def __init__(self, path, go=None, failure=None):
        super().__init__(len(DATA))
        self.fd = os.open(path, os.O_RDONLY)
        self.go = go
        self.failure = failure
        self.threads = []
        self.closed = 0

    def parts(self):
        self.threads.append(threading.current_thread())
        if self.go is not None:
            assert self.go.wait(60)
        if self.failure is not None:
            raise self.failure
        half = len(DATA) // 2
        between = [DATA[half : half + 10], DATA[half + 10 : half + 30]]
        return [(self.fd, 0, half), *between, (self.fd, half + 30, len(DATA) - half - 30)]

    def close(self):
        self.closed += 1
        if self.closed == 1:
            os.close(self.fd)


class Files:
    """What a processor with code 20 answers: a body each time."""

    def __init__(self, path):
        self.path = path
        self.bodies = []
        self.options = {}

    def answer(self, request):
        assert request.peer.takes_files
        self.bodies.append(Filed(self.path, **self.options))
        return Response(body=self.bodies[-1])


@pytest.fixture
def files(tmp_path):
    (tmp_path / "data").write_bytes(DATA)
    return Files(tmp_path / "data")


@pytest.fixture
async def start(nursery, files):
    async def run(**options):
        server = Server(Dispatcher([Do(10, echo), Do(20, files.answer)]), **options)
        return await on_a_free_port(server, nursery)

    return run


async def test_they_arrive_whole_between_other_replies(start, files):
    running = await start()
    async with await running.raw() as stream:
        codes = [10, 20, 10, 20, 20, 10]
        await stream.send_all(
            b"".join(
                frame(n, code, b"x%d" % n if code == 10 else b"") for n, code in enumerate(codes)
            )
        )
        got = {command.opaque: command.body for command in await answers(stream, len(codes))}
    assert got == {n: DATA if code == 20 else b"x%d" % n for n, code in enumerate(codes)}
    await until_in_trio(lambda: [body.closed for body in files.bodies] == [1, 1, 1], pause=0)
    assert threading.main_thread() not in {
        thread for body in files.bodies for thread in body.threads
    }


async def test_a_disk_that_takes_its_time_holds_up_nobody_else(start, files):
    files.options = {"go": threading.Event()}
    running = await start()
    async with await running.raw() as stream, Client.connect(running.addr) as other:
        await stream.send_all(frame(1, 20) + frame(2, 10, b"behind it"))
        await until_in_trio(lambda: files.bodies and files.bodies[0].threads, pause=0)
        assert (await other.request(10, body=b"x")).body == b"x"
        files.options["go"].set()
        got = await answers(stream, 2)
    assert {command.opaque: command.body for command in got} == {1: DATA, 2: b"behind it"}


async def test_a_slow_reader_gets_everything_and_stops_being_read(start, files):
    running = await start(limits=Limits(outbox_limit=2 * len(DATA)))
    async with await running.raw(receive_buffer=4096) as stream:
        await stream.send_all(b"".join(frame(n, 20) for n in range(8)))
        await until_in_trio(lambda: running.server.connections, pause=0)
        (peer,) = running.server.connections
        await until_in_trio(lambda: peer._outbox.full, pause=0)
        assert len(files.bodies) <= 3
        async with Client.connect(running.addr) as other:
            assert (await other.request(10, body=b"x")).body == b"x"
        got = await answers(stream, 8)
    assert [command.opaque for command in got] == list(range(8))
    assert all(command.body == DATA for command in got)


async def test_what_cannot_be_read_ends_that_connection_only(start, files, caplog):
    files.options = {"failure": OSError("bad disk")}
    running = await start()
    async with await running.raw() as stream:
        await stream.send_all(frame(1, 20))
        with trio.fail_after(30):
            assert await ended(stream)
    assert "bad disk" in caplog.text
    await until_in_trio(lambda: files.bodies[0].closed == 1, pause=0)
    async with Client.connect(running.addr) as other:
        assert (await other.request(10, body=b"x")).body == b"x"


async def test_a_peer_that_leaves_meanwhile_costs_nothing(start, files):
    """Its descriptor stays taken until the thread has given it back."""
    files.options = {"go": threading.Event()}
    running = await start(limits=Limits(drain_seconds=0, outbox_limit=99 << 20))
    async with await running.raw() as stream:
        await stream.send_all(b"".join(frame(n, 20) for n in range(3)))
        await until_in_trio(lambda: files.bodies and files.bodies[0].threads, pause=0)
        (peer,) = running.server.connections
        fd = peer._wire.fileno()
    await until_in_trio(lambda: not running.server.connections, pause=0)
    assert peer._wire.fileno() == fd
    assert all(body.closed == 0 for body in files.bodies[:1])
    files.options["go"].set()
    await until_in_trio(lambda: all(body.closed == 1 for body in files.bodies), pause=0)
    assert peer._wire.fileno() == -1


async def test_the_server_ends_while_one_is_under_way(start, files):
    files.options = {"go": threading.Event()}
    running = await start(limits=Limits(drain_seconds=0))
    async with await running.raw() as stream:
        await stream.send_all(frame(1, 20))
        await until_in_trio(lambda: files.bodies and files.bodies[0].threads, pause=0)
        running.scope.cancel()
        files.options["go"].set()
        with trio.fail_after(30):
            await running.ended.wait()
            await ended(stream)
    assert [body.closed for body in files.bodies] == [1]


async def test_oneway_requests_get_none(start, files):
    running = await start()
    async with Client.connect(running.addr) as client:
        client.oneway(20)
        assert (await client.request(10, body=b"x")).body == b"x"
    assert not files.bodies[0].threads
