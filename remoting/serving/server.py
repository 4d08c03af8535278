"""The server: listening sockets, their connections, idle ones closed, an orderly shutdown."""

import errno
import logging
import socket
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from math import inf
from typing import Final

import trio

from trimq.codec.records.addresses import pack_host
from trimq.remoting.contract import ConnectionListener
from trimq.remoting.counters import RemotingCounters
from trimq.remoting.gate import Awaited
from trimq.remoting.limits import Limits
from trimq.remoting.resources import Resources
from trimq.remoting.serving.admission import ConnectionAdmission
from trimq.remoting.serving.connection import Connection
from trimq.remoting.serving.dispatch import Dispatcher
from trimq.remoting.serving.entrance import Entrance
from trimq.remoting.serving.shared import Shared
from trimq.remoting.tls.contexts import TlsRefused
from trimq.remoting.wire.file_sender import FileSender
from trimq.remoting.wire.handshake import ServerTls, first_byte
from trimq.remoting.wire.poller import AVAILABLE, Poller
from trimq.remoting.wire.proxy_protocol import (
    FIRST_BYTES,
    Networks,
    PreambleError,
    is_in,
    read_preamble,
)
from trimq.remoting.wire.streams import Wire, address_of, bound_of

log = logging.getLogger("trimq.remoting")

# accept() failed because something ran out; trying again at once would only waste processor time.
_EXHAUSTED: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
_EXHAUSTED_PAUSE: Final = 0.1
# Hundreds that connect at once must not keep others waiting: a connection costs as much as ten sends, and between two
# rounds of the loop each sender that waits for its answer gets one send in.
_ACCEPT_IN_A_ROW: Final = 2
_SWEEPS_PER_IDLE_TIME: Final = 24
_LONGEST_PAUSE: Final = 5
_SUM_SECONDS: Final = 60


class Server:
    """Serves one dispatcher on any number of listening sockets."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        *,
        listener: ConnectionListener | None = None,
        tls: ServerTls | None = None,
        gates: tuple[Awaited, ...] = (),
        limits: Limits | None = None,
        balancers: Networks = (),
        admission: ConnectionAdmission | None = None,
        resources: Resources | None = None,
    ) -> None:
        """`gates`: what replies with `durable_at` wait for.

        `balancers` are trusted when they say whose connection they forward.

        `admission` is for servers that count their connections together, `resources` for all of a process.
        """
        self._limits = Limits() if limits is None else limits
        self._shared = Shared(dispatcher, self._limits, gates, listener, resources=resources)
        self._tls = ServerTls() if tls is None else tls
        self._balancers = balancers
        self._connections: set[Connection] = set()
        self.door = admission or ConnectionAdmission(self._limits, dispatcher.counters, balancers)
        # Since the last line about them.
        self._opened = self._closed = 0
        self._entrance = Entrance()

    @property
    def counters(self) -> RemotingCounters:
        return self._shared.counters

    @property
    def connections(self) -> frozenset[Connection]:
        """The connections open now."""
        return frozenset(self._connections)

    @property
    def is_shut(self) -> bool:
        return self._entrance.is_shut

    def shut(self, until: Callable[[], Awaitable[object]] = trio.sleep_forever) -> None:
        """Who connects is refused, as if nothing listened there, and who is connected is cut off.

        That ends with `until`, or with `reopen`.
        """
        self._entrance.shut(until)
        for connection in tuple(self._connections):
            connection.close("shut")

    async def reopen(self) -> None:
        """Returns when clients can connect."""
        await self._entrance.reopen()

    @property
    def poller(self) -> Poller | None:
        """Tells its connections what they can read, while it serves; None where there is none."""
        return self._shared.poller

    async def serve(
        self,
        sockets: Sequence[socket.socket],
        task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
    ) -> None:
        """Serve until cancelled; then accept no more, get the last replies out, and close."""
        stopping = trio.Event()
        poller = Poller(self._shared.round.end) if AVAILABLE else None
        self._shared.poller = poller
        lane = self._shared.lane = FileSender() if FileSender.available else None
        try:
            await self._serve(sockets, stopping, poller, task_status)
        finally:
            self._shared.poller = None
            self._shared.lane = None
            if lane is not None:
                lane.close()
            if poller is not None:
                poller.close()

    async def _serve(
        self,
        sockets: Sequence[socket.socket],
        stopping: trio.Event,
        poller: Poller | None,
        task_status: trio.TaskStatus[None],
    ) -> None:
        name = self._shared.listener_name
        async with trio.open_nursery() as outer:
            # Connections live in a task that cancellation does not reach: they end in order.
            connections: trio.Nursery = await outer.start(self._keep, stopping)
            try:
                async with trio.open_nursery() as listeners:
                    for sock in sockets:
                        sock.setblocking(False)
                        log.info("listening: on=%s address=%s", name, bound_of(sock))
                    accept = partial(self._accept, connections)
                    listeners.start_soon(self._entrance.run, sockets, accept)
                    listeners.start_soon(self._sweep)
                    listeners.start_soon(self._sum_up)
                    if poller is not None:
                        listeners.start_soon(poller.run)
                    task_status.started()
            finally:
                for sock in sockets:
                    trio.lowlevel.notify_closing(sock)
                    sock.close()
                stopping.set()

    async def serve_wire(self, wire: Wire, remote_addr: str) -> None:
        """Serve one connection over an existing wire."""
        await self._run(Connection(wire, self._shared, remote_addr, pack_host(remote_addr)))

    async def _keep(self, stopping: trio.Event, task_status: trio.TaskStatus[trio.Nursery]) -> None:
        with trio.CancelScope(shield=True):
            async with trio.open_nursery() as nursery:
                task_status.started(nursery)
                await stopping.wait()
                for connection in tuple(self._connections):
                    connection.finish("server shutdown")

    async def _accept(
        self, connections: trio.Nursery, sock: socket.socket, listeners: trio.Nursery
    ) -> None:
        while True:
            await trio.lowlevel.wait_readable(sock)
            try:
                for _ in range(_ACCEPT_IN_A_ROW):
                    accepted, address = sock.accept()
                    if self.door.admit(address[0], trio.current_time()):
                        listeners.start_soon(self._greet, accepted, address[0], connections)
                    else:
                        accepted.close()
            except BlockingIOError:
                continue
            except OSError as error:
                if error.errno in _EXHAUSTED:
                    log.error(
                        "accept failed, trying again: on=%s reason=%s",
                        self._shared.listener_name,
                        error,
                    )
                    await trio.sleep(_EXHAUSTED_PAUSE)
                else:
                    # An error of the connection that was to be accepted, and nothing more.
                    log.debug("accept failed: on=%s reason=%s", self._shared.listener_name, error)

    async def _greet(self, sock: socket.socket, host: str, connections: trio.Nursery) -> None:
        """Find out who connects and how (plain or TLS), then serve."""
        wire: Wire | None = None
        remote_addr = socket_addr = "unknown"
        try:
            sock.setblocking(False)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            remote_addr = socket_addr = address_of(sock)
            silent_seconds = self._limits.first_byte_seconds or self._limits.idle_seconds
            with trio.move_on_after(silent_seconds) as silence:
                first = await first_byte(sock)
                if first is not None and first in FIRST_BYTES:
                    remote_addr = await self._forwarded(sock, first, socket_addr)
                    first = await first_byte(sock)
                silence.deadline = inf
                if first is not None:
                    with trio.move_on_after(self._limits.handshake_seconds):
                        wire = await self._tls.wire(sock, first)
        except (TlsRefused, PreambleError) as error:
            log.warning("connection refused peer=%s reason=%s", remote_addr, error)
            self._shared.counters.refused += 1
        except (OSError, trio.BrokenResourceError) as error:
            log.warning(
                "connection failed peer=%s reason=%s", remote_addr, error.__cause__ or error
            )
            self._shared.counters.errors += 1
        except Exception:
            # A bug, or something unforeseen: it concerns this connection and no other.
            log.exception("connection failed peer=%s", remote_addr)
            self._shared.counters.errors += 1
        else:
            if silence.cancelled_caught and self._limits.first_byte_seconds:
                self._shared.counters.limits["firstByteSeconds"] += 1
                log.debug("connection closed: it sent nothing peer=%s", remote_addr)
        finally:
            if wire is None:
                self.door.left(host)
                trio.lowlevel.notify_closing(sock)
                sock.close()
        if wire is not None:
            # As in RocketMQ, a record's born host is the socket's address, whatever a load balancer
            # says.
            peer = Connection(wire, self._shared, remote_addr, pack_host(socket_addr))
            self._connections.add(peer)
            connections.start_soon(self._run, peer, host)

    async def _forwarded(self, sock: socket.socket, first: int, balancer: str) -> str:
        """The client's address according to the load balancer; its own address when it does not say."""
        if not is_in(balancer, self._balancers):
            raise PreambleError("a PROXY preamble, but proxyProtocolFrom does not name the sender")
        with trio.move_on_after(self._limits.handshake_seconds):
            return await read_preamble(sock, first) or balancer
        raise PreambleError("a PROXY preamble that does not end")

    async def _run(self, connection: Connection, host: str | None = None) -> None:
        self._connections.add(connection)
        self._opened += 1
        try:
            await connection.run()
        except Exception:
            # A bug, but one connection's: the others are still served.
            self._shared.counters.errors += 1
            log.exception("connection failed peer=%s", connection.remote_addr)
        finally:
            self._connections.discard(connection)
            self._closed += 1
            if host is not None:
                self.door.left(host)

    async def _sum_up(self) -> None:
        """Each connection is a line at debug; at info, one a minute for all that came and went."""
        while True:
            await trio.sleep(_SUM_SECONDS)
            if self._opened or self._closed:
                log.info(
                    "connections within a minute: on=%s opened=%d closed=%d open=%d",
                    self._shared.listener_name,
                    self._opened,
                    self._closed,
                    len(self._connections),
                )
                self._opened = self._closed = 0

    async def _sweep(self) -> None:
        """One look at all connections every few seconds costs less than a time-out per receive."""
        while True:
            pause = self._limits.idle_seconds / _SWEEPS_PER_IDLE_TIME
            await trio.sleep(min(pause, _LONGEST_PAUSE))
            self._close_idle(trio.current_time())

    def _close_idle(self, now: float) -> None:
        # Not in the loop above: its variable would keep the last connection alive.
        for connection in tuple(self._connections):
            if connection.is_leaving:
                # Closing one takes longer than a busy machine's pause between two looks.
                continue
            if connection.sweep(now):
                self._shared.counters.closed_idle += 1
                connection.close("idle")
            elif connection.owes_too_long(now):
                self._shared.counters.limits["maxFrameSeconds"] += 1
                connection.close("a frame that has begun did not end in time: maxFrameSeconds")
