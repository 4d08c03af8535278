"""Offsets by time against the rule, spelled out over a plain list."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codec.batch import BatchItem
from store import time_search


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


@pytest.mark.parametrize("count", [1, 2, 3, 200, 255, 256, 257])
@pytest.mark.parametrize("before", [0, 1, 7])
def test_a_long_batch_is_not_gone_through_one_by_one(bench, monkeypatch, before, count):
    store = bench.open(mapped_file_size_consume_queue=20_000, mapped_file_size_commit_log=1 << 20)
    fill(bench, store, [1000] * before)
    bench.clock.millis = 1999
    store.stage_batch(bench.message(b""), [BatchItem(0, b"", b"")] * count)
    store.write_staged()
    fill(bench, store, [3000] * before)
    looks = []
    real = time_search.store_timestamp

    def counting(*arguments):
        looks.append(arguments)
        return real(*arguments)

    monkeypatch.setattr(time_search, "store_timestamp", counting)
    assert store.offset_by_time("T", 0, 2000) == before
    assert store.offset_by_time("T", 0, 2000, upper=True) == before + count - 1
    assert len(looks) < 60


def test_without_messages_it_is_zero(bench):
    store = bench.open()
    assert store.offset_by_time("T", 0, 5) == store.offset_by_time("T", 0, 5, upper=True) == 0
