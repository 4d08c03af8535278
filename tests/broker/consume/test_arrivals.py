"""Waiting pulls: which one is woken by what, and when."""

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from trimq.broker.consume.arrivals import Arrivals
from trimq.broker.filters.message_filters import ExpressionFilter
from trimq.codec.sql.grammar import parse
from trimq.store.messages.message import Dispatched


def message(queue_offset=0, tags_code=0, topic="T", queue_id=0):
    return Dispatched(topic, queue_id, queue_offset, 0, 100, tags_code, 0, 0, b"")


class Waiting:
    """Notes when a wait has ended."""

    def __init__(self, arrivals):
        self.arrivals = arrivals
        self.began = trio.current_time()
        self.ended = None

    async def __call__(
        self, offset=0, codes=None, seconds=15.0, topic="T", queue_id=0, message_filter=None
    ):
        await self.arrivals.wait(topic, queue_id, offset, codes, seconds, message_filter)
        self.ended = trio.current_time() - self.began


@pytest.fixture
def arrivals():
    return Arrivals()


@pytest.fixture
def waiting(arrivals, nursery, mock_clock):
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


async def test_a_message_wakes_the_pulls_that_wait_for_its_queue(mock_clock, arrivals, waiting):
    here, there, elsewhere = (
        await waiting(),
        await waiting(queue_id=1),
        await waiting(topic="U"),
    )
    assert arrivals.waiting == 3
    arrivals.arrived([message()])
    await wait_all_tasks_blocked()
    assert here.ended == pytest.approx(0)
    assert there.ended is elsewhere.ended is None
    assert (arrivals.waiting, len(arrivals.at("T", "", 0)), len(arrivals.at("T", "", 1))) == (
        2,
        0,
        1,
    )


async def test_all_that_wait_for_it(mock_clock, arrivals, waiting):
    waiting = [await waiting() for _ in range(3)]
    arrivals.arrived([message()])
    await wait_all_tasks_blocked()
    assert [one.ended for one in waiting] == pytest.approx([0, 0, 0])
    assert arrivals.waiting == 0


async def test_one_before_the_offset_wakes_nobody(mock_clock, arrivals, waiting, passes):
    waiting = await waiting(offset=5, codes=frozenset({1}))
    arrivals.arrived([message(queue_offset=4, tags_code=1)])
    await passes(10)
    assert waiting.ended is None
    arrivals.arrived([message(queue_offset=5, tags_code=1)])
    await wait_all_tasks_blocked()
    assert waiting.ended == pytest.approx(10)


async def test_another_tag_wakes_five_seconds_later(mock_clock, arrivals, waiting, passes):
    waiting = await waiting(codes=frozenset({1, -2}))
    await passes(1)
    arrivals.arrived([message(tags_code=3)])
    await passes(2)
    arrivals.arrived([message(queue_offset=1, tags_code=3)])
    await passes(8)
    assert waiting.ended == pytest.approx(6)


async def test_the_time_that_is_left_is_never_made_longer(mock_clock, arrivals, waiting, passes):
    waiting = await waiting(codes=frozenset({1}), seconds=2)
    arrivals.arrived([message(tags_code=3)])
    await passes(3)
    assert waiting.ended == pytest.approx(2)


async def test_tags_are_compared_as_32_bits(mock_clock, arrivals, waiting):
    waiting = await waiting(codes=frozenset({-2}))
    arrivals.arrived([message(tags_code=-2)])
    await wait_all_tasks_blocked()
    assert waiting.ended == pytest.approx(0)


async def test_time_runs_out(mock_clock, arrivals, waiting, passes):
    waiting = await waiting(seconds=15)
    await passes(20)
    assert waiting.ended == pytest.approx(15)
    assert arrivals.waiting == 0


async def test_a_pull_that_goes_away_is_forgotten(arrivals, autojump_clock):
    with trio.move_on_after(1):
        await arrivals.wait("T", 0, 0, None, 15)
    assert (arrivals.waiting, len(arrivals.at("T", "", 0))) == (0, 0)


async def test_only_so_many_are_held(mock_clock, nursery):
    arrivals = Arrivals(limit=1)
    nursery.start_soon(arrivals.wait, "T", 0, 0, None, 15)
    await wait_all_tasks_blocked()
    assert not await arrivals.wait("T", 0, 0, None, 15)


def with_properties(text, queue_offset=0):
    return Dispatched("T", 0, queue_offset, 0, 100, 0, 0, 0, text.encode())


def by(text):
    return ExpressionFilter(parse(text))


async def test_a_filter_is_asked(mock_clock, arrivals, nursery, passes):
    waiting = Waiting(arrivals)
    nursery.start_soon(lambda: waiting(message_filter=by("a > 5")))
    await wait_all_tasks_blocked()
    arrivals.arrived([with_properties("a\x017\x02")])
    await wait_all_tasks_blocked()
    assert waiting.ended == pytest.approx(0)


async def test_what_a_filter_does_not_want_wakes_five_seconds_later(
    mock_clock, arrivals, nursery, passes
):
    waiting = Waiting(arrivals)
    nursery.start_soon(lambda: waiting(message_filter=by("a > 5")))
    await wait_all_tasks_blocked()
    arrivals.arrived([with_properties("a\x011\x02"), with_properties("a\x01x\x02", 1)])
    await passes(4)
    assert waiting.ended is None
    await passes(2)
    assert waiting.ended == pytest.approx(5)


async def test_whoever_writes_does_not_wait_for_all_filters(mock_clock, arrivals, nursery, passes):
    """Beyond some work the rest is asked by a service."""
    pulls = [Waiting(arrivals) for _ in range(100)]
    for number, waiting in enumerate(pulls):
        wish = by(f"a = '{number}' AND b = 'x'")
        nursery.start_soon(lambda waiting=waiting, wish=wish: waiting(message_filter=wish))
    await wait_all_tasks_blocked()
    properties = "b\x01x\x02a\x01{}\x02" + "c\x01" + "x" * 20_000 + "\x02"
    arrivals.arrived([with_properties(properties.format(number), number) for number in range(100)])
    await wait_all_tasks_blocked()
    assert arrivals.waiting > 0
    nursery.start_soon(arrivals.ask_later)
    await wait_all_tasks_blocked()
    assert [waiting.ended for waiting in pulls] == pytest.approx([0] * 100)


async def test_what_was_left_for_later_may_be_gone(mock_clock, arrivals, nursery, passes):
    pulls = [Waiting(arrivals) for _ in range(1000)]
    for waiting in pulls:
        wish = by("a = 'nobody'")
        nursery.start_soon(
            lambda waiting=waiting, wish=wish: waiting(seconds=2, message_filter=wish)
        )
    await wait_all_tasks_blocked()
    arrivals.arrived([with_properties("a\x011\x02"), with_properties("a\x012\x02", 1)])
    await passes(3)
    assert arrivals.waiting == 0
    nursery.start_soon(arrivals.ask_later)
    await wait_all_tasks_blocked()
    # In turn, within a second.
    assert all(2 <= waiting.ended <= 3 for waiting in pulls)


async def test_many_pulls_are_woken_one_group_after_the_other(mock_clock, arrivals, nursery):
    """Each reads and answers in the round in which it wakes: 500 of them would keep everybody waiting."""
    answered: list[int] = []

    async def pull(number: int) -> None:
        assert await arrivals.wait("T", 0, 0, None, 60)
        answered.append(number)

    async with trio.open_nursery() as pulls:
        for number in range(500):
            pulls.start_soon(pull, number)
        await wait_all_tasks_blocked()
        nursery.start_soon(arrivals.ask_later)
        await wait_all_tasks_blocked()
        arrivals.arrived([message(0)])
        before, rounds = 0, 0
        while len(answered) < 500:
            await trio.lowlevel.checkpoint()
            assert len(answered) - before <= 64
            before, rounds = len(answered), rounds + 1
            # More messages change nothing for those that are called already.
            arrivals.arrived([message(rounds)])
        assert rounds >= 500 // 64
    assert arrivals.waiting == 0
    assert sorted(answered) == list(range(500))
