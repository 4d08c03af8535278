"""TLS beside plain text on one port: a connection's first byte tells which (TlsModeHandler)."""

import socket
import ssl
from typing import Final

import trio

from trimq.remoting.tls import TlsMode, TlsRefused
from trimq.remoting.wire import SocketWire, StreamWire, Wire

# A TLS record that carries a handshake message.
_HANDSHAKE: Final = 0x16


async def first_byte(sock: socket.socket) -> int | None:
    """The first byte that comes, left where it is; None at the end of the stream."""
    while True:
        await trio.lowlevel.wait_readable(sock)
        try:
            data = sock.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            continue
        return data[0] if data else None


async def server_wire(
    sock: socket.socket, first: int, context: ssl.SSLContext | None, mode: TlsMode
) -> Wire:
    """Plain or TLS, as the client began and the mode allows; a TLS handshake is done here."""
    if first != _HANDSHAKE:
        if mode is TlsMode.ENFORCING:
            raise TlsRefused("plain text, but tls.server.mode is enforcing")
        return SocketWire(sock)
    if mode is TlsMode.DISABLED:
        raise TlsRefused("a TLS handshake, but tls.server.mode is disabled")
    if context is None:
        raise TlsRefused("a TLS handshake, but no certificate is configured (tls.server.certPath)")
    return await _secured(sock, context, server_side=True)


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
        # RocketMQ's peers close the socket without TLS's own goodbye.
        https_compatible=True,
    )
    await stream.do_handshake()
    return StreamWire(stream)
