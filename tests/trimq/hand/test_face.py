"""The hand over HTTP: what is said to a mistake, to a body that is not read, and what becomes of one that has left."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio

from trimq.hand.hand import Hand
from trimq.hand.operation import HandError
from trimq.hand.server import hand_server
from trimq.hand.told import words_of
from trimq.settings.endpoints import Endpoint

HOUR = 3_600_000


@asynccontextmanager
async def asking(hand: Hand) -> AsyncIterator[trio.SocketStream]:
    """One connection to it."""
    async with (
        hand_server(hand, Endpoint("127.0.0.1", 0)) as bound,
        await trio.open_tcp_stream("127.0.0.1", bound.port) as stream,
    ):
        yield stream


async def answer(stream: trio.SocketStream) -> tuple[str, Any]:
    """The status and the JSON."""
    data = b"".join([chunk async for chunk in stream])
    head, _, body = data.partition(b"\r\n\r\n")
    return head.split(b"\r\n")[0].decode(), json.loads(body)


def request(path: str, body: bytes, *fields: str) -> bytes:
    lines = [f"POST /{path} HTTP/1.1", "Host: hand", *fields, "", ""]
    return "\r\n".join(lines).encode() + body


async def test_a_body_in_chunks() -> None:
    async with asking(Hand()) as stream:
        chunks = b"d\r\n" + b'{"by": "2h"}\n' + b"\r\n0\r\n\r\n"
        # More of it than is read with the head.
        await stream.send_all(request("time/advance", chunks, "Transfer-Encoding: chunked"))
        await stream.send_all(b"x" * 100_000)
        status, said = await answer(stream)
        assert status == "HTTP/1.1 411 Length Required"
        assert "say Content-Length" in said["error"]


async def test_a_body_that_is_too_long() -> None:
    async with asking(Hand()) as stream:
        await stream.send_all(request("time/advance", b"x" * 100_000, "Content-Length: 2000000"))
        status, said = await answer(stream)
        assert status == "HTTP/1.1 413 Content Too Large"
        assert "at most 1048576 bytes" in said["error"]


WRONG = [
    ("faults/fail", '{"topics": "T"}', "there is no topics, did you mean topic"),
    ("faults/fail", '{"zzz": 1}', "there is no zzz; it takes: .*code"),
    ("faults/fail", '{"code": 2, "side": "brocker"}', "no side brocker, did you mean broker"),
    ("faults/fail", '{"code": 2, "side": "x"}', "no side x; side is broker or namesrv"),
    ("faults/away", '{"side": "nameserver"}', "did you mean namesrv.; side is broker or namesrv"),
    ("faults/fail", '{"code": 2, "next": "two"}', r"Expected `int \| null`, got `str` .*next"),
    ("faults/fail", "{}", "missing required field `code`"),
    ("faults/fail", "[]", "no JSON object"),
    ("faults/fail", "{", "the body is no JSON"),
    ("time/now", '{"by": 1}', "there is no by; it takes: nothing"),
]


@pytest.mark.parametrize(("path", "body", "says"), WRONG)
def test_words_that_are_wrong(path: str, body: str, says: str) -> None:
    with pytest.raises(HandError, match=f"^/{path}: .*{says}"):
        words_of(Hand().operations[path], body.encode())


@pytest.mark.parametrize("body", [b"", b" null ", b"{}"])
def test_nothing_is_said(body: bytes) -> None:
    words_of(Hand().operations["time/now"], body)


async def test_an_advance_ends_where_it_is_when_its_client_leaves(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hand, is_there = Hand(), trio.Event()
    hand.clock.run_at(0)
    begun = hand.clock.millis()

    def due(until: int) -> dict[str, int]:
        """In an hour something begins that does not come to an end."""
        if hand.clock.millis() >= begun + HOUR:
            is_there.set()
        return {"it": begun + HOUR}

    monkeypatch.setattr(hand.time, "_due", due)
    monkeypatch.setattr(hand.time, "_flush", trio.lowlevel.checkpoint)
    async with hand_server(hand, Endpoint("127.0.0.1", 0)) as bound:
        body = b'{"by": "3650d"}'
        async with await trio.open_tcp_stream("127.0.0.1", bound.port) as stream:
            await stream.send_all(request("time/advance", body, f"Content-Length: {len(body)}"))
            await is_there.wait()
        monkeypatch.setattr(hand.time, "_due", lambda until: {})
        # The next one has its turn when that has ended.
        body = b'{"by": "1s"}'
        async with await trio.open_tcp_stream("127.0.0.1", bound.port) as stream:
            await stream.send_all(request("time/advance", body, f"Content-Length: {len(body)}"))
            status, said = await answer(stream)
        assert status == "HTTP/1.1 200 OK"
        assert said["millis"] == begun + HOUR + 1000
