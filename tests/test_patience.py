"""Waiting until something holds: its answer, and what is said when it does not come to that."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import trio
import trio.testing

from tests.patience import PATIENCE, until, until_in_trio


def test_the_answer_that_held_comes_back() -> None:
    answers = iter([0, 0, 7])
    assert until(lambda: next(answers), pause=0) == 7


def test_what_was_awaited_and_seen_last_is_said() -> None:
    numbers = itertools.count()
    with pytest.raises(AssertionError, match=r"not within 0.01 s: the slave; at last: \[\]"):
        until(lambda: [], "the slave", 0.01)
    with pytest.raises(AssertionError, match=r"not within 0 s: after \d; at last: False"):
        until(lambda: next(numbers) < 0, lambda: f"after {next(numbers)}", 0)


def test_an_excused_error_is_an_answer_that_does_not_hold() -> None:
    def fails() -> bool:
        raise OSError(failures.pop())

    failures = [1, 2]
    with pytest.raises(IndexError):
        until(fails, pause=0, excused=(OSError,))
    failures = [5]
    with pytest.raises(AssertionError, match=r"at last: OSError\(5\)"):
        until(fails, "it", 0, excused=(OSError,))


async def test_others_go_on_by_the_clock_of_the_run(autojump_clock: Any) -> None:
    async def later() -> None:
        await trio.sleep(PATIENCE - 1)
        done.set()

    done = trio.Event()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(later)
        await until_in_trio(done.is_set, pause=10)
    assert PATIENCE - 1 <= trio.current_time() <= PATIENCE + 10
    with pytest.raises(AssertionError, match=r"not within 180 s: rain; at last: False"):
        await until_in_trio(lambda: False, "rain", pause=10)


async def test_a_clock_that_stands_still_is_left_alone(
    mock_clock: trio.testing.MockClock, nursery: trio.Nursery
) -> None:
    done = trio.Event()
    nursery.start_soon(done.wait)
    questions = iter([False, False, True])
    assert await until_in_trio(lambda: next(questions), pause=0)
    assert trio.current_time() == 0
    done.set()
