"""Accepts clients: how each one talks is told by its first byte (PROXY preamble, TLS or plain HTTP/2)."""

from __future__ import annotations

import logging
import socket
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Final

import trio

from trimq.proxy.grpc.bounds import GrpcBounds
from trimq.proxy.grpc.connection import GrpcConnection
from trimq.proxy.grpc.greeting import greeted
from trimq.proxy.grpc.methods import Method
from trimq.proxy.grpc.service import Service
from trimq.remoting.counters import RemotingCounters
from trimq.remoting.limits import Limits
from trimq.remoting.serving.admission import ConnectionAdmission
from trimq.remoting.tls.contexts import TlsRefused
from trimq.remoting.wire.handshake import ServerTls
from trimq.remoting.wire.proxy_protocol import Networks, PreambleError
from trimq.remoting.wire.streams import address_of, bound_of

log = logging.getLogger("trimq.proxy")

_SWEEP_SECONDS: Final = 1.0
_SWEPT_AT_ONCE: Final = 200
_RETRY_SECONDS: Final = 0.1
# So much may wait in the kernel: what comes later must not wait behind megabytes of one answer.
_UNSENT_BYTES: Final = 128 * 1024


class GrpcServer:
    """`balancers`: who may send a PROXY preamble."""

    def __init__(
        self,
        methods: Mapping[str, Method],
        tls: ServerTls,
        balancers: Networks = (),
        bounds: GrpcBounds | None = None,
        counters: RemotingCounters | None = None,
    ) -> None:
        self._service = Service(methods, bounds, counters)
        self._tls = tls
        self._balancers = balancers
        self._connections: set[GrpcConnection] = set()
        bounds = self._service.bounds
        limits = Limits(
            connection_limit=bounds.connections,
            address_limit=bounds.connections_of_address,
            address_rate=bounds.new_of_address,
        )
        self.door = ConnectionAdmission(limits, self._service.counters, balancers)

    @property
    def connections(self) -> frozenset[GrpcConnection]:
        """Those that are open now."""
        return frozenset(self._connections)

    async def serve(
        self,
        sockets: Sequence[socket.socket],
        task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
    ) -> None:
        """Until it is cancelled; the sockets listen already. Then streams under way have a moment to end."""
        stopping = trio.Event()
        async with trio.open_nursery() as outer:
            # Connections live in a task that cancellation does not reach: they end in order.
            connections: trio.Nursery = await outer.start(self._keep, stopping)
            try:
                async with trio.open_nursery() as listeners:
                    listeners.start_soon(self._sweep)
                    for sock in sockets:
                        sock.setblocking(False)
                        log.info("listening: on=%s address=%s", "proxy", bound_of(sock))
                        listeners.start_soon(self._accept, sock, listeners, connections)
                    task_status.started()
            finally:
                for sock in sockets:
                    trio.lowlevel.notify_closing(sock)
                    sock.close()
                stopping.set()

    async def _keep(self, stopping: trio.Event, task_status: trio.TaskStatus[trio.Nursery]) -> None:
        with trio.CancelScope(shield=True):
            async with trio.open_nursery() as nursery:
                task_status.started(nursery)
                await stopping.wait()
                for connection in tuple(self._connections):
                    connection.leave_now()
                nursery.cancel_scope.deadline = (
                    trio.current_time() + self._service.bounds.drain_seconds
                )

    async def _sweep(self) -> None:
        """One look at all connections costs less than a time-out in each."""
        while True:
            await trio.sleep(_SWEEP_SECONDS)
            now = trio.current_time()
            for at, connection in enumerate(self.connections, 1):
                connection.sweep(now)
                if at % _SWEPT_AT_ONCE == 0:
                    await trio.lowlevel.checkpoint()

    async def _accept(
        self, listener: socket.socket, listeners: trio.Nursery, connections: trio.Nursery
    ) -> None:
        while True:
            await trio.lowlevel.wait_readable(listener)
            try:
                sock, address = listener.accept()
            except BlockingIOError:
                continue
            except OSError as error:
                log.warning("accept failed: %s", error)
                await trio.sleep(_RETRY_SECONDS)
                continue
            if self.door.admit(address[0], trio.current_time()):
                listeners.start_soon(self._greet, sock, address[0], connections)
            else:
                sock.close()

    async def _greet(self, sock: socket.socket, host: str, connections: trio.Nursery) -> None:
        """Find out who connects and how (plain or TLS), then serve."""
        connection: GrpcConnection | None = None
        remote_addr = "unknown"
        try:
            sock.setblocking(False)
            _set_up(sock)
            remote_addr, local_addr = address_of(sock), bound_of(sock)
            seconds = self._service.bounds.greeting_seconds
            found = await greeted(sock, remote_addr, self._tls, self._balancers, seconds)
            if found is not None:
                wire, remote_addr = found
                connection = GrpcConnection(wire, self._service, remote_addr, local_addr)
        except (TlsRefused, PreambleError) as error:
            log.warning("connection refused: peer=%s reason=%s", remote_addr, error)
        except (OSError, trio.BrokenResourceError) as error:
            log.info("connection failed: peer=%s reason=%s", remote_addr, error.__cause__ or error)
        except Exception:
            log.exception("connection failed: peer=%s", remote_addr)
        finally:
            if connection is None:
                self.door.left(host)
                trio.lowlevel.notify_closing(sock)
                sock.close()
        if connection is not None:
            self._connections.add(connection)
            connections.start_soon(self._run, connection, host)

    async def _run(self, connection: GrpcConnection, host: str) -> None:
        try:
            await connection.run()
        except Exception:
            # A bug, but one connection's: the others are still served.
            log.exception("connection failed: peer=%s", connection.remote_addr)
        finally:
            self._connections.discard(connection)
            self.door.left(host)


def _set_up(sock: socket.socket) -> None:
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    # Not everywhere.
    with suppress(AttributeError, OSError):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, _UNSENT_BYTES)
