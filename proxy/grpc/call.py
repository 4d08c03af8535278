"""One stream: the messages of its request, who answers, and how it ends."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Final

import trio

from trimq.proxy.grpc import answers
from trimq.proxy.grpc.caller import Caller
from trimq.proxy.grpc.frames import (
    BrokenBody,
    Bytes,
    Messages,
    Unreadable,
    frame,
    head_of,
    unpacked,
)
from trimq.proxy.grpc.methods import Gone, Message, Method
from trimq.proxy.grpc.statuses import GrpcError, GrpcStatus
from trimq.proxy.http2.connection import FRAME_MOST
from trimq.proxy.http2.errors import ErrorCode

if TYPE_CHECKING:
    from trimq.proxy.grpc.connection import GrpcConnection

log = logging.getLogger("trimq.proxy")

# What is larger is unpacked in a thread, while the others go on.
_LARGE: Final = 32 * 1024


class Call:
    """Bytes are given back to the peer, to send as many more, when the call needs more to go on."""

    __slots__ = (
        "_caller",
        "_from",
        "_has_head",
        "_has_run",
        "_held",
        "_into",
        "_kept",
        "_messages",
        "_method",
        "_owner",
        "_request",
        "_scope",
        "_unread",
        "heard_at",
        "is_over",
        "stream",
    )

    def __init__(
        self, owner: GrpcConnection, stream: int, method: Method, caller: Caller, now: float
    ) -> None:
        self.stream = stream
        self.is_over = False
        self.heard_at = now
        self._owner = owner
        self._method = method
        self._caller = caller
        packs = caller.field("grpc-encoding") == "gzip"
        self._messages = Messages(owner.service.bounds.message_bytes, packs=packs)
        self._request: tuple[bool, Bytes] | None = None
        self._scope = trio.CancelScope(deadline=caller.deadline)
        self._has_run = self._has_head = False
        # Bytes in memory for it; bytes that were not given back; messages that nobody has read.
        self._kept = self._held = self._unread = 0
        if method.talk is not None:
            self._into: trio.MemorySendChannel[tuple[bool, Bytes]]
            self._from: trio.MemoryReceiveChannel[tuple[bool, Bytes]]
            most = owner.service.bounds.unread_messages
            self._into, self._from = trio.open_memory_channel[tuple[bool, Bytes]](most)

    @property
    def is_talk(self) -> bool:
        return self._method.talk is not None

    def data(self, data: bytes, size: int, now: float) -> None:
        """A piece of the request; it counts as `size` bytes."""
        self.heard_at = now
        if not self.is_over:
            self._keeps(len(data))
            try:
                for message in self._messages.feed(data):
                    self._arrived(message)
            except BrokenBody as error:
                log.info("call refused: peer=%s reason=%s", self._caller.remote_addr, error)
                self.give_up()
            except GrpcError as error:
                self._finish(error.status, error.text)
        if self._unread and not self.is_over:
            self._held += size
        else:
            self._owner.http.consumed(self.stream, size)

    def _arrived(self, message: tuple[bool, Bytes]) -> None:
        if self._method.talk is None:
            if self._request is not None:
                raise GrpcError(GrpcStatus.INTERNAL, "Too many requests")
            self._request = message
            return
        try:
            self._into.send_nowait(message)
        except trio.WouldBlock:
            text = "messages come faster than they are read"
            raise GrpcError(GrpcStatus.RESOURCE_EXHAUSTED, text) from None
        self._unread += 1

    def ended(self) -> None:
        """No more comes."""
        if self.is_over:
            return
        if self._messages.size:
            self.give_up()
        elif self._method.talk is not None:
            self._into.close()
        elif self._request is None:
            self._finish(GrpcStatus.INTERNAL, "Half-closed without a request")
        else:
            self.start()

    def start(self) -> None:
        self._has_run = True
        self._owner.start(self.run)

    def is_late(self, now: float, seconds: float) -> bool:
        """Whether it waits for its request for longer than it may."""
        return not self._has_run and (now > self._caller.deadline or now - self.heard_at > seconds)

    def give_up(self, code: ErrorCode = ErrorCode.CANCEL) -> None:
        """Without a word."""
        if not self.is_over:
            self._over()
            self._owner.http.reset(self.stream, code)
            self._owner.flush()

    def gone(self) -> None:
        """The peer has given it up, or is gone itself."""
        if not self.is_over:
            self._over()

    def leave(self) -> None:
        """The server stops: who talks shall do so with another one."""
        if not self.is_over:
            self._finish(GrpcStatus.UNAVAILABLE, "the server is stopping")

    def _over(self) -> None:
        self.is_over = True
        self._owner.over(self.stream)
        self._keeps(-self._kept)
        if self._held:
            self._owner.http.consumed(self.stream, self._held)
            self._held = 0
        self._request = None
        self._scope.cancel()
        if self._method.talk is not None:
            self._into.close()

    def _keeps(self, change: int) -> None:
        self._kept += change
        self._owner.share.add(change)

    async def run(self) -> None:
        try:
            with self._scope:
                await self._answer()
            if not self._scope.cancelled_caught:
                self._finish(GrpcStatus.OK)
        except GrpcError as error:
            self._finish(error.status, error.text)
        except Gone:
            pass
        except BrokenBody as error:
            log.info("call refused: peer=%s reason=%s", self._caller.remote_addr, error)
            self.give_up()
        except Exception as error:
            # A bug, or something unforeseen: it concerns this call and no other.
            log.exception("call failed: peer=%s", self._caller.remote_addr)
            self._finish(GrpcStatus.INTERNAL, str(error))
        finally:
            if self._method.talk is not None:
                self._from.close()
        if not self.is_over:
            # Its deadline has passed.
            self.give_up()

    async def _answer(self) -> None:
        method = self._method
        if method.talk is not None:
            async with aclosing(self._incoming()) as messages:
                await method.talk(self._caller, messages, self)
            return
        message, self._request = self._request, None
        if message is None:
            raise Gone
        request = await self._read(message)
        del message
        if method.unary is not None:
            await self.send(await method.unary(self._caller, request))
        elif method.answers is not None:
            await method.answers(self._caller, request, self)

    async def _incoming(self) -> AsyncGenerator[Any, None]:
        async for message in self._from:
            yield await self._read(message)
            # The next one is asked for.
            del message
            self._unread -= 1
            if not self._unread and not self.is_over:
                self._keeps(self._messages.size - self._kept)
                self._owner.http.consumed(self.stream, self._held)
                self._held = 0
                self._owner.flush()

    async def _read(self, message: tuple[bool, Bytes]) -> Any:
        is_packed, data = message
        try:
            if is_packed:
                data = await self._unpacked(data)
            # protobuf reads bytearrays as well.
            return self._method.request(data)  # type: ignore[arg-type]
        except Unreadable:
            raise GrpcError(GrpcStatus.UNKNOWN, "") from None
        except (BrokenBody, GrpcError):
            raise
        except Exception as error:
            # protobuf's DecodeError, which this layer does not know. grpc-java says no more either.
            raise GrpcError(GrpcStatus.UNKNOWN, "") from error

    async def _unpacked(self, data: Bytes) -> bytes:
        service = self._owner.service
        most = service.bounds.message_bytes
        if len(data) <= _LARGE:
            # At most a thousandfold: 32 MiB, for some milliseconds.
            return unpacked(data, most)
        text = await trio.to_thread.run_sync(unpacked, data, most, limiter=service.unpacking)
        if not self.is_over:
            self._keeps(len(text))
        return text

    async def send(self, message: Message) -> None:
        """A message of the answer. Gone when nobody will read it."""
        if self.is_over:
            raise Gone
        if not self._has_head:
            self._has_head = True
            self._owner.http.send_head(self.stream, answers.HEAD)
        text, outbox = message.SerializeToString(), self._owner.outbox
        if len(text) < FRAME_MOST:
            await outbox.send(self.stream, frame(text))
        else:
            # A large one is not copied for the sake of five bytes.
            await outbox.send(self.stream, head_of(text))
            await outbox.send(self.stream, text)
        if self.is_over:
            raise Gone

    def _finish(self, status: GrpcStatus, text: str = "") -> None:
        if self.is_over:
            return
        fields = answers.trailers(status, text, alone=not self._has_head)
        http = self._owner.http
        http.send_head(self.stream, fields, ended=True)
        # Where the request has not ended, nobody wants the rest.
        http.reset(self.stream, ErrorCode.NO_ERROR)
        self._over()
        self._owner.flush()
