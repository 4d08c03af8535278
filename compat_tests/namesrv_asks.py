"""Raw requests to a NameServer, one at a time, and its answers in a comparable form."""

from __future__ import annotations

import json
import re
import socket
import struct
from dataclasses import dataclass
from typing import Any

from compat_tests.wire import frames

Answer = tuple[int, str | None, dict[str, str], Any]


@dataclass(frozen=True)
class Ask:
    """One request. ``exact=False``: the remark is the text of an exception, only the code counts."""

    code: int
    ext: dict[str, str]
    body: bytes = b""
    version: int = frames.V5_5_0
    exact: bool = True


class Connection:
    """One connection that asks one question at a time, without TriMQ's own code."""

    def __init__(self, addr: str) -> None:
        host, port = addr.rsplit(":", 1)
        self._socket = socket.create_connection((host, int(port)), timeout=10)
        self._opaque = 0

    def ask(self, ask: Ask) -> Answer:
        reply = self.ask_raw(ask)
        remark = reply.remark if ask.exact else None
        return reply.code, remark, dict(reply.ext), readable(reply.body)

    def ask_raw(self, ask: Ask) -> frames.Frame:
        """The answer as it came, with the order of whatever is listed in its body."""
        self._opaque += 1
        frame = frames.Frame(
            ask.code, self._opaque, ext=ask.ext, body=ask.body, version=ask.version
        )
        self._socket.sendall(frames.encode(frame))
        (length,) = struct.unpack(">i", self._exactly(4))
        reply = frames.decode(self._exactly(length))
        assert reply.opaque == self._opaque
        return reply

    def close(self) -> None:
        self._socket.close()

    def _exactly(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            piece = self._socket.recv(size - len(data))
            if not piece:
                raise EOFError("the NameServer closed the connection")
            data += piece
        return data


def readable(body: bytes) -> Any:
    """A body with its order taken out. Whether its integer keys are bare stays visible."""
    if not body:
        return None
    text = body.decode()
    try:
        value = json.loads(re.sub(r"([{,])(-?\d+):", r'\1"bare \2":', text))
    except ValueError:
        return text
    return _sorted(value)


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        return sorted(map(_sorted, value), key=lambda item: json.dumps(item, sort_keys=True))
    return value


def ask_once(addr: str, code: int, **ext: str) -> Answer:
    connection = Connection(addr)
    try:
        return connection.ask(Ask(code, ext))
    finally:
        connection.close()
