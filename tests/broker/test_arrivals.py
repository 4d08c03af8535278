"""Held pulls: who is woken by what, and when."""

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from trimq.broker.arrivals import Arrivals, TooManyHeld
from trimq.store.message import Dispatched


def message(queue_offset=0, tags_code=0, topic="T", queue_id=0):
    return Dispatched(topic, queue_id, queue_offset, 0, 100, tags_code, 0, 0, b"")


class Waiting:
    """Notes when a wait has ended."""

    def __init__(self, arrivals):
        self.arrivals = arrivals
        self.began = trio.current_time()
        self.ended = None

    async def __call__(self, offset=0, codes=None, seconds=15.0, topic="T", queue_id=0):
        await self.arrivals.wait(topic, queue_id, offset, codes, seconds)
        self.ended = trio.current_time() - self.began


@pytest.fixture
def arrivals():
    return Arrivals()


@pytest.fixture
def held(arrivals, nursery, mock_clock):
    """Starts a wait and returns it once it waits."""

    async def hold(**settings):
        waiting = Waiting(arrivals)
        nursery.start_soon(lambda: waiting(**settings))
        await wait_all_tasks_blocked()
        return waiting

    return hold


@pytest.fixture
def passes(mock_clock):
    """Lets seconds go by, one at a time."""

    async def pass_by(seconds):
        for _ in range(seconds):
            mock_clock.jump(1)
            await wait_all_tasks_blocked()

    return pass_by


async def test_a_message_wakes_who_waits_for_its_queue(mock_clock, arrivals, held):
    here, there, elsewhere = await held(), await held(queue_id=1), await held(topic="U")
    assert arrivals.held == 3
    arrivals.arrived([message()])
    await wait_all_tasks_blocked()
    assert here.ended == pytest.approx(0)
    assert there.ended is elsewhere.ended is None
    assert (arrivals.held, arrivals.held_for("T", 0), arrivals.held_for("T", 1)) == (2, 0, 1)


async def test_all_that_wait_for_it(mock_clock, arrivals, held):
    waiting = [await held() for _ in range(3)]
    arrivals.arrived([message()])
    await wait_all_tasks_blocked()
    assert [one.ended for one in waiting] == pytest.approx([0, 0, 0])
    assert arrivals.held == 0


async def test_one_before_the_offset_wakes_nobody(mock_clock, arrivals, held, passes):
    waiting = await held(offset=5, codes=frozenset({1}))
    arrivals.arrived([message(queue_offset=4, tags_code=1)])
    await passes(10)
    assert waiting.ended is None
    arrivals.arrived([message(queue_offset=5, tags_code=1)])
    await wait_all_tasks_blocked()
    assert waiting.ended == pytest.approx(10)


async def test_another_tag_wakes_five_seconds_later(mock_clock, arrivals, held, passes):
    waiting = await held(codes=frozenset({1, -2}))
    await passes(1)
    arrivals.arrived([message(tags_code=3)])
    await passes(2)
    arrivals.arrived([message(queue_offset=1, tags_code=3)])
    await passes(8)
    assert waiting.ended == pytest.approx(6)


async def test_the_time_that_is_left_is_never_made_longer(mock_clock, arrivals, held, passes):
    waiting = await held(codes=frozenset({1}), seconds=2)
    arrivals.arrived([message(tags_code=3)])
    await passes(3)
    assert waiting.ended == pytest.approx(2)


async def test_tags_are_compared_as_32_bits(mock_clock, arrivals, held):
    waiting = await held(codes=frozenset({-2}))
    arrivals.arrived([message(tags_code=-2)])
    await wait_all_tasks_blocked()
    assert waiting.ended == pytest.approx(0)


async def test_time_runs_out(mock_clock, arrivals, held, passes):
    waiting = await held(seconds=15)
    await passes(20)
    assert waiting.ended == pytest.approx(15)
    assert arrivals.held == 0


async def test_who_goes_away_is_forgotten(arrivals, autojump_clock):
    with trio.move_on_after(1):
        await arrivals.wait("T", 0, 0, None, 15)
    assert (arrivals.held, arrivals.held_for("T", 0)) == (0, 0)


async def test_only_so_many_are_held(mock_clock, nursery):
    arrivals = Arrivals(limit=1)
    nursery.start_soon(arrivals.wait, "T", 0, 0, None, 15)
    await wait_all_tasks_blocked()
    with pytest.raises(TooManyHeld):
        await arrivals.wait("T", 0, 0, None, 15)
