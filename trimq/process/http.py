"""As much of HTTP/1.1 as a few small pages need: one request on a connection, with limits in size and time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import trio

REQUEST_SECONDS: Final = 5
ANSWER_SECONDS: Final = 10
_HEAD_BYTES: Final = 8192
_REST_BYTES: Final = 65_536


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """`headers` by their names in small letters."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes


class BodyTooLong(Exception):
    """It is longer than may be."""


class NoLength(Exception):
    """It comes in chunks, or says no number of bytes."""


async def read_request(stream: trio.abc.ReceiveStream, most: int = 0) -> HttpRequest | None:
    """`most`: bytes of a body; 0: bodies are not read. None for something else, and for what is too long or too slow.

    BodyTooLong, NoLength, when the head has been read.
    """
    data = b""
    end = -1
    with trio.move_on_after(REQUEST_SECONDS):
        while end < 0:
            more = await stream.receive_some(_HEAD_BYTES)
            data += more
            if not more or len(data) > _HEAD_BYTES + most:
                return None
            end = _end_of_head(data)
        lines = data[:end].decode("latin-1").splitlines()
        words = lines[0].split() if lines else []
        if len(words) < 2:
            return None
        headers = dict(map(_header, lines[1:]))
        body = await _body(stream, headers, data[end:], most) if most else b""
        return None if body is None else HttpRequest(words[0], words[1], headers, body)
    return None


def _end_of_head(data: bytes) -> int:
    """Where the body begins; -1: not yet."""
    ends = [data.find(mark) + len(mark) for mark in (b"\r\n\r\n", b"\n\n") if mark in data]
    return min(ends, default=-1)


def _header(line: str) -> tuple[str, str]:
    name, _, value = line.partition(":")
    return name.strip().lower(), value.strip()


async def _body(
    stream: trio.abc.ReceiveStream, headers: dict[str, str], begun: bytes, most: int
) -> bytes | None:
    said = headers.get("content-length", "0")
    if "transfer-encoding" in headers or not said.isdecimal():
        raise NoLength
    if int(said) > most:
        raise BodyTooLong
    size = int(said)
    while len(begun) < size:
        more = await stream.receive_some(size - len(begun))
        if not more:
            return None
        begun += more
    return begun[:size]


async def send_answer(
    stream: trio.abc.SendStream, method: str, status: str, kind: str, body: bytes
) -> None:
    """`status`: "200 OK". The connection ends after it."""
    head = (
        f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
        "Connection: close\r\n\r\n"
    ).encode()
    with trio.move_on_after(ANSWER_SECONDS):
        await stream.send_all(head if method == "HEAD" else head + body)


async def read_rest(stream: trio.SocketStream) -> None:
    """What was answered before it was read to its end: whoever still sends would lose the answer otherwise."""
    with trio.move_on_after(REQUEST_SECONDS):
        await stream.send_eof()
        while await stream.receive_some(_REST_BYTES):
            pass
