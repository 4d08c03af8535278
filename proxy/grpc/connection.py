"""One client's connection: its streams become calls, each in a task of its own, and their answers leave together."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final

import trio

from trimq.proxy.grpc import frames
from trimq.proxy.grpc.caller import Caller, caller_of
from trimq.proxy.grpc.methods import Gone, Message, Method
from trimq.proxy.grpc.statuses import GrpcError, GrpcStatus, encoded
from trimq.proxy.http2.connection import BadPeer, Fields, Http2Connection
from trimq.proxy.http2.events import Began, Data, Ended, Event, Leaving, Reset, Room
from trimq.remoting.wire.streams import Wire

log = logging.getLogger("trimq.proxy")

_HEAD: Final[Fields] = [
    (b":status", b"200"),
    (b"content-type", b"application/grpc"),
    (b"grpc-encoding", b"identity"),
    (b"grpc-accept-encoding", b"gzip"),
]
_OK: Final[Fields] = [(b"grpc-status", b"0")]
# Messages of a talk that wait for whoever reads them.
_WAITING: Final = 64


class GrpcConnection:
    """`most`: bytes of a message."""

    def __init__(
        self,
        wire: Wire,
        methods: Mapping[str, Method],
        remote_addr: str,
        local_addr: str,
        most: int = 130 * 1024 * 1024,
    ) -> None:
        self.remote_addr = remote_addr
        self._wire = wire
        self._methods = methods
        self._local_addr = local_addr
        self._most = most
        self._http = Http2Connection()
        self._calls: dict[int, _Call] = {}
        self._wake = trio.Event()
        self._nursery: trio.Nursery | None = None

    async def run(self) -> None:
        """Until one of both ends leaves."""
        try:
            async with trio.open_nursery() as nursery:
                self._nursery = nursery
                nursery.start_soon(self._send)
                try:
                    await self._receive()
                finally:
                    nursery.cancel_scope.cancel()
        finally:
            with trio.CancelScope(shield=True, deadline=trio.current_time() + 1):
                await self._wire.aclose()

    @property
    def http(self) -> Http2Connection:
        return self._http

    def flush(self) -> None:
        """What was said since the last time leaves soon."""
        self._wake.set()

    async def _receive(self) -> None:
        while True:
            try:
                data = await self._wire.receive()
            except (OSError, trio.BrokenResourceError, trio.ClosedResourceError):
                return
            if not data:
                return
            try:
                events = self._http.receive(data)
            except BadPeer as error:
                log.warning("connection ended: peer=%s reason=%s", self.remote_addr, error)
                await self._last_words()
                return
            for event in events:
                self._happened(event)
            self.flush()

    async def _last_words(self) -> None:
        data = self._http.outgoing()
        with trio.move_on_after(1):
            try:
                while data:
                    sent = await self._wire.send(deque([data]))
                    data = data[sent:]
            except (OSError, trio.BrokenResourceError, trio.ClosedResourceError):
                return

    async def _send(self) -> None:
        waiting: deque[Any] = deque()
        while True:
            await self._wake.wait()
            self._wake = trio.Event()
            data = self._http.outgoing()
            if not data:
                continue
            waiting.append(data)
            try:
                while waiting:
                    await self._wire.send(waiting)
            except (OSError, trio.BrokenResourceError, trio.ClosedResourceError):
                if self._nursery is not None:
                    self._nursery.cancel_scope.cancel()
                return

    def _happened(self, event: Event) -> None:
        match event:
            case Data():
                call = self._calls.get(event.stream)
                if call is not None:
                    call.data(event.data)
                # A stream that is refused already does not hold up the others.
                self._http.consumed(event.stream, event.size)
            case Began():
                self._began(event)
            case Ended():
                if (call := self._calls.get(event.stream)) is not None:
                    call.ended()
            case Reset():
                if (call := self._calls.pop(event.stream, None)) is not None:
                    call.cancel()
            case Room():
                calls = self._calls
                for call in (
                    list(calls.values())
                    if event.stream == 0
                    else [calls[event.stream]]
                    if event.stream in calls
                    else []
                ):
                    call.room.set()
            case Leaving():
                pass

    def _began(self, event: Began) -> None:
        path = event.fields.get(b":path", b"").decode("latin-1")
        method = self._methods.get(path)
        if method is None:
            self._refuse(event.stream, GrpcStatus.UNIMPLEMENTED, f"Method not found: {path[1:]}")
            return
        caller = caller_of(event.fields, self.remote_addr, self._local_addr)
        call = _Call(self, event.stream, method, caller)
        self._calls[event.stream] = call
        if method.talk is not None:
            self.start(call)

    def _refuse(self, stream: int, status: GrpcStatus, text: str) -> None:
        fields: Fields = [
            (b":status", b"200"),
            (b"content-type", b"application/grpc"),
            (b"grpc-status", b"%d" % status),
            (b"grpc-message", encoded(text)),
        ]
        self._http.send_head(stream, fields, ended=True)
        self._calls.pop(stream, None)
        self.flush()

    def start(self, call: _Call) -> None:
        if self._nursery is not None:
            self._nursery.start_soon(call.run)

    def over(self, call: _Call) -> None:
        self._calls.pop(call.stream, None)

    @property
    def most(self) -> int:
        return self._most


class _Call:
    """One stream."""

    def __init__(self, owner: GrpcConnection, stream: int, method: Method, caller: Caller) -> None:
        self.stream = stream
        self.room = trio.Event()
        self._owner = owner
        self._method = method
        self._caller = caller
        self._messages = frames.Messages(owner.most, caller.field("grpc-encoding") or "identity")
        self._request: bytes | None = None
        self._scope = trio.CancelScope(deadline=caller.deadline)
        self._is_cancelled = False
        self._has_head = False
        self._into: trio.MemorySendChannel[bytes]
        self._from: trio.MemoryReceiveChannel[bytes]
        self._into, self._from = trio.open_memory_channel[bytes](_WAITING if method.talk else 0)

    def data(self, data: bytes) -> None:
        try:
            for message in self._messages.feed(data):
                if self._method.talk is not None:
                    self._into.send_nowait(message)
                elif self._request is None:
                    self._request = message
                else:
                    raise GrpcError(GrpcStatus.INTERNAL, "Too many requests")
        except GrpcError as error:
            self._fail(error)
            return
        except trio.WouldBlock:
            self._fail(
                GrpcError(GrpcStatus.RESOURCE_EXHAUSTED, "messages come faster than they are read")
            )
            return

    def ended(self) -> None:
        if self._method.talk is not None:
            self._into.close()
        elif self._request is None:
            self._fail(GrpcError(GrpcStatus.INTERNAL, "Half-closed without a request"))
        else:
            self._owner.start(self)

    def cancel(self) -> None:
        self._is_cancelled = True
        self.room.set()
        self._scope.cancel()

    def _fail(self, error: GrpcError) -> None:
        self._finish(error.status, error.text)
        self.cancel()

    async def run(self) -> None:
        try:
            with self._scope:
                await self._answer()
                self._finish(GrpcStatus.OK)
        except GrpcError as error:
            self._finish(error.status, error.text)
        except Gone:
            pass
        except Exception as error:
            # A bug, or something unforeseen: it concerns this call and no other.
            log.exception("call failed: peer=%s", self._caller.remote_addr)
            self._finish(GrpcStatus.INTERNAL, str(error))
        finally:
            if self._scope.cancelled_caught and not self._is_cancelled:
                self._finish(GrpcStatus.DEADLINE_EXCEEDED, "the deadline has passed")
            self._owner.over(self)

    async def _answer(self) -> None:
        method = self._method
        if method.talk is not None:
            await method.talk(self._caller, self._incoming(method), self)
            return
        request = self._read(method, self._request or b"")
        self._request = b""
        if method.unary is not None:
            await self.send(await method.unary(self._caller, request))
        elif method.answers is not None:
            await method.answers(self._caller, request, self)

    async def _incoming(self, method: Method) -> AsyncIterator[Any]:
        async for data in self._from:
            yield self._read(method, data)

    @staticmethod
    def _read(method: Method, data: bytes) -> Any:
        try:
            return method.request(data)
        except Exception as error:
            # protobuf's DecodeError, which this layer does not know.
            raise GrpcError(GrpcStatus.INTERNAL, "Invalid protobuf byte sequence") from error

    async def send(self, message: Message) -> None:
        """A message of the answer. Gone when nobody will read it."""
        body = frames.frame(message.SerializeToString())
        http, at = self._owner.http, 0
        if not self._has_head:
            self._has_head = True
            http.send_head(self.stream, _HEAD)
        while at < len(body):
            if self._is_cancelled:
                raise Gone
            self.room = trio.Event()
            piece = body[at : at + http.room(self.stream)]
            if piece:
                http.send_data(self.stream, piece)
                at += len(piece)
                continue
            self._owner.flush()
            await self.room.wait()
        self._owner.flush()

    def _finish(self, status: GrpcStatus, text: str = "") -> None:
        if self._is_cancelled:
            return
        fields = _OK if status is GrpcStatus.OK else [(b"grpc-status", b"%d" % status)]
        if text:
            fields = [*fields, (b"grpc-message", encoded(text))]
        if not self._has_head:
            fields = [(b":status", b"200"), (b"content-type", b"application/grpc"), *fields]
            self._has_head = True
        self._owner.http.send_head(self.stream, fields, ended=True)
        self._owner.flush()
