"""TLS beside plain text on one port: a connection's first byte tells which (TlsModeHandler)."""

import socket
import ssl
from contextlib import suppress
from typing import Final

import trio

from trimq.remoting.tls.contexts import TlsContext, TlsFilesError, TlsMode, TlsRefused
from trimq.remoting.wire.streams import SocketWire, StreamWire, Wire

# A TLS record that carries a handshake message.
_HANDSHAKE: Final = 0x16


async def first_byte(sock: socket.socket) -> int | None:
    """The first byte that comes, without consuming it; None at the end of the stream."""
    while True:
        await trio.lowlevel.wait_readable(sock)
        try:
            data = sock.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            continue
        return data[0] if data else None


class ServerTls:
    """Whether a server's clients may or must use TLS, and with which certificate."""

    def __init__(
        self, mode: TlsMode = TlsMode.PERMISSIVE, source: TlsContext | None = None
    ) -> None:
        """Without a `source` a TLS hello is refused."""
        self.mode = mode
        self._source = source
        # One thread at a time checks the files, however many clients connect.
        self._limiter = trio.CapacityLimiter(1)

    async def wire(self, sock: socket.socket, first: int) -> Wire:
        """Plain or TLS, depending on how the client began and what the mode allows; a TLS handshake is done here."""
        if first != _HANDSHAKE:
            if self.mode is TlsMode.ENFORCING:
                raise TlsRefused("plain text, but tls.server.mode is enforcing")
            return SocketWire(sock)
        if self.mode is TlsMode.DISABLED:
            raise TlsRefused("a TLS handshake, but tls.server.mode is disabled")
        if self._source is None:
            raise TlsRefused(
                "a TLS handshake, but no certificate is configured (tls.server.certPath)"
            )
        try:
            context = await context_of(self._source, self._limiter)
        except TlsFilesError as error:
            raise TlsRefused(f"a TLS handshake, but {error}") from error
        return await _secured(sock, context, server_side=True)


async def context_of(
    source: ssl.SSLContext | TlsContext, limiter: trio.CapacityLimiter | None = None
) -> ssl.SSLContext:
    """The context to use now; files are read in a worker thread."""
    if isinstance(source, ssl.SSLContext):
        return source
    if (settled := source.settled) is not None:
        return settled
    return await trio.to_thread.run_sync(source.current, limiter=limiter)


async def client_wire(sock: socket.socket, context: ssl.SSLContext, host: str) -> Wire:
    """TLS to a server."""
    return await _secured(sock, context, server_side=False, host=host)


async def _secured(
    sock: socket.socket, context: ssl.SSLContext, *, server_side: bool, host: str | None = None
) -> Wire:
    stream = trio.SSLStream(
        trio.SocketStream(trio.socket.from_stdlib_socket(sock)),
        context,
        server_side=server_side,
        server_hostname=host,
        # RocketMQ's peers close the socket without TLS's close notification.
        https_compatible=True,
    )
    try:
        await stream.do_handshake()
    except trio.BrokenResourceError:
        # Trio's stream does not send the alert that tells the other end why.
        alert = stream._outgoing.read()
        with suppress(OSError):
            sock.send(alert)
        raise
    return StreamWire(stream)
