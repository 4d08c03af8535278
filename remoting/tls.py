"""TLS beside plain text on one port: a connection's first byte tells which (TlsModeHandler)."""

import socket
import ssl
from enum import StrEnum
from typing import Final

import trio

from remoting.wire import SocketWire, StreamWire, Wire

# A TLS record that carries a handshake message.
_HANDSHAKE: Final = 0x16


class TlsMode(StrEnum):
    """`tls.server.mode`: may clients use TLS, must they?"""

    DISABLED = "disabled"
    PERMISSIVE = "permissive"
    ENFORCING = "enforcing"


class TlsRefused(Exception):
    """The client's way of talking is not the one this server is configured for."""


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


def client_context(trusted: str | None = None) -> ssl.SSLContext:
    """The Java client's default: encrypt, trust any certificate; with a CA file, verify."""
    context = ssl.create_default_context(cafile=trusted)
    if trusted is None:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


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
