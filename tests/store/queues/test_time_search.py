"""Offsets by time against the rule, spelled out over a plain list."""

from __future__ import annotations

from bisect import bisect_left
from itertools import accumulate
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimq.store.queues.plain import time_search


def lower(times, moment):
    """The first message at or after the moment."""
    return next((at for at, time in enumerate(times) if time >= moment), len(times))


def upper(times, moment):
    """The last message at or before the moment; the first of all when there is none."""
    return max((at for at, time in enumerate(times) if time <= moment), default=0)


def fill(bench, store, times):
    for time in times:
        bench.clock.millis = time - 1
        store.put(bench.message(b""))


@given(
    steps=st.lists(st.integers(0, 3), min_size=1, max_size=23),
    moment=st.integers(995, 1075),
    expired=st.integers(0, 2),
)
def test_search_equals_its_rule(bench, steps, moment, expired):
    with TemporaryDirectory() as folder:
        bench.root = Path(folder)
        store = bench.open()
        times, now = [], 1000
        for step in steps:
            now += step
            times.append(now)
        fill(bench, store, times)
        files = bench.commit_log_files()[:-1][:expired]
        if files:
            bench.close(store)
            for file in files:
                file.unlink()
            store = bench.open()
        first = store.min_offset("T", 0)
        assert store.offset_by_time("T", 0, moment) == max(lower(times, moment), first)
        found = store.offset_by_time("T", 0, moment, upper=True)
        assert found == max(upper(times, moment), first)
        bench.kill(store)


@pytest.mark.parametrize(
    ("moment", "first", "last"),
    [(999, 0, 0), (1000, 0, 2), (1001, 3, 2), (1002, 3, 4), (1003, 5, 4)],
)
def test_a_moment_between_two_messages(bench, moment, first, last):
    """The example in ConsumeQueue's own words: t1 t1 t1 t3 t3."""
    store = bench.open(mapped_file_size_consume_queue=2000)
    fill(bench, store, [1000, 1000, 1000, 1002, 1002])
    assert store.offset_by_time("T", 0, moment) == first
    assert store.offset_by_time("T", 0, moment, upper=True) == last


@given(
    steps=st.lists(st.sampled_from([0, 0, 0, 1, 1, 2, 50, 4000, 10**7]), min_size=1, max_size=900),
    start=st.integers(0, 5),
    data=st.data(),
)
def test_uneven_rates(steps, start, data):
    """Bursts, batches and breaks: right always, with a few looks more than halving takes."""
    times = list(accumulate(steps))
    moment = data.draw(st.sampled_from(times)) + data.draw(st.sampled_from([-1, 0, 1]))
    looks = []

    def time_of(offset):
        looks.append(offset)
        return times[offset - start]

    found = time_search.first_from(moment, start, start + len(times), time_of)
    assert found == start + bisect_left(times, moment)
    assert len(looks) <= 8 + len(times).bit_length()


@pytest.mark.parametrize("rate", [1, 30, 1000])
def test_a_queue_a_thousand_times_as_long_takes_no_more_looks(rate):
    worst = {}
    for length in (50_000, 50_000_000):
        counts = []
        for share in range(1, 200):
            looks = []

            def time_of(offset, looks=looks):
                looks.append(offset)
                return 10**12 + offset // rate

            moment = 10**12 + length // rate * share // 200
            found = time_search.first_from(moment, 0, length, time_of)
            assert found == (moment - 10**12) * rate
            counts.append(len(looks))
        worst[length] = max(counts)
    assert worst[50_000_000] <= worst[50_000] + 2 <= 17


def test_without_messages_it_is_zero(bench):
    store = bench.open()
    assert store.offset_by_time("T", 0, 5) == store.offset_by_time("T", 0, 5, upper=True) == 0
