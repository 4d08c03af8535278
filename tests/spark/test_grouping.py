"""Which ranges a task gets: all of them once, about equally many messages, within the bounds."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from trimq.spark.planning.grouping import group
from trimq.spark.queues import Range

lengths = st.lists(st.tuples(st.integers(0, 3), st.integers(1, 400)), min_size=1, max_size=60)
optional = st.none() | st.integers(1, 90)


def ranges(sizes: list[tuple[int, int]]) -> list[Range]:
    return [
        Range("T", f"b{broker}", number, f"b{broker}:1", 5, 5 + size)
        for number, (broker, size) in enumerate(sizes)
    ]


@given(lengths, optional, optional)
def test_groups_are_the_whole(
    sizes: list[tuple[int, int]], least: int | None, most: int | None
) -> None:
    whole = ranges(sizes)
    groups = group(whole, least, most)
    read = Counter(
        (one.broker_name, one.queue_id, offset)
        for parts in groups
        for one in parts
        for offset in range(one.start, one.end)
    )
    wanted = Counter(
        (one.broker_name, one.queue_id, o) for one in whole for o in range(one.start, one.end)
    )
    assert read == wanted
    total = sum(one.count for one in whole)
    if most is not None:
        assert max(sum(one.count for one in parts) for parts in groups) <= most
    assert len(groups) >= min(least or 1, total)
    assert all(groups)


def test_no_ranges_make_no_groups() -> None:
    assert group([], None, None) == []
    assert group([], 7, 7) == []


def test_few_queues_have_a_task_each_as_ever() -> None:
    assert [len(parts) for parts in group(ranges([(0, 10)] * 8), None, None)] == [1] * 8
    assert len(group(ranges([(0, 100_000)] * 16), None, None)) == 16


def test_thousands_of_small_queues_are_a_few_tasks_of_equal_size() -> None:
    groups = group(ranges([(n % 2, 1 + n % 2) for n in range(14_000)]), None, None)
    assert len(groups) == 32
    sizes = [len(parts) for parts in groups]
    assert max(sizes) < 1.1 * min(sizes)
    # Queues of one broker are together: all but one task need one connection.
    assert sum(len({one.addr for one in parts}) > 1 for parts in groups) <= 1


def test_a_long_queue_does_not_hide_behind_short_ones() -> None:
    groups = group(ranges([(0, 10)] * 500 + [(0, 1_000_000)] + [(0, 10)] * 500), 20, None)
    assert len(groups) >= 20
    (longest,) = [parts for parts in groups if any(one.count > 10 for one in parts)]
    assert sum(one.count for one in longest) < 1_010_000


def test_many_messages_are_many_tasks() -> None:
    assert len(group(ranges([(0, 100_000)] * 200), None, None)) == 200
    assert len(group(ranges([(0, 10_000)] * 2000), None, None)) >= 400


def test_bounds_cut_long_queues() -> None:
    assert len(group(ranges([(0, 1000)] * 2), 10, None)) >= 10
    assert [len(parts) for parts in group(ranges([(0, 1000)]), None, 300)] == [1] * 4
