"""Waiting until something holds, with patience for a busy machine; what has not come to hold is said with what it was.

It imports nothing of TriMQ, so that no part of the tests depends on it for the product's sake.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, TypeVar

import trio
import trio.testing

T = TypeVar("T")

# For what takes a moment, or its server's next round: beside three other parts of the tests that is ten times as long.
PATIENCE: Final = 180.0
# Most of what is awaited is there in a moment, and the rest is not asked about all the time.
FIRST_PAUSE: Final = 0.005
LONGEST_PAUSE: Final = 0.1
# In a Trio loop, where nothing else looks at the machine.
SHORT_PAUSE: Final = 0.01
# Where the line of the call says what is awaited.
IT: Final = "it holds"

# A test that asks until something holds does not wait by the clock (tests/clock.py counts what it calls `time.sleep`).
_pause: Final = time.sleep


def until(
    holds: Callable[[], T],
    what: str | Callable[[], str] = IT,
    seconds: float = PATIENCE,
    *,
    pause: float = LONGEST_PAUSE,
    excused: tuple[type[BaseException], ...] = (),
) -> T:
    """Ask until the answer is true, and return it; AssertionError with the last one when that takes longer.

    `what` is awaited, or says it when it has not come; `pause` is the longest between two questions. What is `excused`
    is an answer that is not true.
    """
    began, between = time.monotonic(), min(FIRST_PAUSE, pause)
    while True:
        seen: object
        try:
            if found := holds():
                return found
            seen = found
        except excused as error:
            seen = error
        if time.monotonic() - began > seconds:
            raise AssertionError(_not(what, seconds, seen))
        _pause(between)
        between = min(2 * between, pause)


async def until_in_trio(
    holds: Callable[[], T],
    what: str | Callable[[], str] = IT,
    seconds: float = PATIENCE,
    *,
    pause: float = SHORT_PAUSE,
) -> T:
    """The same while other tasks go on, by the clock of the run, which may be a mock.

    `pause`: 0 leaves that clock alone, for those that stand still, and asks when all tasks wait for something.
    """
    now = trio.current_time if pause else time.monotonic
    began, between = now(), min(FIRST_PAUSE, pause)
    while not (found := holds()):
        if now() - began > seconds:
            raise AssertionError(_not(what, seconds, found))
        if pause:
            await trio.sleep(between)
        else:
            await trio.testing.wait_all_tasks_blocked(0.001)
        between = min(2 * between, pause)
    return found


def _not(what: str | Callable[[], str], seconds: float, seen: object) -> str:
    awaited = what if isinstance(what, str) else what()
    return f"not within {seconds:g} s: {awaited}; at last: {seen!r}"
