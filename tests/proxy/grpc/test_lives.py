"""How long connections live, and how they end."""

from __future__ import annotations

import pytest
import trio
from trio.testing import MockClock

from tests.patience import until_in_trio
from tests.proxy.grpc.peer import connected, framed
from tests.proxy.http2.frames import (
    CONTINUATION,
    DATA,
    GOAWAY,
    HEADERS,
    PING,
    PRIORITY,
    RESET,
    SETTINGS,
    WINDOW,
    frame,
)
from trimq.proxy.grpc.bounds import GrpcBounds
from trimq.proxy.http2.errors import ErrorCode


async def test_without_a_stream_it_ends(autojump_clock: MockClock) -> None:
    async with connected(GrpcBounds(idle_seconds=20)) as pair:
        await pair.peer.answer(await pair.peer.ask("/t/Echo", framed(b"")))
        await pair.pass_seconds(19)
        await pair.peer.answer(await pair.peer.ask("/t/Echo", framed(b"")))
        await pair.pass_seconds(19)
        assert pair.peer.goaway is None
        await pair.pass_seconds(5)
        assert await pair.peer.end() == ErrorCode.NO_ERROR


async def test_with_a_stream_it_does_not(autojump_clock: MockClock) -> None:
    async with connected(GrpcBounds(idle_seconds=20)) as pair:
        stream = await pair.peer.ask("/t/Talk", ends=False)
        await pair.pass_seconds(60)
        pair.server.reads.set()
        await pair.peer.more(stream, framed(b""), ends=True)
        assert (await pair.peer.answer(stream)).status == "0"


async def test_a_peer_that_says_nothing_is_asked_whether_it_is_there(
    autojump_clock: MockClock,
) -> None:
    bounds = GrpcBounds(silence_seconds=20, reply_seconds=10)
    async with connected(bounds) as pair:
        await pair.peer.ask("/t/Talk", ends=False)
        await pair.pass_seconds(22)
        # It says that it is.
        await pair.peer.hear()
        await pair.pass_seconds(15)
        assert not pair.peer.is_closed
        # And then nothing more.
        await pair.pass_seconds(20)
        assert await pair.peer.end() == ErrorCode.NO_ERROR
        await until_in_trio(lambda: pair.server.ended == ["talk"])


async def test_leaving_lets_calls_end() -> None:
    async with connected(gives_room=False) as pair:
        stream = await pair.peer.ask("/t/Count", framed(b"2 40000"))
        talk = await pair.peer.ask("/t/Talk", ends=False)
        await pair.peer.until(lambda: len(pair.peer.heard[stream].data) == 65535)
        pair.connection.leave_now()
        # Who talks shall do so elsewhere.
        await until_in_trio(lambda: pair.server.ended == ["talk"])
        pair.peer.h2.increment_flow_control_window(1 << 20)
        pair.peer.h2.increment_flow_control_window(1 << 20, stream)
        await pair.peer.flush()
        await until_in_trio(lambda: pair.server.ended == ["talk", "count"])
        assert await pair.peer.end() == ErrorCode.NO_ERROR
        assert pair.peer.heard[talk].status == "14"
        assert len(pair.peer.heard[stream].data) == 2 * 40_005
        assert pair.peer.heard[stream].status == "0"


async def test_a_client_that_leaves_gets_its_answers() -> None:
    async with connected() as pair:
        pair.server.reads.set()
        stream = await pair.peer.ask("/t/Talk", framed(b"one"), ends=False)
        await pair.peer.send(frame(GOAWAY, bytes(8)))
        await until_in_trio(lambda: pair.server.requests == [b"one"])
        await pair.peer.send(frame(DATA, framed(b"two"), 1, stream))
        await until_in_trio(lambda: pair.server.requests == [b"one", b"two"])
        # And with the last stream the connection ends.
        await pair.peer.end()
        assert pair.server.ended == ["talk"]


@pytest.mark.parametrize("begins", [b"", b"PRI * HT", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\1"])
async def test_a_greeting_that_does_not_end(autojump_clock: MockClock, begins: bytes) -> None:
    async with connected(GrpcBounds(greeting_seconds=10), lockstep=True) as pair:
        heard = bytearray()

        async def listen() -> None:
            async for data in pair.peer.stream:
                heard.extend(data)
            pair.peer.is_closed = True

        async with trio.open_nursery() as nursery:
            nursery.start_soon(listen)
            if begins:
                await pair.peer.stream.send_all(begins)
            await pair.pass_seconds(9)
            assert not pair.peer.is_closed
            await pair.pass_seconds(3)
        goaway = heard[-17:]
        assert (goaway[3], goaway[-1]) == (GOAWAY, ErrorCode.PROTOCOL_ERROR)


@pytest.mark.parametrize(
    "flood",
    [
        frame(PING, bytes(8)) * 1100,
        frame(SETTINGS) * 1100,
        frame(PRIORITY, bytes((0, 0, 0, 0, 9)), stream=1) * 1100,
        frame(WINDOW, b"\0\0\0\1") * 1100,
        frame(DATA, b"", 0, 1) * 1100,
        frame(RESET, bytes(4), 0, 1) * 1100,
        frame(99, b"") * 1100,
        frame(HEADERS, b"\x82", 0, 3) + frame(CONTINUATION, bytes(16384), 0, 3),
    ],
    ids=["ping", "settings", "priority", "window", "data", "reset", "unknown", "continuation"],
)
async def test_a_flood_ends_that_connection(flood: bytes) -> None:
    async with connected() as pair:
        await pair.peer.ask("/t/Wait", ends=False)
        await pair.peer.send(flood)
        assert await pair.peer.end() == ErrorCode.ENHANCE_YOUR_CALM


async def test_rapid_reset_ends_that_connection() -> None:
    async with connected() as pair:
        # All at once: with time, more are allowed.
        for _ in range(1100):
            pair.peer.h2.reset_stream(pair.peer.say("/t/Talk"))
        await pair.peer.flush()
        assert await pair.peer.end() == ErrorCode.ENHANCE_YOUR_CALM
        assert pair.connection._calls == {}


async def test_answers_that_nobody_reads_stop_what_is_received() -> None:
    async with connected(GrpcBounds(outgoing_bytes=1000), lockstep=True) as pair:
        done = 0
        with trio.move_on_after(0.2):
            for _ in range(3000):
                await pair.peer.ask("/t/Nope")
                done += 1
        assert done < 200
        assert pair.connection.outbox.size < 10_000
