"""How bytes get in and out: straight on a non-blocking socket, or through a Trio stream.

A plain socket is tried at once and waited for only when that would block: Trio's SocketStream does
the same work through several more calls a message. Streams are for TLS and for tests.

Hot: compiled by mypyc when a compiler is there.
"""

import select
import socket
from collections import deque
from contextlib import suppress
from itertools import islice
from typing import ClassVar, Final

import trio

from trimq.remoting.peer import Buffer

# How many buffers one sendmsg takes (IOV_MAX of Linux; POSIX promises only 16, everybody has 1024).
IOV_MAX: Final = 1024

_RECEIVE: Final = 64 * 1024
_RECEIVE_MOST: Final = 512 * 1024

# So many small receives in a row may go without a round through the event loop.
_IN_A_ROW: Final = 4
_SMALL: Final = 4096
# So many receives go without trying first after one that found nothing.
_PAUSE: Final = 8

# What a stream, which takes one buffer at a time, gets joined into one piece.
_STREAM_CHUNK: Final = 256 * 1024
# What TLS keeps for a connection: its state, and a record in each direction.
_OF_TLS: Final = 64 * 1024

# Linux tells of an end that is behind bytes which have not been read.
_HANGUP: Final = getattr(select, "POLLRDHUP", 0)


class Wire:
    """Both directions of one connection; one task receives, one sends.

    `takes_views`: bytes to send are handed to the kernel as they are. TLS looks at them. `kept`: bytes of memory that
    it takes by itself.
    """

    __slots__ = ()
    takes_views: ClassVar[bool] = False
    kept: ClassVar[int] = 0

    async def receive(self) -> bytes:
        """The next bytes; empty at the end."""
        raise NotImplementedError

    def send_now(self, buffers: list[Buffer]) -> int:
        """Send what goes without waiting; how many bytes went, of the first buffers."""
        raise NotImplementedError

    async def send(self, buffers: deque[Buffer]) -> int:
        """Wait, then send and remove something; how many bytes went."""
        raise NotImplementedError

    async def writable(self) -> None:
        """Wait until something can be sent."""
        raise NotImplementedError

    def is_gone(self) -> bool:
        """Whether the other end has closed it, as far as that can be known without reading."""
        return False

    def lend(self) -> socket.socket:
        """The socket, for a thread that sends; it stays open until `back`."""
        raise NotImplementedError

    def back(self) -> None:
        """The thread has the socket no more."""
        raise NotImplementedError

    async def aclose(self) -> None:
        raise NotImplementedError


class SocketWire(Wire):
    """A connected TCP socket."""

    __slots__ = ("_closed", "_in_a_row", "_lent", "_pause", "_size", "_socket")
    takes_views = True

    def __init__(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        self._socket = sock
        self._size = _RECEIVE
        self._in_a_row = 0
        self._pause = 0
        self._lent = False
        self._closed = False

    def fileno(self) -> int:
        """The descriptor, for callers that wait for it in another way."""
        return self._socket.fileno()

    def receive_now(self) -> bytes | None:
        """What is there; None when there is nothing, empty at the end."""
        try:
            data = self._socket.recv(self._size)
        except BlockingIOError:
            return None
        self._adapt(len(data))
        return data

    async def receive(self) -> bytes:
        sock = self._socket
        if self._pause > 0:
            self._pause -= 1
            data = await self._wait()
        elif self._in_a_row < _IN_A_ROW:
            # A busy peer has often sent more meanwhile: that saves the round through the event
            # loop. Not for ever, the others want their turn too.
            self._in_a_row += 1
            try:
                data = sock.recv(self._size)
            except BlockingIOError:
                # One that waits for each answer never has: do not ask it every time.
                self._pause = _PAUSE
                data = await self._wait()
        else:
            data = await self._wait()
        if len(data) > _SMALL:
            self._in_a_row = _IN_A_ROW
        self._adapt(len(data))
        return data

    def _adapt(self, size: int) -> None:
        """Ask for more next time when all that was asked for was there."""
        if size > _SMALL:
            if size == self._size and size < _RECEIVE_MOST:
                self._size *= 2
        elif self._size > _RECEIVE:
            self._size = _RECEIVE

    async def _wait(self) -> bytes:
        while True:
            await trio.lowlevel.wait_readable(self._socket)
            self._in_a_row = 0
            try:
                return self._socket.recv(self._size)
            except BlockingIOError:
                continue

    async def readable(self) -> None:
        """Wait until something can be received."""
        await trio.lowlevel.wait_readable(self._socket)

    def receive_into(self, buffer: memoryview) -> int:
        """How many bytes came; 0 at the end, -1 when there is nothing."""
        try:
            return self._socket.recv_into(buffer)
        except BlockingIOError:
            return -1

    def send_now(self, buffers: list[Buffer]) -> int:
        try:
            if len(buffers) <= IOV_MAX:
                return self._socket.sendmsg(buffers)
            return self._socket.sendmsg(buffers[:IOV_MAX])
        except BlockingIOError:
            return 0

    async def send(self, buffers: deque[Buffer]) -> int:
        await trio.lowlevel.wait_writable(self._socket)
        sent = self.send_now(list(islice(buffers, IOV_MAX)))
        remove(buffers, sent)
        return sent

    async def writable(self) -> None:
        await trio.lowlevel.wait_writable(self._socket)

    def is_gone(self) -> bool:
        return _is_hung_up(self._socket.fileno())

    def lend(self) -> socket.socket:
        self._lent = True
        return self._socket

    def back(self) -> None:
        self._lent = False
        if self._closed:
            self._socket.close()

    async def aclose(self) -> None:
        trio.lowlevel.notify_closing(self._socket)
        self._closed = True
        if not self._lent:
            self._socket.close()
            return
        # The descriptor must not become another file's while a thread uses it; its next call fails.
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)


def remove(buffers: deque[Buffer], sent: int) -> None:
    """Remove this many bytes from the front."""
    while buffers:
        first = buffers[0]
        size = len(first)
        if size > sent:
            if sent:
                buffers[0] = memoryview(first)[sent:]
            return
        sent -= size
        buffers.popleft()


class StreamWire(Wire):
    """Any Trio stream: TLS over a socket, memory streams in tests."""

    __slots__ = ("_stream",)
    kept = _OF_TLS

    def __init__(self, stream: trio.abc.Stream) -> None:
        self._stream = stream

    async def receive(self) -> bytes:
        return bytes(await self._stream.receive_some())

    def send_now(self, buffers: list[Buffer]) -> int:
        """A stream always has to be waited for."""
        return 0

    async def send(self, buffers: deque[Buffer]) -> int:
        parts: list[Buffer] = []
        size = 0
        while buffers and size < _STREAM_CHUNK:
            part = buffers.popleft()
            parts.append(part)
            size += len(part)
        await self._stream.send_all(b"".join(parts))
        return size

    def is_gone(self) -> bool:
        below = getattr(self._stream, "transport_stream", None)
        return isinstance(below, trio.SocketStream) and _is_hung_up(below.socket.fileno())

    async def aclose(self) -> None:
        await trio.aclose_forcefully(self._stream)


def _is_hung_up(fd: int) -> bool:
    """Whether the other end sends no more; False where nothing tells."""
    if not _HANGUP or fd < 0:
        return False
    poll = select.poll()
    poll.register(fd, _HANGUP)
    return bool(poll.poll(0))


def address_of(sock: socket.socket) -> str:
    """The other end as "ip:port", an IPv6 address in brackets."""
    return _text(*sock.getpeername()[:2])


def bound_of(sock: socket.socket) -> str:
    """This end, likewise."""
    return _text(*sock.getsockname()[:2])


def _text(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
