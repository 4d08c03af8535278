"""The clock in the hand of a test, on Trio's mock clock: who waits by it, and what peers' times are on it."""

from __future__ import annotations

import time
from math import inf

import pytest
import trio
import trio.testing

from trimq.base.clock import Clock
from trimq.base.waits import Waited, Waiter, Waits, Wakeup
from trimq.hand.clock import HandClock


def test_it_is_the_machines_at_first() -> None:
    clock, real = HandClock(), Clock()
    assert abs(clock.millis() - real.millis()) < 1000
    assert abs(clock.steady_millis() - real.steady_millis()) < 1000
    assert (clock.speed, clock.ahead) == (1, 0)


async def test_moved_and_stopped() -> None:
    clock = HandClock()
    clock.run_at(0)
    stopped = clock.millis()
    clock.move_to(stopped + 5000)
    assert clock.millis() == clock.steady_millis() == stopped + 5000
    assert clock.current_time() == pytest.approx((stopped + 5000) / 1000)
    clock.move_to(stopped)
    assert clock.millis() == stopped + 5000


async def test_who_sleeps_is_woken_when_the_time_is_moved(
    nursery: trio.Nursery, mock_clock: trio.testing.MockClock
) -> None:
    clock = HandClock()
    clock.run_at(0)
    woken: list[int] = []

    async def sleeps(seconds: int) -> None:
        await clock.sleep(seconds)
        woken.append(seconds)

    for seconds in (10, 20, 30):
        nursery.start_soon(sleeps, seconds)
    await trio.testing.wait_all_tasks_blocked()
    for moved, there in ((9_000, []), (2_000, [10]), (9_000, [10, 20])):
        clock.move_to(clock.millis() + moved)
        await trio.testing.wait_all_tasks_blocked()
        assert woken == there
    # A stopped clock wakes nobody; one that goes again, the last.
    mock_clock.jump(1000)
    await trio.testing.wait_all_tasks_blocked()
    assert woken == [10, 20]
    clock.run_at(1000)
    mock_clock.jump(1)
    await trio.testing.wait_all_tasks_blocked()
    assert woken == [10, 20, 30]


async def test_a_stopped_clock_that_is_moved_to_a_millisecond_is_there() -> None:
    """Whatever became of the milliseconds as seconds, in a float."""
    clock = HandClock()
    clock.run_at(0)
    for millis in range(1, 3000):
        due = clock.millis() + millis
        with clock.move_on_after((due - clock.millis()) / 1000) as scope:
            clock.move_to(due - 1)
            assert scope.deadline == inf
            clock.move_to(due)
            assert scope.deadline <= trio.current_time()
    with clock.move_on_after(inf) as scope:
        clock.move_to(clock.millis() + 10**12)
        assert scope.deadline == inf


async def test_a_service_that_is_about_to_wait_sees_that_the_time_is_moved(
    nursery: trio.Nursery,
) -> None:
    """It has said how long, and others have their turn before it waits. Trio draws who that is."""
    clock = HandClock()
    clock.run_at(0)
    late: list[int] = []

    async def waits() -> None:
        due = clock.millis() + 10_000
        await Wakeup(clock).wait(10)
        late.append(clock.millis() - due)

    for _ in range(30):
        nursery.start_soon(waits)
        await trio.lowlevel.checkpoint()
        # Where it had not begun when the time was moved, the second one is its own.
        for _ in range(2):
            clock.move_to(clock.millis() + 10_000)
            await trio.testing.wait_all_tasks_blocked()
    assert late == [0] * 30


async def test_a_clock_stops_at_a_whole_millisecond() -> None:
    """Or somebody who waits for the next one would be woken before it, again and again."""
    clock = HandClock()
    for _ in range(50):
        clock.run_at(1)
        clock.run_at(0)
        assert clock.millis() == pytest.approx(clock.current_time() * 1000, abs=0.001)


async def test_peers_are_not_kept_waiting_by_a_stopped_clock(
    nursery: trio.Nursery, mock_clock: trio.testing.MockClock
) -> None:
    """They have their own: who holds their requests answers when that says so."""
    clock = HandClock()
    clock.run_at(0)
    waits = Waits[Waiter](clock=clock)
    ends: list[Waited] = []

    async def holds() -> None:
        ends.append(await waits.hold(Waiter(("T", "G", 0)), 15))

    async def moved(real: float, hand: float) -> int:
        mock_clock.jump(real)
        clock.move_to(clock.millis() + hand * 1000)
        await trio.testing.wait_all_tasks_blocked()
        return len(ends)

    nursery.start_soon(holds)
    await trio.testing.wait_all_tasks_blocked()
    assert await moved(14, 0) == 0
    assert await moved(2, 0) == 1
    nursery.start_soon(holds)
    await trio.testing.wait_all_tasks_blocked()
    assert await moved(0, 14) == 1
    assert await moved(0, 2) == 2
    assert ends == [Waited.TIME_OUT] * 2


async def test_a_service_waits_by_it_alone(autojump_clock: object) -> None:
    clock = HandClock()
    clock.run_at(0)
    wakeup = Wakeup(clock)
    with trio.move_on_after(1000) as scope:
        await wakeup.wait(1)
    assert scope.cancelled_caught
    wakeup.give()
    assert await wakeup.wait(inf)


def test_what_a_peer_said_is_translated() -> None:
    """Also if that was before the time was moved."""
    clock = HandClock()
    real = Clock()
    before = real.millis() - 10
    assert clock.of_peer(before) == before
    time.sleep(0.002)
    clock.move_to(clock.millis() + 3_600_000)
    assert abs(clock.of_peer(real.millis()) - clock.millis()) < 1000
    assert clock.of_peer(before) == before
    assert real.of_peer(7) == 7
