"""Who is told to hurry, and what the place answers; tests/trimq/wiring plays it with a whole broker."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from trimq.store.opening.recovery_points import LOOKS, RecoveryPoint, RecoveryPoints, Unit

BOUND = 6400


class Log:
    """A log that ends somewhere, and points that are behind it."""

    def __init__(self) -> None:
        self.end = 0
        self.points = RecoveryPoints(lambda: self.end, lambda: BOUND)
        self.hurried: list[str] = []
        self.positions: dict[str, int] = {}

    def declare(self, name: str, unit: Unit, **more: Any) -> None:
        self.positions[name] = 0
        self.points.declare(
            RecoveryPoint(
                name,
                "it is a test",
                unit,
                lambda: self.positions[name],
                hurry=lambda: self.hurried.append(name),
                **more,
            )
        )

    def write_to(self, end: int) -> None:
        self.end = end
        self.points.written()


@pytest.fixture
def log() -> Log:
    return Log()


@pytest.mark.parametrize(
    ("unit", "most"),
    [(Unit.RECOVERY, BOUND), (Unit.LOG, BOUND), (Unit.LATER, BOUND), (Unit.QUEUES, BOUND // 4)],
)
def test_who_is_further_behind_than_the_bound_is_told(log: Log, unit: Unit, most: int) -> None:
    log.declare("a", unit)
    log.write_to(most)
    assert log.hurried == []
    log.write_to(most + most // LOOKS + 1)
    assert log.hurried == ["a"]
    # Written down: nothing more to do.
    log.positions["a"] = log.end
    log.write_to(2 * most)
    assert log.hurried == ["a"]


def test_not_each_write_is_a_look(log: Log) -> None:
    log.declare("a", Unit.LOG)
    log.write_to(2 * BOUND)
    log.write_to(2 * BOUND + 1)
    assert log.hurried == ["a"]
    log.write_to(2 * BOUND + BOUND // LOOKS + 1)
    assert log.hurried == ["a", "a"]
    # After a cut, whatever was looked at is no more.
    log.write_to(BOUND + 1)
    assert log.hurried == ["a", "a", "a"]


def test_few_records_in_much_log(log: Log) -> None:
    log.declare("a", Unit.QUEUES, owed=lambda: 10)
    log.write_to(100 * BOUND)
    assert log.hurried == []
    (debt,) = log.points.debts()
    assert (debt.position, debt.size, debt.cost) == (0, 10, 40)


def test_where_the_store_begins(log: Log) -> None:
    log.end = 100
    assert log.points.begin() == 100
    for name, unit, position in (
        ("far behind, but by itself", Unit.LOG, 1),
        ("b", Unit.RECOVERY, 50),
        ("c", Unit.RECOVERY, 70),
    ):
        log.declare(name, unit)
        log.positions[name] = position
    assert log.points.begin() == 50
    assert [debt.point.name for debt in log.points.debts()] == [
        "far behind, but by itself",
        "b",
        "c",
    ]


def test_what_cost_most_comes_first(log: Log) -> None:
    log.declare("a", Unit.LOG)
    log.declare("b", Unit.QUEUES)
    log.declare("c", Unit.LOG)
    a, b, _ = log.points
    a.has_read(7, 300, 0.1)
    b.has_read(9, 100, 0.2)
    assert [(name, reread.position) for name, reread in log.points.rereads] == [("b", 9), ("a", 7)]


def test_a_name_is_ones_own(log: Log) -> None:
    log.declare("a", Unit.LOG)
    with pytest.raises(ValueError, match="two recovery points are called 'a'"):
        log.declare("a", Unit.QUEUES)


def test_an_index_that_is_made_anew_is_named(bench: Any) -> None:
    store = bench.open()
    for number in range(6):
        store.put(bench.message(b"x", properties=b"KEYS\x01K%d\x02" % number))
    while store.write_derived():
        pass
    store.plan_checkpoint().run()
    assert store.recovery_points.debts()[0].size < 200
    bench.kill(store)
    for path in (bench.root / "index").iterdir():
        path.write_bytes(b"\xff" * path.stat().st_size)
    store = bench.open()
    rereads = dict(store.recovery_points.rereads)
    queues, index = rereads["consume queues"], rereads["message index"]
    assert index.position == 0
    assert index.size == queues.position > queues.size > 0
    for number in range(6):
        search = store.plan_query("T", f"K{number}", 8, 0, 1 << 60)
        search.run()
        assert len(search.offsets) == 1


def test_nobody_is_looked_at_before_he_can_be_behind_the_bound(log: Log) -> None:
    """Looks may be costly, and most writes are of others."""
    looks = []

    def owed() -> int:
        looks.append(log.end)
        return 0

    log.declare("a", Unit.QUEUES, owed=owed)
    for end in range(0, 10 * BOUND, 100):
        log.write_to(end)
    assert len(looks) <= 4 * 10 + 1
    assert all(after - before >= BOUND // 4 for before, after in pairwise(looks))
