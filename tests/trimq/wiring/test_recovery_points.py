"""Each recovery point: left far behind, killed, opened; the place names it, its writer keeps to the bound, and nothing
is lost.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import trio

from tests.trimq.wiring.recovery import BOUND, CASES, UNBOUND, Case, Running, largest
from trimq.store.checking.check import StoreCheck

pytestmark = pytest.mark.usefixtures("no_threads")


async def steps(running: Running, case: Case, first: int, end: int) -> None:
    for number in range(first, end):
        await case.step(running, number)
        await trio.sleep(0.01)


async def test_each_of_them_is_tested(tmp_path: Path, autojump_clock: Any) -> None:
    """Whoever declares one more has to leave it far behind, too."""
    running = Running(tmp_path, BOUND)
    assert {point.name for point in running.points} == set(CASES)
    assert all(point.why for point in running.points)
    await running.kill()
    assert {one.who for one in StoreCheck(tmp_path).run().rereads} == set(CASES)


@pytest.mark.parametrize("name", CASES)
async def test_left_far_behind(
    name: str, tmp_path: Path, nursery: trio.Nursery, autojump_clock: Any
) -> None:
    """Nobody keeps to a bound: the place says who it is, `trimq check` says it, and nothing is lost."""
    case = CASES[name]
    running = Running(tmp_path, UNBOUND)
    case.begin(running)
    if name in {"timer wheel", "popped messages"}:
        # What is due has to leave the wheel, or nothing would have to be read.
        nursery.start_soon(running.serve)
    await steps(running, case, 0, case.steps)
    left = running.debt(name)
    assert left.cost > BOUND
    await running.kill()
    said = {one.who: one for one in StoreCheck(tmp_path).run().rereads}
    assert abs(said[name].size - left.size) <= max(left.size // 10, 2000)
    again = Running(tmp_path, BOUND)
    if case.is_read_at_start:
        read = dict(again.points.rereads)[name]
        assert read.size * left.point.unit.weight > BOUND
        assert read.position <= left.position
    else:
        assert again.debt(name).cost > BOUND
    nursery.start_soon(again.serve)
    await case.check(again, case.steps)
    await again.kill()


@pytest.mark.parametrize("name", CASES)
async def test_its_writer_keeps_to_the_bound(
    name: str, tmp_path: Path, nursery: trio.Nursery, autojump_clock: Any
) -> None:
    case = CASES[name]
    running = Running(tmp_path, BOUND)
    case.begin(running)
    nursery.start_soon(running.serve)
    await trio.sleep(0.01)
    written = most = 0
    for number in range(case.steps):
        before = running.store.max_physical_offset
        await steps(running, case, number, number + 1)
        written = max(written, running.store.max_physical_offset - before)
        debt = running.debt(name)
        most = max(most, debt.cost)
        assert debt.cost <= largest(debt, written), number
    await running.kill()
    again = Running(tmp_path, BOUND)
    if case.is_read_at_start:
        read = dict(again.points.rereads)[name]
        assert read.size * debt.point.unit.weight <= largest(debt, written)
    nursery.start_soon(again.serve)
    await case.check(again, case.steps)
    await again.kill()
