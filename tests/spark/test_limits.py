"""How a limit is shared: nobody gets more than there is, and nobody starves."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimq.spark.options.positions import Offsets
from trimq.spark.planning.limits import share


def offsets(counts: list[int]) -> Offsets:
    return {("T", "b", number): count for number, count in enumerate(counts)}


@pytest.mark.parametrize(
    ("most", "shares"),
    [
        (None, [1, 5, 100]),
        (200, [1, 5, 100]),
        (30, [1, 5, 24]),
        (7, [1, 3, 3]),
    ],
)
def test_short_queues_whole_long_ones_equally(most: int | None, shares: list[int]) -> None:
    assert share(offsets([1, 5, 100]), most, offsets([0, 0, 0])) == offsets(shares)


backlogs = st.lists(st.integers(0, 50), min_size=1, max_size=30)


@given(backlogs, st.integers(1, 200), st.integers(0, 1000))
def test_a_limit_is_used_up_and_kept(counts: list[int], most: int, begin: int) -> None:
    backlog = {key: count for key, count in offsets(counts).items() if count}
    starts = {key: begin for key in offsets(counts)}
    found = share(backlog, most, starts)
    assert sum(found.values()) == min(most, sum(backlog.values()))
    assert found.keys() == backlog.keys()
    assert all(0 <= found[key] <= count for key, count in backlog.items())
    long = [found[key] for key in found if found[key] < backlog[key]]
    # Those that are not read whole get the same, but for one.
    assert not long or max(long) - min(long) <= 1
    assert not long or max(found.values()) <= max(long) + 1


@given(
    st.lists(st.integers(1, 10_000), min_size=2, max_size=30),
    st.integers(1, 10),
    st.integers(0, 30),
    st.integers(0, 1 << 30),
)
def test_every_queue_has_its_turn(begins: list[int], most: int, idle: int, seed: int) -> None:
    """Queues of endless backlog, others that nothing is written to, a limit below their number."""
    starts = offsets([*begins, *([7] * idle)])
    backlogged = sorted(random.Random(seed).sample(sorted(starts), len(begins)))
    most = min(most, len(begins))
    turns = -(-len(starts) // most) + 1
    served = dict.fromkeys(backlogged, 0)
    for _ in range(turns):
        for key, count in share(dict.fromkeys(backlogged, 1000), most, starts).items():
            served[key] += count
            starts[key] += count
    assert min(served.values()) > 0


def test_turns_are_equally_many() -> None:
    """The limit of three over ten queues that let seven of them wait for ever."""
    starts = offsets([1000 * n for n in range(10)])
    before = dict(starts)
    for _ in range(50):
        for key, count in share(dict.fromkeys(starts, 9999), 3, starts).items():
            starts[key] += count
    assert {starts[key] - before[key] for key in starts} == {15}
