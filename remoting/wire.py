"""How bytes get in and out: straight on a non-blocking socket, or through a Trio stream.

A plain socket is tried at once and waited for only when that would block: Trio's SocketStream does
the same work through several more calls a message. Streams are for TLS and for tests.
"""

import socket
from collections import deque
from itertools import islice
from typing import Final

import trio

from remoting.peer import Buffer

# How many buffers one sendmsg takes (IOV_MAX of Linux; POSIX promises only 16, everybody has 1024).
_IOV_MAX: Final = 1024

_RECEIVE: Final = 64 * 1024
_RECEIVE_MOST: Final = 512 * 1024

# How many receives in a row may go without giving other tasks a turn.
_IN_A_ROW: Final = 2

# What a stream, which takes one buffer at a time, gets joined into one piece.
_STREAM_CHUNK: Final = 256 * 1024


class Wire:
    """Both directions of one connection; one task receives, one sends."""

    __slots__ = ()

    async def receive(self) -> bytes:
        """The next bytes; empty at the end."""
        raise NotImplementedError

    def send_now(self, buffers: deque[Buffer]) -> int:
        """Send and remove what goes without waiting; how many bytes went."""
        raise NotImplementedError

    async def send(self, buffers: deque[Buffer]) -> int:
        """Wait, then send and remove something; how many bytes went."""
        raise NotImplementedError

    async def aclose(self) -> None:
        raise NotImplementedError


class SocketWire(Wire):
    """A connected TCP socket."""

    __slots__ = ("_in_a_row", "_size", "_socket")

    def __init__(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        self._socket = sock
        self._size = _RECEIVE
        self._in_a_row = 0

    async def receive(self) -> bytes:
        # A pipelining peer has sent more meanwhile: take it without a round through the event loop,
        # but not for ever, the others want their turn too.
        if 0 < self._in_a_row < _IN_A_ROW:
            self._in_a_row += 1
            try:
                return self._received(self._socket.recv(self._size))
            except BlockingIOError:
                self._in_a_row = 0
        while True:
            await trio.lowlevel.wait_readable(self._socket)
            try:
                return self._received(self._socket.recv(self._size))
            except BlockingIOError:
                continue

    def _received(self, data: bytes) -> bytes:
        if len(data) == self._size and self._size < _RECEIVE_MOST:
            self._size *= 2
        elif len(data) < _RECEIVE:
            self._size = _RECEIVE
        return data

    def send_now(self, buffers: deque[Buffer]) -> int:
        total = 0
        while buffers:
            count = min(len(buffers), _IOV_MAX)
            try:
                if count == 1:
                    sent = self._socket.send(buffers[0])
                else:
                    sent = self._socket.sendmsg(list(islice(buffers, count)))
            except BlockingIOError:
                break
            total += sent
            if not _remove(buffers, sent, count):
                break
        return total

    async def send(self, buffers: deque[Buffer]) -> int:
        await trio.lowlevel.wait_writable(self._socket)
        return self.send_now(buffers)

    async def aclose(self) -> None:
        trio.lowlevel.notify_closing(self._socket)
        self._socket.close()


def _remove(buffers: deque[Buffer], sent: int, count: int) -> bool:
    """Take `sent` bytes off the first `count` buffers; whether these are all gone."""
    for _ in range(count):
        first = buffers[0]
        size = first.nbytes if isinstance(first, memoryview) else len(first)
        if size > sent:
            buffers[0] = memoryview(first).cast("B")[sent:]
            return False
        sent -= size
        buffers.popleft()
    return True


class StreamWire(Wire):
    """Any Trio stream: TLS over a socket, memory streams in tests."""

    __slots__ = ("_stream",)

    def __init__(self, stream: trio.abc.Stream) -> None:
        self._stream = stream

    async def receive(self) -> bytes:
        return bytes(await self._stream.receive_some())

    def send_now(self, buffers: deque[Buffer]) -> int:
        """A stream always has to be waited for."""
        return 0

    async def send(self, buffers: deque[Buffer]) -> int:
        parts: list[Buffer] = []
        size = 0
        while buffers and size < _STREAM_CHUNK:
            part = buffers.popleft()
            parts.append(part)
            size += part.nbytes if isinstance(part, memoryview) else len(part)
        await self._stream.send_all(b"".join(parts))
        return size

    async def aclose(self) -> None:
        await trio.aclose_forcefully(self._stream)


def address_of(sock: socket.socket) -> str:
    """The other end as "ip:port", an IPv6 address in brackets."""
    host, port = sock.getpeername()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
