"""How a connection begins: a PROXY preamble from those who may send one, then TLS or plain HTTP/2."""

from __future__ import annotations

import socket
from typing import Final

import trio

from trimq.remoting.wire.handshake import ServerTls, first_byte
from trimq.remoting.wire.proxy_protocol import (
    FIRST_BYTES,
    Networks,
    PreambleError,
    is_in,
    read_preamble,
)
from trimq.remoting.wire.streams import Wire

# HTTP/2 begins with it, and version 1 of the preamble with `PROXY`.
_HTTP2: Final = b"PRI"


async def greeted(
    sock: socket.socket, remote_addr: str, tls: ServerTls, balancers: Networks, seconds: float
) -> tuple[Wire, str] | None:
    """How to talk, and with whom; None: the peer has gone, or has not said so in time.

    TlsRefused, PreambleError, or what the socket raises.
    """
    with trio.move_on_after(seconds):
        first = await first_byte(sock)
        if first is not None and first in FIRST_BYTES and await _is_preamble(sock, first):
            if not is_in(remote_addr, balancers):
                raise PreambleError(
                    "a PROXY preamble, but proxyProtocolFrom does not name the sender"
                )
            remote_addr = await read_preamble(sock, first) or remote_addr
            first = await first_byte(sock)
        if first is None:
            return None
        return await tls.wire(sock, first), remote_addr
    return None


async def _is_preamble(sock: socket.socket, first: int) -> bool:
    """Whether the bytes that wait are not HTTP/2's own beginning."""
    if first != _HTTP2[0]:
        return True
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, len(_HTTP2))
    try:
        await trio.lowlevel.wait_readable(sock)
        # Fewer: the peer sends no more.
        return sock.recv(len(_HTTP2), socket.MSG_PEEK) != _HTTP2
    finally:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, 1)
