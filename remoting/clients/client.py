"""A Trio client: one connection to a server, requests matched by opaque.

Reconnecting is left to callers, who know what has to be sent again.
"""

import socket
import ssl
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager

import trio

from trimq.codec.frames.command import JSON, RemotingCommand
from trimq.codec.headers.base import Header
from trimq.codec.records.addresses import pack_host
from trimq.remoting.errors import RemotingConnectError, RemotingTimeout, reason_of
from trimq.remoting.limits import Limits
from trimq.remoting.peer import Body
from trimq.remoting.serving.connection import Connection
from trimq.remoting.serving.dispatch import AnyProcessor, Dispatcher
from trimq.remoting.serving.request_log import RequestLog
from trimq.remoting.serving.shared import Shared
from trimq.remoting.tls.contexts import TlsContext
from trimq.remoting.wire.handshake import client_wire, context_of
from trimq.remoting.wire.streams import SocketWire, Wire, address_of

Tls = ssl.SSLContext | TlsContext


class Client:
    """Any number of tasks may ask at a time. Get one with `async with Client.connect(...)`."""

    __slots__ = ("_connection", "addr")

    def __init__(self, addr: str, connection: Connection) -> None:
        self.addr = addr
        self._connection = connection

    @classmethod
    @asynccontextmanager
    async def connect(
        cls,
        addr: str,
        tls: Tls | None = None,
        *,
        processors: Sequence[AnyProcessor] = (),
        limits: Limits | None = None,
        coding: int = JSON,
        timeout: float = 3,
        extra_fields: Mapping[str, str] | None = None,
        on_closed: Callable[[], object] | None = None,
    ) -> AsyncIterator["Client"]:
        """Connect to "host:port"; `processors` answer the server's own requests. Times in seconds.

        `extra_fields` go with every request, in addition to the fields of its header; `on_closed` is called
        when the connection has ended, whoever ended it.
        """
        wire, remote_addr = await _open(addr, tls, timeout)
        async with cls.over(
            wire,
            remote_addr,
            addr=addr,
            processors=processors,
            limits=limits,
            coding=coding,
            on_closed=on_closed,
        ) as client:
            client._connection.add_to_requests(dict(extra_fields or {}))
            yield client

    @classmethod
    @asynccontextmanager
    async def over(
        cls,
        wire: Wire,
        remote_addr: str,
        *,
        addr: str | None = None,
        processors: Sequence[AnyProcessor] = (),
        limits: Limits | None = None,
        coding: int = JSON,
        on_closed: Callable[[], object] | None = None,
    ) -> AsyncIterator["Client"]:
        """A client over an existing wire."""
        shared = Shared(
            Dispatcher(processors, request_log=RequestLog("client")),
            limits or Limits(),
            coding=coding,
        )
        connection = Connection(wire, shared, remote_addr, pack_host(remote_addr))
        failure: Exception | None = None
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_run, connection, on_closed)
            try:
                yield cls(addr or remote_addr, connection)
            except Exception as error:
                # Raised again outside the nursery, which would wrap it into a group.
                failure = error
            connection.finish("closed by us")
        if failure is not None:
            raise failure

    @property
    def closed(self) -> bool:
        """Whether the connection has ended; it does not come back."""
        return self._connection.closed

    def close(self, reason: str) -> None:
        """At once; who waits for an answer gets PeerGone."""
        self._connection.close(reason)

    async def request(
        self,
        code: int,
        header: Header | None = None,
        body: Body = b"",
        timeout: float = 3,
        late: Callable[[RemotingCommand], None] | None = None,
    ) -> RemotingCommand:
        """Ask and wait for the answer, whatever its code; RemotingTimeout or PeerGone if none.

        `late` gets an answer that comes when nobody waits for it any more: after the timeout, or after whoever
        asked was cancelled.
        """
        try:
            return await self._connection.ask(code, header, body, timeout, late)
        except trio.TooSlowError:
            raise RemotingTimeout(
                f"{self.addr} did not answer request code {int(code)} within {timeout} s"
            ) from None

    def oneway(self, code: int, header: Header | None = None, body: Body = b"") -> None:
        """Send a request that gets no answer."""
        self._connection.oneway(code, header, body)


async def _run(connection: Connection, on_closed: Callable[[], object] | None) -> None:
    try:
        await connection.run()
    finally:
        if on_closed is not None:
            on_closed()


async def _open(addr: str, tls: Tls | None, seconds: float) -> tuple[Wire, str]:
    host, _, port = addr.rpartition(":")
    host = host.strip("[]")
    try:
        with trio.fail_after(seconds):
            stream = await trio.open_tcp_stream(host, int(port))
            return await _wire(socket.socket(fileno=stream.socket.detach()), tls, host)
    except trio.TooSlowError:
        raise RemotingConnectError(f"no connection to {addr} within {seconds} s") from None
    except (OSError, ValueError, trio.BrokenResourceError) as error:
        reason = reason_of(error.__cause__ or error)
        raise RemotingConnectError(f"no connection to {addr}: {reason}") from error


async def _wire(sock: socket.socket, tls: Tls | None, host: str) -> tuple[Wire, str]:
    try:
        remote_addr = address_of(sock)
        wire = (
            SocketWire(sock)
            if tls is None
            else await client_wire(sock, await context_of(tls), host)
        )
    except BaseException:
        sock.close()
        raise
    return wire, remote_addr
