"""A client that says frames as it is told, and a server with three calls: echo, count, talk."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import h2.config
import h2.connection
import h2.events
import trio
import trio.testing

from tests.proxy.http2.frames import GOAWAY
from trimq.proxy.grpc.bounds import GrpcBounds
from trimq.proxy.grpc.caller import Caller
from trimq.proxy.grpc.connection import GrpcConnection
from trimq.proxy.grpc.frames import HEAD
from trimq.proxy.grpc.methods import Method, Out
from trimq.proxy.grpc.service import Service
from trimq.remoting.wire.streams import StreamWire

SECONDS: Final = 180


class Text:
    """In place of a message of protobuf."""

    def __init__(self, text: bytes) -> None:
        self.text = text

    def SerializeToString(self) -> bytes:
        return self.text


def framed(text: bytes, flag: int = 0) -> bytes:
    return HEAD.pack(flag, len(text)) + text


@dataclass
class Server:
    """What its calls do is in the test's hand."""

    callers: list[Caller] = field(default_factory=list)
    requests: list[bytes] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)
    # Of talks: each message is read when this is set.
    reads: trio.Event = field(default_factory=trio.Event)

    async def echo(self, caller: Caller, request: bytes) -> Text:
        self.callers.append(caller)
        self.requests.append(bytes(request))
        return Text(bytes(request))

    async def wait(self, caller: Caller, request: bytes) -> Text:
        try:
            await trio.sleep_forever()
        finally:
            self.ended.append("wait")

    async def count(self, caller: Caller, request: bytes, out: Out) -> None:
        """`12 3`: twelve messages of three bytes."""
        try:
            number, size = map(int, request.split())
            for _ in range(number):
                await out.send(Text(b"x" * size))
        finally:
            self.ended.append("count")

    async def talk(self, caller: Caller, messages: AsyncIterator[Any], out: Out) -> None:
        try:
            async for message in messages:
                await self.reads.wait()
                self.requests.append(bytes(message))
                await out.send(Text(b"heard"))
        finally:
            self.ended.append("talk")

    def methods(self) -> dict[str, Method]:
        return {
            "/t/Echo": Method(bytes, unary=self.echo),
            "/t/Wait": Method(bytes, unary=self.wait),
            "/t/Count": Method(bytes, answers=self.count),
            "/t/Talk": Method(bytes, talk=self.talk),
        }


@dataclass
class Heard:
    """Of one stream."""

    heads: list[dict[str, str]] = field(default_factory=list)
    data: bytes = b""
    is_over: bool = False
    reset: int | None = None

    @property
    def status(self) -> str | None:
        return self.heads[-1].get("grpc-status") if self.heads else None

    @property
    def text(self) -> str | None:
        return self.heads[-1].get("grpc-message")


class Peer:
    """`gives_room`: what it has heard makes room for more."""

    def __init__(self, stream: trio.abc.Stream, *, gives_room: bool = True) -> None:
        self.stream = stream
        self.gives_room = gives_room
        config = h2.config.H2Configuration(client_side=True, header_encoding="utf-8")
        self.h2 = h2.connection.H2Connection(config)
        self.h2.initiate_connection()
        self.heard: dict[int, Heard] = {}
        self.order: list[int] = []
        self.goaway: int | None = None
        self.is_closed = False
        self._turn = trio.Lock()
        self._rest = b""

    async def flush(self) -> None:
        async with self._turn:
            if data := self.h2.data_to_send():
                await self.stream.send_all(data)

    async def send(self, data: bytes) -> None:
        """Frames of one's own."""
        await self.flush()
        await self.stream.send_all(data)

    async def ask(self, path: str, body: bytes = b"", *, ends: bool = True, **fields: str) -> int:
        """The number of the stream."""
        stream = self.say(path, **fields)
        if ends and not body:
            self.h2.end_stream(stream)
        await self.more(stream, body, ends=ends)
        return stream

    def say(self, path: str, **fields: str) -> int:
        """A head, which leaves with what comes next."""
        stream: int = self.h2.get_next_available_stream_id()
        head = {
            ":method": "POST",
            ":scheme": "http",
            ":path": path,
            ":authority": "here",
            "te": "trailers",
            "content-type": "application/grpc",
            **{name.replace("_", "-"): value for name, value in fields.items()},
        }
        self.heard[stream] = Heard()
        self.h2.send_headers(stream, list(head.items()))
        return stream

    async def more(self, stream: int, body: bytes, *, ends: bool = False) -> None:
        """As far as there is room, and then when there is."""
        at = 0
        while at < len(body):
            room = min(self.h2.local_flow_control_window(stream), 16384)
            if room <= 0:
                await self.flush()
                await self.hear()
                continue
            piece = body[at : at + room]
            at += len(piece)
            self.h2.send_data(stream, piece, end_stream=ends and at == len(body))
        await self.flush()

    async def hear(self) -> None:
        """Whatever comes next."""
        try:
            data = await self.stream.receive_some()
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            data = b""
        if not data:
            self.is_closed = True
            return
        for event in self.h2.receive_data(self._without_goaway(data)):
            self._heard(event)
        try:
            await self.flush()
        except trio.BrokenResourceError:
            self.is_closed = True

    def _without_goaway(self, data: bytes) -> bytes:
        """The library's client would give all its streams up."""
        self._rest += data
        passed = b""
        while len(self._rest) >= (end := 9 + int.from_bytes(self._rest[:3], "big")):
            frame, self._rest = self._rest[:end], self._rest[end:]
            if frame[3] == GOAWAY:
                self.goaway = int.from_bytes(frame[13:17], "big")
            else:
                passed += frame
        return passed

    def _heard(self, event: h2.events.Event) -> None:
        heard = self.heard.get(getattr(event, "stream_id", 0) or 0)
        if heard is None:
            return
        match event:
            case h2.events.ResponseReceived() | h2.events.TrailersReceived():
                heard.heads.append({str(k): str(v) for k, v in event.headers or ()})
            case h2.events.DataReceived():
                heard.data += event.data or b""
                self.order.append(event.stream_id or 0)
                if self.gives_room:
                    self.h2.acknowledge_received_data(
                        event.flow_controlled_length or 0, event.stream_id or 0
                    )
            case h2.events.StreamEnded():
                heard.is_over = True
            case h2.events.StreamReset():
                heard.is_over, heard.reset = True, int(event.error_code or 0)
            case _:
                pass

    async def until(self, holds: Callable[[], object]) -> None:
        with trio.fail_after(SECONDS):
            while not holds() and not self.is_closed:
                await self.hear()
        assert holds(), (self.heard, self.goaway, self.is_closed)

    async def answer(self, stream: int) -> Heard:
        """Once it is over."""
        await self.until(lambda: self.heard[stream].is_over)
        return self.heard[stream]

    async def end(self) -> int | None:
        """The code of GOAWAY, once the connection has ended."""
        with trio.fail_after(SECONDS):
            while not self.is_closed:
                await self.hear()
        return self.goaway


@dataclass
class Pair:
    """Both ends, and what is between: `sweep` has to be called by the test."""

    peer: Peer
    server: Server
    connection: GrpcConnection
    service: Service

    async def pass_seconds(self, seconds: float) -> None:
        """With a look each second, as the server has it."""
        for _ in range(int(seconds)):
            await trio.sleep(1)
            self.connection.sweep(trio.current_time())


@asynccontextmanager
async def connected(
    bounds: GrpcBounds | None = None, *, gives_room: bool = True, lockstep: bool = False
) -> AsyncIterator[Pair]:
    """`lockstep`: nothing is sent before the other end has taken what came before."""
    near, far = (
        trio.testing.lockstep_stream_pair() if lockstep else trio.testing.memory_stream_pair()
    )
    server = Server()
    service = Service(server.methods(), bounds)
    connection = GrpcConnection(StreamWire(far), service, "192.0.2.1:50000", "192.0.2.2:8081")
    peer = Peer(near, gives_room=gives_room)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(connection.run)
        if not lockstep:
            await peer.flush()
        yield Pair(peer, server, connection, service)
        nursery.cancel_scope.cancel()
