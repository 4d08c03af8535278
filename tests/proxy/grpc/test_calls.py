"""Calls over one connection: their messages, how they end, and who is told."""

from __future__ import annotations

import gzip

import pytest
import trio
from trio.testing import MockClock

from tests.patience import until_in_trio
from tests.proxy.grpc.peer import connected, framed
from trimq.proxy.grpc.bounds import GrpcBounds
from trimq.proxy.http2.bounds import Http2Bounds
from trimq.proxy.http2.errors import ErrorCode


async def test_one_message_each_way() -> None:
    async with connected() as pair:
        stream = await pair.peer.ask("/t/Echo", framed(b"text"), x_mq_client_id="me")
        heard = await pair.peer.answer(stream)
        assert heard.data == framed(b"text")
        assert heard.status == "0"
        (caller,) = pair.server.callers
        assert (caller.client_id, caller.called) == ("me", "here")
        assert caller.remote_addr == "192.0.2.1:50000"


async def test_many_answers_in_their_order() -> None:
    async with connected() as pair:
        heard = await pair.peer.answer(await pair.peer.ask("/t/Count", framed(b"3 2")))
        assert heard.data == framed(b"xx") * 3
        assert heard.status == "0"


async def test_a_talk() -> None:
    async with connected() as pair:
        pair.server.reads.set()
        stream = await pair.peer.ask("/t/Talk", framed(b"one"), ends=False)
        await pair.peer.until(lambda: pair.peer.heard[stream].data == framed(b"heard"))
        await pair.peer.more(stream, framed(b"two"), ends=True)
        heard = await pair.peer.answer(stream)
        assert heard.data == framed(b"heard") * 2
        assert pair.server.requests == [b"one", b"two"]


@pytest.mark.parametrize("size", [3, 500_000])
async def test_packed_by_gzip(size: int) -> None:
    text = b"abc" * size
    async with connected() as pair:
        body = framed(gzip.compress(text, 0), 1)
        stream = await pair.peer.ask("/t/Echo", body, grpc_encoding="gzip")
        assert (await pair.peer.answer(stream)).data == framed(text)


async def test_a_deadline_ends_the_call(autojump_clock: MockClock) -> None:
    async with connected() as pair:
        stream = await pair.peer.ask("/t/Wait", framed(b""), grpc_timeout="3S")
        heard = await pair.peer.answer(stream)
        assert (heard.reset, pair.server.ended) == (ErrorCode.CANCEL, ["wait"])
        assert trio.current_time() == pytest.approx(3)


async def test_a_deadline_before_the_request_has_ended(autojump_clock: MockClock) -> None:
    async with connected() as pair:
        stream = await pair.peer.ask("/t/Echo", framed(b"")[:3], ends=False, grpc_timeout="3S")
        await pair.pass_seconds(5)
        assert (await pair.peer.answer(stream)).reset == ErrorCode.CANCEL


async def test_a_request_that_does_not_go_on(autojump_clock: MockClock) -> None:
    async with connected(GrpcBounds(request_seconds=10)) as pair:
        stream = await pair.peer.ask("/t/Echo", framed(b"text")[:3], ends=False)
        await pair.pass_seconds(8)
        await pair.peer.more(stream, framed(b"text")[3:5])
        await pair.pass_seconds(8)
        assert not pair.peer.heard[stream].is_over
        await pair.pass_seconds(5)
        assert (await pair.peer.answer(stream)).reset == ErrorCode.CANCEL


@pytest.mark.parametrize("path", ["/t/Wait", "/t/Talk"])
async def test_a_cancelled_call_ends(path: str) -> None:
    async with connected() as pair:
        stream = await pair.peer.ask(path, framed(b""), ends=path == "/t/Wait")
        await pair.peer.hear()
        pair.peer.h2.reset_stream(stream, ErrorCode.CANCEL)
        await pair.peer.flush()
        await until_in_trio(lambda: pair.server.ended == [path[3:].lower()])
        # The connection goes on.
        again = await pair.peer.ask("/t/Echo", framed(b"on"))
        assert (await pair.peer.answer(again)).data == framed(b"on")


async def test_calls_end_with_the_connection() -> None:
    async with connected() as pair:
        await pair.peer.ask("/t/Wait", framed(b""))
        await pair.peer.ask("/t/Talk", ends=False)
        await pair.peer.hear()
        await pair.peer.stream.aclose()
        await until_in_trio(lambda: sorted(pair.server.ended) == ["talk", "wait"])
        assert pair.service.memory.total == 0


async def test_a_fault_of_one_call_is_that_calls(caplog: pytest.LogCaptureFixture) -> None:
    async with connected() as pair:
        # It asks for numbers.
        wrong = await pair.peer.ask("/t/Count", framed(b"many"))
        good = await pair.peer.ask("/t/Echo", framed(b"good"))
        assert (await pair.peer.answer(wrong)).status == "13"
        assert (await pair.peer.answer(good)).data == framed(b"good")
    assert "call failed" in caplog.text


async def test_streams_beyond_the_bound_are_refused() -> None:
    async with connected(GrpcBounds(http2=Http2Bounds(streams=2))) as pair:
        streams = [await pair.peer.ask("/t/Wait", framed(b"")) for _ in range(2)]
        # It has not read the settings yet.
        streams.append(await pair.peer.ask("/t/Wait", framed(b"")))
        heard = await pair.peer.answer(streams[-1])
        assert heard.reset == ErrorCode.REFUSED_STREAM
        assert not pair.peer.heard[streams[0]].is_over
