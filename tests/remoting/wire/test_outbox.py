"""What a connection sends while nothing sends yet: clients ask as soon as they have it, perhaps before its task."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import suppress

import pytest
import trio

from trimq.remoting.counters import RemotingCounters
from trimq.remoting.wire.outbox import Outbox
from trimq.remoting.wire.streams import SocketWire

PARTS = [bytes([number]) * 3000 for number in range(50)]
WHOLE = b"".join(PARTS)


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    """A connection that takes little before somebody reads."""
    ours, theirs = socket.socketpair()
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 8192)
    with ours, theirs:
        yield ours, theirs


async def rest(end: socket.socket, count: int) -> bytes:
    """What comes after so many bytes."""
    got = bytearray()
    with trio.fail_after(10):
        while count + len(got) < len(WHOLE):
            await trio.lowlevel.wait_readable(end)
            got += end.recv(1 << 16)
    return bytes(got)


@pytest.mark.parametrize("before", [0, 1, 25, len(PARTS)])
async def test_bytes_go_out_in_their_order(
    ends: tuple[socket.socket, socket.socket], nursery: trio.Nursery, before: int
) -> None:
    """`before`: how many parts are put before its task has begun. The reader takes some between two of them."""
    ours, theirs = ends
    counters = RemotingCounters()
    outbox = Outbox(SocketWire(ours), 1 << 20, counters, [].append)
    head = bytearray()
    theirs.setblocking(False)
    for number, part in enumerate(PARTS):
        if number == before:
            outbox.open(nursery)
        outbox.put([part[:1000], part[1000:]], len(part))
        if number % 10 == 5:
            # There is room again: who comes now must not be sent before what waits.
            with suppress(BlockingIOError):
                head += theirs.recv(4000)
    if before == len(PARTS):
        outbox.open(nursery)
    got = bytes(head) + await rest(theirs, len(head))
    assert got == WHOLE
    with trio.fail_after(10):
        await outbox.below(0)
    assert counters.bytes_out == len(WHOLE)
