"""One client's connection: its streams become calls, each in a task of its own, and their answers leave together.

Hot: compiled by mypyc when a compiler is there.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable

import trio

from trimq.proxy.grpc import answers
from trimq.proxy.grpc.call import Call
from trimq.proxy.grpc.caller import BadTimeout, caller_of
from trimq.proxy.grpc.outbox import Outbox
from trimq.proxy.grpc.requests import ENCODINGS, refusal
from trimq.proxy.grpc.service import Service
from trimq.proxy.grpc.statuses import GrpcStatus
from trimq.proxy.http2.connection import Http2Connection
from trimq.proxy.http2.errors import BadPeer, ErrorCode
from trimq.proxy.http2.events import Began, Data, Ended, Event, Leaving, Reset, Room
from trimq.remoting.wire.streams import Wire, remove

log = logging.getLogger("trimq.proxy")

_BROKEN = (OSError, trio.BrokenResourceError, trio.ClosedResourceError, trio.BusyResourceError)
_LAST_WORDS_SECONDS = 1


class GrpcConnection:
    """`remote_addr`, `local_addr`: HOST:PORT of its two ends."""

    def __init__(self, wire: Wire, service: Service, remote_addr: str, local_addr: str) -> None:
        self.remote_addr = remote_addr
        self.service = service
        self.http = Http2Connection(service.bounds.http2, answers.KNOWN)
        self.share = service.memory.share(self, service.counters)
        self._wire = wire
        self._local_addr = local_addr
        self._calls: dict[int, Call] = {}
        self._wake = trio.Event()
        self.outbox = Outbox(self.http, self.share, service.bounds.outgoing_bytes, self.flush)
        self._scope = trio.CancelScope()
        self._nursery: trio.Nursery | None = None
        self._is_leaving = False
        self._is_asked = False
        # While a send waits: what TLS has begun to send cannot be followed by anything else.
        self._is_stuck = False
        self._has_room = trio.Event()
        now = trio.current_time()
        # When it came, last said something, last took something, and had a stream.
        self._began_at = self._heard_at = self._took_at = self._busy_at = now

    async def run(self) -> None:
        """Until one of both ends leaves."""
        try:
            with self._scope:
                async with trio.open_nursery() as nursery:
                    self._nursery = nursery
                    nursery.start_soon(self._send)
                    await self._receive()
                    self._scope.cancel()
        finally:
            self._nursery = None
            for call in tuple(self._calls.values()):
                call.gone()
            self.share.end()
            with trio.CancelScope(shield=True):
                if not self._is_stuck:
                    with trio.move_on_after(_LAST_WORDS_SECONDS):
                        await self._last_words()
                await self._wire.aclose()

    def flush(self) -> None:
        """What was said since the last time leaves soon."""
        self._wake.set()

    def start(self, task: Callable[[], Awaitable[None]]) -> None:
        if self._nursery is not None:
            self._nursery.start_soon(task)

    def over(self, stream: int) -> None:
        """A call has ended."""
        self._calls.pop(stream, None)
        if not self._calls:
            self._busy_at = trio.current_time()

    def close(self, reason: str, code: ErrorCode = ErrorCode.ENHANCE_YOUR_CALM) -> None:
        """End it now, for a fault of the peer."""
        log.warning("connection ended: peer=%s reason=%s", self.remote_addr, reason)
        self.http.end(code)
        self._scope.cancel()

    def leave(self) -> None:
        """No new streams; those under way go on, and the connection ends with the last of them."""
        if not self._is_leaving:
            self._is_leaving = True
            self.http.leave()
            self.flush()

    def leave_now(self) -> None:
        """As `leave`, for who has been asked before: talks, which have no end of their own, are ended."""
        self.leave()
        self.http.take_no_more()
        for call in tuple(self._calls.values()):
            if call.is_talk:
                call.leave()
        self.flush()

    def sweep(self, now: float) -> None:
        """End what waits in vain; called every few seconds."""
        bounds = self.service.bounds
        if not self.http.is_greeted:
            if now - self._began_at > bounds.greeting_seconds:
                self.close("it does not begin as HTTP/2 does", ErrorCode.PROTOCOL_ERROR)
            return
        late = [call for call in self._calls.values() if call.is_late(now, bounds.request_seconds)]
        for call in late:
            call.give_up()
        if self._calls:
            self._look_for_life(now)
        elif self._is_leaving:
            self.http.take_no_more()
            self.flush()
        elif now - self._busy_at > bounds.idle_seconds:
            self.leave()
        stalled = max(self.outbox.oldest_wait(now), now - self._took_at if self._is_stuck else 0.0)
        if stalled > bounds.stall_seconds:
            self.close("nobody reads the answers")

    def _look_for_life(self, now: float) -> None:
        bounds = self.service.bounds
        silent = now - self._heard_at
        if silent > bounds.silence_seconds + bounds.reply_seconds:
            self.close("there is no sign of life", ErrorCode.NO_ERROR)
        elif silent > bounds.silence_seconds and not self._is_asked:
            self._is_asked = True
            self.http.ping()
            self.flush()

    async def _receive(self) -> None:
        wire, http = self._wire, self.http
        while True:
            try:
                data = await wire.receive()
            except _BROKEN:
                return
            if not data:
                return
            now = self._heard_at = trio.current_time()
            self._is_asked = False
            try:
                is_first = True
                for events in http.receive(data, now):
                    if not is_first:
                        # One that sends much at once does not keep the others waiting.
                        await trio.lowlevel.checkpoint()
                    is_first = False
                    for event in events:
                        self._happened(event, now)
            except BadPeer as error:
                log.warning("connection ended: peer=%s reason=%s", self.remote_addr, error)
                return
            self.flush()
            if self._is_stuck:
                self.outbox.collect(now)
            while self.outbox.is_full:
                self._has_room = trio.Event()
                await self._has_room.wait()

    async def _send(self) -> None:
        outbox, wire = self.outbox, self._wire
        chunks = outbox.chunks
        while True:
            outbox.collect(trio.current_time())
            if not chunks:
                if self._is_leaving and self._is_done():
                    self._scope.cancel()
                await self._wake.wait()
                self._wake = trio.Event()
                continue
            self._took_at = trio.current_time()
            try:
                sent = wire.send_now(list(chunks))
                if sent:
                    remove(chunks, sent)
                else:
                    self._is_stuck = True
                    sent = await wire.send(chunks)
                    self._is_stuck = False
            except _BROKEN:
                self._scope.cancel()
                return
            outbox.size -= sent
            if chunks:
                await trio.lowlevel.checkpoint()
            self._has_room.set()

    def _is_done(self) -> bool:
        """Whether nothing is under way, and nothing more is taken."""
        return not self._calls and self.outbox.is_empty and self.http.takes_no_more

    async def _last_words(self) -> None:
        self.outbox.collect(trio.current_time())
        chunks = self.outbox.chunks
        try:
            while chunks:
                await self._wire.send(chunks)
        except _BROKEN:
            return

    def _happened(self, event: Event, now: float) -> None:
        kind = type(event)
        if kind is Leaving:
            self._is_leaving = True
            self.http.take_no_more()
            return
        stream: int = event.stream  # type: ignore[union-attr]
        if kind is Began:
            self._began(event, now)  # type: ignore[arg-type]
            return
        if kind is Room:
            self.outbox.room(stream)
            return
        call = self._calls.get(stream)
        if call is None:
            if kind is Data:
                # A stream that is refused already does not hold up the others.
                self.http.consumed(stream, event.size)  # type: ignore[union-attr]
        elif kind is Data:
            call.data(event.data, event.size, now)  # type: ignore[union-attr]
        elif kind is Ended:
            call.ended()
        elif kind is Reset:
            call.gone()

    def _began(self, event: Began, now: float) -> None:
        stream, fields = event.stream, event.fields
        refused = refusal(fields)
        if refused is not None:
            self.http.send_head(stream, refused.head())
            self.http.reset(stream, ErrorCode.INTERNAL_ERROR)
            return
        try:
            caller = caller_of(fields, self.remote_addr, self._local_addr, now)
        except BadTimeout:
            self.http.reset(stream, ErrorCode.INTERNAL_ERROR)
            return
        if caller.deadline <= now:
            self.http.reset(stream)
            return
        encoding = caller.field("grpc-encoding")
        path = fields[b":path"].decode("latin-1")
        method = self.service.methods.get(path)
        if encoding and encoding not in ENCODINGS:
            self._refuse(stream, f"Can't find decompressor for {encoding}")
        elif method is None:
            self._refuse(stream, f"Method not found: {path[1:]}")
        else:
            call = self._calls[stream] = Call(self, stream, method, caller, now)
            if method.talk is not None:
                call.start()

    def _refuse(self, stream: int, text: str) -> None:
        fields = answers.trailers(GrpcStatus.UNIMPLEMENTED, text, alone=True)
        self.http.send_head(stream, fields, ended=True)
        # Where the request has not ended, nobody wants the rest.
        self.http.reset(stream, ErrorCode.NO_ERROR)
