"""Listening sockets that are shut for a while, and opened again on the same ports."""

from __future__ import annotations

import errno
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest
import trio
import trio.testing

from tests.patience import until_in_trio
from trimq.remoting.serving.entrance import Entrance


def listening(port: int = 0) -> socket.socket:
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind(("127.0.0.1", port))
    sock.listen()
    sock.setblocking(False)
    return sock


async def accept(sock: socket.socket, _: trio.Nursery) -> None:
    while True:
        await trio.lowlevel.wait_readable(sock)
        with suppress(BlockingIOError):
            sock.accept()[0].close()


def answers(port: int) -> int:
    """0, or the error that whoever connects gets."""
    with socket.socket() as sock:
        return sock.connect_ex(("127.0.0.1", port))


@asynccontextmanager
async def running(*sockets: socket.socket) -> AsyncIterator[Entrance]:
    entrance = Entrance()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(entrance.run, sockets, accept)
        await trio.testing.wait_all_tasks_blocked()
        yield entrance
        nursery.cancel_scope.cancel()
    for sock in sockets:
        sock.close()


@pytest.mark.parametrize("is_chosen", [True, False], ids=["the system's port", "a port"])
async def test_shut_and_opened(is_chosen: bool) -> None:
    sock = listening()
    port = sock.getsockname()[1]
    if not is_chosen:
        sock.close()
        sock = listening(port)
    async with running(sock) as entrance:
        for _ in range(2):
            assert answers(port) == 0
            entrance.shut(trio.sleep_forever)
            assert entrance.is_shut
            assert answers(port) == errno.ECONNREFUSED
            with socket.socket() as other, pytest.raises(OSError, match="in use"):
                other.bind(("127.0.0.1", port))
            await entrance.reopen()
            assert not entrance.is_shut
        assert answers(port) == 0
        await entrance.reopen()


async def test_until() -> None:
    async with running(listening()) as entrance:
        first, second = trio.Event(), trio.Event()
        entrance.shut(first.wait)
        await trio.testing.wait_all_tasks_blocked()
        # What is said last counts.
        entrance.shut(second.wait)
        first.set()
        await trio.testing.wait_all_tasks_blocked()
        assert entrance.is_shut
        second.set()
        await trio.testing.wait_all_tasks_blocked()
        assert not entrance.is_shut


async def test_a_port_that_somebody_else_has_meanwhile() -> None:
    sock = listening()
    port = sock.getsockname()[1]
    async with running(sock) as entrance:
        entrance.shut(trio.sleep_forever)
        other = listening(port)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(entrance.reopen)
            await trio.testing.wait_all_tasks_blocked()
            assert entrance.is_shut
            other.close()
        await until_in_trio(lambda: not entrance.is_shut)
        assert answers(port) == 0
