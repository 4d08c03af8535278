"""Pulls that wait at closed starts."""

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from trimq.broker.elastic.gate_waits import Gates


async def test_a_waiting_pull_ends_with_its_time(autojump_clock: MockClock) -> None:
    gates = Gates()
    began = trio.current_time()
    assert await gates.wait("g", "t", 15)
    assert trio.current_time() - began == pytest.approx(15)
    assert gates.waiting == 0


async def test_it_ends_at_once_when_a_gate_of_its_group_opens(
    nursery: trio.Nursery, autojump_clock: MockClock
) -> None:
    gates = Gates()
    done: list[str] = []

    async def wait(group: str) -> None:
        await gates.wait(group, "t", 15)
        done.append(group)

    nursery.start_soon(wait, "g")
    nursery.start_soon(wait, "other")
    await wait_all_tasks_blocked()
    began = trio.current_time()
    gates.opened("g", "t")
    await wait_all_tasks_blocked()
    assert (done, trio.current_time()) == (["g"], began)


async def test_no_more_may_wait_than_are_allowed(nursery: trio.Nursery) -> None:
    gates = Gates(1)
    nursery.start_soon(gates.wait, "g", "t", 15)
    await wait_all_tasks_blocked()
    assert not await gates.wait("g", "t", 15)
    nursery.cancel_scope.cancel()


def test_pauses_grow_up_to_a_second_and_begin_anew_when_a_gate_opens() -> None:
    gates = Gates()
    assert [gates.pause("g", "t", 0) for _ in range(7)] == [0.05, 0.1, 0.2, 0.4, 0.8, 1.0, 1.0]
    assert gates.pause("g", "t", 1) == 0.05
    gates.opened("g", "t")
    assert gates.pause("g", "t", 0) == 0.05
