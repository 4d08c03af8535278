"""A client that sends what no gRPC library would: one stream, frame by frame, and everything that comes back."""

from __future__ import annotations

import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import h2.config
import h2.connection
import h2.errors
import h2.events

Fields = Sequence[tuple[str, str]]

SERVICE: Final = "/apache.rocketmq.v2.MessagingService/"
SECONDS: Final = 20.0


@dataclass
class Answer:
    """`heads`: the fields of each head that came, in order. `reset`, `goaway`: codes, if there were any."""

    heads: list[list[tuple[str, str]]] = field(default_factory=list)
    data: bytes = b""
    is_ended: bool = False
    reset: int | None = None
    goaway: int | None = None
    is_closed: bool = False

    def seen(self, name: str) -> str | None:
        """A field of the last head that has it."""
        for head in reversed(self.heads):
            for key, value in head:
                if key == name:
                    return value
        return None


class RawClient:
    """One connection."""

    def __init__(self, address: str) -> None:
        host, port = address.rsplit(":", 1)
        self.sock = socket.create_connection((host, int(port)), SECONDS)
        config = h2.config.H2Configuration(
            client_side=True,
            header_encoding="utf-8",
            validate_outbound_headers=False,
            normalize_outbound_headers=False,
            validate_inbound_headers=False,
        )
        self.h2 = h2.connection.H2Connection(config)
        self.h2.initiate_connection()
        self.h2.increment_flow_control_window(1 << 24)
        self._flush()
        # Its settings come first.
        self._hear(self.sock.recv(65536))

    def close(self) -> None:
        self.sock.close()

    def __enter__(self) -> RawClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def ask(
        self,
        fields: Fields,
        pieces: Sequence[bytes] = (),
        *,
        ends: bool = True,
        seconds: float = SECONDS,
    ) -> Answer:
        """Open a stream, send the pieces as frames, and take what comes until it is over or the time is."""
        stream = self.h2.get_next_available_stream_id()
        self.h2.send_headers(stream, fields, end_stream=ends and not pieces)
        for at, piece in enumerate(pieces, 1):
            self._wait_for_room(stream, len(piece))
            self.h2.send_data(stream, piece, end_stream=ends and at == len(pieces))
        self._flush()
        return self.take(stream, seconds)

    def take(self, stream: int, seconds: float = SECONDS) -> Answer:
        """What comes on a stream until it ends."""
        answer = Answer()
        until = time.monotonic() + seconds
        while not (answer.is_ended or answer.reset is not None or answer.is_closed):
            self.sock.settimeout(max(until - time.monotonic(), 0.001))
            try:
                data = self.sock.recv(65536)
            except TimeoutError:
                return answer
            except OSError:
                data = b""
            if not data:
                answer.is_closed = True
                return answer
            for event in self.h2.receive_data(data):
                self._heard(event, stream, answer)
            self._flush()
        return answer

    def _hear(self, data: bytes) -> None:
        self.h2.receive_data(data)
        self._flush()

    def _wait_for_room(self, stream: int, size: int) -> None:
        self._flush()
        while self.h2.local_flow_control_window(stream) < size:
            self._hear(self.sock.recv(65536))

    def _heard(self, event: h2.events.Event, stream: int, answer: Answer) -> None:
        if isinstance(event, h2.events.ConnectionTerminated):
            answer.goaway = int(event.error_code or 0)
        if getattr(event, "stream_id", None) != stream:
            return
        match event:
            case h2.events.ResponseReceived() | h2.events.TrailersReceived():
                answer.heads.append(
                    [(str(name), str(value)) for name, value in event.headers or ()]
                )
            case h2.events.DataReceived():
                answer.data += event.data or b""
                self.h2.acknowledge_received_data(event.flow_controlled_length or 0, stream)
            case h2.events.StreamEnded():
                answer.is_ended = True
            case h2.events.StreamReset() if not answer.is_ended:
                answer.reset = int(event.error_code or 0)
            case _:
                pass

    def _flush(self) -> None:
        data = self.h2.data_to_send()
        if data:
            self.sock.sendall(data)


def call(name: str, /, **changed: str | None) -> list[tuple[str, str]]:
    """A call's head as clients send it. `changed`: fields with `_` for `-`; None: left out, `path` and the like too."""
    fields: dict[str, str | None] = {
        ":method": "POST",
        ":scheme": "http",
        ":path": SERVICE + name,
        ":authority": "127.0.0.1:8081",
        "te": "trailers",
        "content-type": "application/grpc",
        "x-mq-client-id": "raw",
        "x-mq-language": "JAVA",
        "x-mq-client-version": "5.1.0",
        "x-mq-protocol": "v2",
    }
    for key, value in changed.items():
        told = key.replace("_", "-")
        fields[f":{told}" if f":{told}" in fields else told] = value
    return [(key, value) for key, value in fields.items() if value is not None]


def framed(message: bytes, flag: int = 0, length: int | None = None) -> bytes:
    """A message with what stands before it; `length`: what it says of itself instead."""
    said = len(message) if length is None else length
    return bytes([flag]) + said.to_bytes(4, "big") + message
