"""Reading by the poller, and without one."""

import socket
from contextlib import asynccontextmanager

import pytest
import trio
import trio.testing

from trimq.remoting.wire.poller import AVAILABLE, Poller
from trimq.remoting.wire.reading import while_readable
from trimq.remoting.wire.streams import SocketWire

needs_epoll = pytest.mark.skipif(not AVAILABLE, reason="there is no epoll on this system")
EITHER = [False, pytest.param(True, marks=needs_epoll)]


@asynccontextmanager
async def maybe_polled(with_poller):
    if not with_poller:
        yield None
        return
    poller = Poller()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(poller.run)
        yield poller
        nursery.cancel_scope.cancel()
    poller.close()


@pytest.fixture
def ends():
    one, other = socket.socketpair()
    with one, other:
        yield SocketWire(one), other


@pytest.mark.parametrize("with_poller", EITHER)
async def test_until_it_says_no(ends, with_poller):
    wire, other = ends
    seen = []

    def ready():
        seen.append(wire.receive_now())
        if len(seen) < 3:
            other.send(b"%d" % len(seen))
        return len(seen) < 3

    async with maybe_polled(with_poller) as poller:
        other.send(b"0")
        with trio.fail_after(10):
            await while_readable(wire, poller, ready)
        assert seen == [b"0", b"1", b"2"]
        # What comes later is kept for whoever reads next.
        other.send(b"3")
        await trio.testing.wait_all_tasks_blocked()
        assert wire.receive_now() == b"3"


@pytest.mark.parametrize("with_poller", EITHER)
async def test_what_it_raises_comes_out(ends, with_poller):
    wire, other = ends

    def ready():
        raise OSError("broken")

    async with maybe_polled(with_poller) as poller:
        other.send(b"0")
        with trio.fail_after(10), pytest.raises(OSError, match="broken"):
            await while_readable(wire, poller, ready)


@pytest.mark.parametrize("with_poller", EITHER)
async def test_who_is_cancelled_is_called_no_more(ends, with_poller):
    wire, other = ends
    calls = []
    async with maybe_polled(with_poller) as poller:
        with trio.move_on_after(0.01):
            await while_readable(wire, poller, lambda: calls.append(1) is None)
        other.send(b"0")
        await trio.sleep(0.01)
        assert not calls


@needs_epoll
async def test_a_poller_that_has_gone_first_is_no_harm(ends):
    """Servers and links end in any order."""
    wire, _ = ends
    poller = Poller()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(while_readable, wire, poller, lambda: True)
        await trio.testing.wait_all_tasks_blocked()
        poller.close()
        nursery.cancel_scope.cancel()


def test_receiving_into_a_buffer(ends):
    wire, other = ends
    buffer = memoryview(bytearray(4))
    assert wire.receive_into(buffer) == -1
    other.send(b"abcdef")
    assert [wire.receive_into(buffer) for _ in range(3)] == [4, 2, -1]
    other.shutdown(socket.SHUT_WR)
    assert wire.receive_into(buffer) == 0
