"""Flow control both ways, and how much is kept in memory."""

from __future__ import annotations

from itertools import pairwise

import h2.settings
import pytest
import trio
import trio.testing
from trio.testing import MockClock

from tests.patience import until_in_trio
from tests.proxy.grpc.peer import Pair, connected, framed
from trimq.proxy.grpc.bounds import GrpcBounds
from trimq.proxy.http2.bounds import Http2Bounds
from trimq.proxy.http2.errors import ErrorCode

SMALL = GrpcBounds(http2=Http2Bounds(stream_window=65535, connection_window=65535))


async def test_a_message_larger_than_the_window() -> None:
    async with connected(SMALL) as pair:
        text = bytes(3_000_000)
        pair.peer.h2.increment_flow_control_window(1 << 24)
        stream = await pair.peer.ask("/t/Echo", framed(text))
        assert len((await pair.peer.answer(stream)).data) == len(text) + 5
        assert pair.service.memory.total == 0


async def test_a_talk_gets_no_further_than_it_is_read() -> None:
    async with connected(SMALL) as pair:
        stream = await pair.peer.ask("/t/Talk", framed(bytes(1000)), ends=False)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(pair.peer.more, stream, framed(bytes(10_000)) * 30)
            await trio.testing.wait_all_tasks_blocked()
            # One window's worth came, and is kept.
            assert pair.peer.h2.local_flow_control_window(stream) == 0
            assert 60_000 < pair.service.memory.total < 140_000
            pair.server.reads.set()
        await pair.peer.until(lambda: len(pair.server.requests) == 31)
        await until_in_trio(lambda: pair.service.memory.total == 0)


async def test_a_talk_that_nobody_reads_is_ended() -> None:
    async with connected(GrpcBounds(unread_messages=5)) as pair:
        stream = await pair.peer.ask("/t/Talk", framed(b"x") * 20, ends=False)
        heard = await pair.peer.answer(stream)
        assert (heard.status, heard.text) == ("8", "messages come faster than they are read")
        assert pair.server.ended == ["talk"]


async def test_an_answer_waits_for_room() -> None:
    async with connected(gives_room=False) as pair:
        stream = await pair.peer.ask("/t/Count", framed(b"3 60000"))
        await pair.peer.until(lambda: len(pair.peer.heard[stream].data) == 65535)
        assert pair.server.ended == []
        assert pair.service.memory.total == 60_000 + len(framed(b"3 60000"))
        pair.peer.h2.increment_flow_control_window(1 << 20)
        pair.peer.h2.increment_flow_control_window(1 << 20, stream)
        await pair.peer.flush()
        assert len((await pair.peer.answer(stream)).data) == 3 * 60_005


async def test_a_large_answer_does_not_hold_up_small_ones() -> None:
    async with connected(lockstep=True) as pair:
        peer = pair.peer
        peer.h2.increment_flow_control_window(1 << 24)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_all, pair, nursery.cancel_scope)
            large = await peer.ask("/t/Count", framed(b"1 3000000"))
            peer.h2.increment_flow_control_window(1 << 24, large)
            await peer.flush()
            small = [await peer.ask("/t/Echo", framed(b"small")) for _ in range(3)]
            await until_in_trio(lambda: all(peer.heard[stream].is_over for stream in small))
            assert not peer.heard[large].is_over
            await until_in_trio(lambda: peer.heard[large].is_over)
            nursery.cancel_scope.cancel()


async def _all(pair: Pair, scope: trio.CancelScope) -> None:
    while not pair.peer.is_closed:
        await pair.peer.hear()


async def test_two_large_answers_take_turns() -> None:
    async with connected(GrpcBounds(outgoing_bytes=20_000)) as pair:
        pair.peer.h2.increment_flow_control_window(1 << 24)
        first, second = (pair.peer.say("/t/Count") for _ in range(2))
        for stream in (first, second):
            pair.peer.h2.send_data(stream, framed(b"1 60000"), end_stream=True)
        await pair.peer.flush()
        await pair.peer.answer(first)
        await pair.peer.answer(second)
        changes = sum(one != other for one, other in pairwise(pair.peer.order))
        # One after the other: once.
        assert changes > 1


async def test_many_small_answers_wait_for_who_does_not_read() -> None:
    async with connected(GrpcBounds(outgoing_bytes=20_000), lockstep=True) as pair:
        # As far as flow control goes, all may come.
        window = h2.settings.SettingCodes.INITIAL_WINDOW_SIZE
        pair.peer.h2.update_settings({window: 1 << 24})
        pair.peer.h2.increment_flow_control_window(1 << 24)
        await pair.peer.ask("/t/Count", framed(b"5000 1000"))
        await trio.testing.wait_all_tasks_blocked()
        assert pair.server.ended == []
        assert pair.connection.outbox.size + len(pair.connection.http.outgoing()) < 30_000


@pytest.mark.parametrize("lockstep", [True, False])
async def test_who_reads_no_answer_is_ended(autojump_clock: MockClock, *, lockstep: bool) -> None:
    async with connected(GrpcBounds(stall_seconds=10), gives_room=False, lockstep=lockstep) as pair:
        # In lockstep nothing gets out at all; otherwise there is no more room.
        async with trio.open_nursery() as nursery:
            nursery.start_soon(pair.peer.ask, "/t/Count", framed(b"9 60000"))
            await pair.pass_seconds(9)
        assert not pair.peer.is_closed
        if lockstep:
            assert pair.connection.outbox.size < 300_000
        await pair.pass_seconds(5)
        # What has begun to be sent cannot be followed by another word.
        assert await pair.peer.end() == (None if lockstep else ErrorCode.ENHANCE_YOUR_CALM)
        await until_in_trio(lambda: pair.server.ended == ["count"])
        assert pair.service.memory.total == 0


async def test_who_keeps_most_is_ended_when_memory_is_used_up() -> None:
    async with connected(GrpcBounds(kept_bytes=100_000)) as pair:
        await pair.peer.ask("/t/Echo", framed(bytes(60_000))[:-1], ends=False)
        assert not pair.peer.is_closed
        await pair.peer.ask("/t/Echo", framed(bytes(60_000))[:-1], ends=False)
        assert await pair.peer.end() == ErrorCode.ENHANCE_YOUR_CALM
        assert pair.service.counters.limits == {"maxNetworkBytes": 1}
        assert pair.service.memory.total == 0
