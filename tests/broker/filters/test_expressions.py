"""Texts are read once, in steps; only so many are remembered."""

from typing import TypeVar

import pytest
import trio

from trimq.base.step_queue import StepQueue, Steps
from trimq.broker.filters.expressions import Expressions
from trimq.codec.sql.building import Unreadable
from trimq.codec.sql.expression import Expression
from trimq.remoting.testing import RecordingPeer

SQL = "SQL92"
T = TypeVar("T")


async def test_what_was_read_is_known() -> None:
    expressions = Expressions()
    assert expressions.find(SQL, "a > 5") is None
    await expressions.read(["a > 5", "a >"], RecordingPeer())
    found = expressions.find(SQL, "a > 5")
    assert isinstance(found, Expression)
    assert expressions.find(SQL, "a > 5") is found
    assert isinstance(expressions.find(SQL, "a >"), Unreadable)


def test_other_types_are_never_known() -> None:
    for kind in ("ELVISH", "sql92", None):
        assert isinstance(Expressions().find(kind, "a > 5"), Unreadable)


def test_at_a_start_there_is_no_loop() -> None:
    expressions = Expressions()
    found = expressions.read_now(SQL, "a > 5")
    assert isinstance(found, Expression)
    assert expressions.read_now(SQL, "a > 5") is found
    assert isinstance(expressions.read_now(SQL, "a >"), Unreadable)


async def test_the_last_ones_are_remembered() -> None:
    expressions = Expressions(remembered=1000)
    texts = [f"a = '{number:050d}'" for number in range(20)]
    await expressions.read(texts, RecordingPeer())
    known = [text for text in texts if expressions.find(SQL, text) is not None]
    assert 0 < len(known) < 10
    assert known == texts[-len(known) :]
    await expressions.read([known[0]], RecordingPeer())
    await expressions.read(["b = 5"], RecordingPeer())
    assert expressions.find(SQL, known[0]) is not None


async def test_a_text_beyond_all_limits_is_known_until_the_next_one() -> None:
    expressions = Expressions(remembered=10)
    long = "a = '" + "x" * 5000 + "'"
    await expressions.read([long], RecordingPeer())
    assert isinstance(expressions.find(SQL, long), Expression)


async def test_others_have_their_turn_while_a_long_text_is_read() -> None:
    expressions = Expressions()
    await expressions.read(["a"], RecordingPeer())
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await trio.lowlevel.checkpoint()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(count)
        await expressions.read([" OR ".join(["a = 'x'"] * 1000)], RecordingPeer())
        nursery.cancel_scope.cancel()
    assert turns > 50


class Connected(RecordingPeer):
    """One of several connections that divide the loop."""

    __slots__ = ("queue",)

    def __init__(self, queue: StepQueue, number: int) -> None:
        super().__init__(f"10.0.0.{number}:4000", number)
        self.queue = queue

    async def in_turn(self, steps: Steps[T]) -> T:
        return await self.queue.run(steps)


LONG_TEXTS = {
    "terms": " OR ".join(["a = 'x'"] * 7000),
    "remarks": "/**/" * 16_000,
    "lines": "--\n" * 20_000,
    "dashes": "-" * 65_000,
    "numbers": "a IN ('x'" + ",'x'" * 15_000 + ")",
}


@pytest.mark.parametrize("long", LONG_TEXTS.values(), ids=LONG_TEXTS)
async def test_a_long_text_does_not_hold_up_another_clients(long: str) -> None:
    """However long it takes, the other one is read step by step beside it; when its client goes, so does the rest."""
    expressions, queue = Expressions(), StepQueue()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(expressions.read, [long], Connected(queue, 1))
        while not queue.steps:
            await trio.lowlevel.checkpoint()
        before = queue.steps
        await expressions.read(["a = 1"], Connected(queue, 2))
        assert isinstance(expressions.find(SQL, "a = 1"), Expression)
        assert queue.steps - before <= 3
        nursery.cancel_scope.cancel()
    assert queue.waiting == 0


async def test_what_another_client_has_read_meanwhile_is_not_read_to_the_end() -> None:
    expressions, queue = Expressions(), StepQueue()
    text = " OR ".join(["a = 'x'"] * 200)
    async with trio.open_nursery() as nursery:
        for number in range(10):
            nursery.start_soon(expressions.read, [text], Connected(queue, number))
    alone = StepQueue()
    await Expressions().read([text], Connected(alone, 1))
    assert queue.steps <= 10 * (alone.steps + 1)
    assert isinstance(expressions.find(SQL, text), Expression)
