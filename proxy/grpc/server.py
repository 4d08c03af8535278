"""Accepts clients: how each one talks is told by its first byte (PROXY preamble, TLS or plain HTTP/2)."""

from __future__ import annotations

import logging
import socket
from collections.abc import Mapping, Sequence
from math import inf

import trio

from trimq.proxy.grpc.connection import GrpcConnection
from trimq.proxy.grpc.methods import Method
from trimq.remoting.tls.contexts import TlsRefused
from trimq.remoting.wire.handshake import ServerTls, first_byte
from trimq.remoting.wire.proxy_protocol import (
    FIRST_BYTES,
    Networks,
    PreambleError,
    is_in,
    read_preamble,
)
from trimq.remoting.wire.streams import Wire, address_of

log = logging.getLogger("trimq.proxy")

_FIRST_BYTE_SECONDS = 30.0
_HANDSHAKE_SECONDS = 10.0


class GrpcServer:
    """`balancers`: who may send a PROXY preamble. `most`: bytes of a message."""

    def __init__(
        self,
        methods: Mapping[str, Method],
        tls: ServerTls,
        balancers: Networks = (),
        most: int = 130 * 1024 * 1024,
    ) -> None:
        self._methods = methods
        self._tls = tls
        self._balancers = balancers
        self._most = most
        self._connections: set[GrpcConnection] = set()

    async def serve(
        self,
        sockets: Sequence[socket.socket],
        task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
    ) -> None:
        """Until it is cancelled; the sockets listen already."""
        async with trio.open_nursery() as nursery:
            for sock in sockets:
                nursery.start_soon(self._accept, trio.socket.from_stdlib_socket(sock), nursery)
            task_status.started()

    async def _accept(self, listener: trio.socket.SocketType, nursery: trio.Nursery) -> None:
        while True:
            try:
                sock, _ = await listener.accept()
            except OSError as error:
                log.warning("accept failed: %s", error)
                await trio.sleep(0.1)
                continue
            nursery.start_soon(self._greet, socket.socket(fileno=sock.detach()))

    async def _greet(self, sock: socket.socket) -> None:
        wire: Wire | None = None
        remote_addr = "unknown"
        try:
            sock.setblocking(False)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            remote_addr, local_addr = address_of(sock), _bound(sock)
            with trio.move_on_after(_FIRST_BYTE_SECONDS) as silence:
                first = await first_byte(sock)
                # HTTP/2 begins with `PRI`, version 1 of the preamble with `PROXY`.
                if first is not None and first in FIRST_BYTES and await _is_preamble(sock):
                    remote_addr = await self._forwarded(sock, first, remote_addr)
                    first = await first_byte(sock)
                silence.deadline = inf
                if first is not None:
                    with trio.move_on_after(_HANDSHAKE_SECONDS):
                        wire = await self._tls.wire(sock, first)
        except (TlsRefused, PreambleError) as error:
            log.warning("connection refused: peer=%s reason=%s", remote_addr, error)
        except (OSError, trio.BrokenResourceError) as error:
            log.info("connection failed: peer=%s reason=%s", remote_addr, error.__cause__ or error)
        finally:
            if wire is None:
                trio.lowlevel.notify_closing(sock)
                sock.close()
        if wire is not None:
            await self._run(
                GrpcConnection(wire, self._methods, remote_addr, local_addr, self._most)
            )

    async def _forwarded(self, sock: socket.socket, first: int, balancer: str) -> str:
        if not is_in(balancer, self._balancers):
            raise PreambleError("a PROXY preamble, but proxyProtocolFrom does not name the sender")
        with trio.move_on_after(_HANDSHAKE_SECONDS):
            return await read_preamble(sock, first) or balancer
        raise PreambleError("a PROXY preamble that does not end")

    async def _run(self, connection: GrpcConnection) -> None:
        self._connections.add(connection)
        try:
            await connection.run()
        except Exception:
            # A bug, but one connection's: the others are still served.
            log.exception("connection failed: peer=%s", connection.remote_addr)
        finally:
            self._connections.discard(connection)


async def _is_preamble(sock: socket.socket) -> bool:
    """Whether the bytes that wait are not HTTP/2's own beginning."""
    while True:
        await trio.lowlevel.wait_readable(sock)
        data = sock.recv(3, socket.MSG_PEEK)
        if not data or not b"PRI".startswith(data[:3]):
            return True
        if len(data) == 3:
            return False
        await trio.sleep(0.01)


def _bound(sock: socket.socket) -> str:
    host, port = sock.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
