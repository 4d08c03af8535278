"""Reads with a filter over properties: what they find, where they pause, what a worker thread judges."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cold import make_cold
from tests.interpreted import needs_plain_log
from tests.store.conftest import Bench
from trimq.broker.filters.message_filters import ExpressionFilter
from trimq.broker.filters.verdicts import PropertyVerdicts
from trimq.codec.flags import SysFlag
from trimq.codec.sql.grammar import parse
from trimq.store import native
from trimq.store.errors import MessagesGone
from trimq.store.message_store import MessageStore
from trimq.store.reading.pulls import ReadResult, ReadStatus, Scan

BIG = 1 << 20
ROOMY = {"mapped_file_size_commit_log": 4 * BIG, "mapped_file_size_consume_queue": 20 * 1000}


def wanted(text: str, *, remembers: bool = True) -> ExpressionFilter:
    expression = parse(text)
    return ExpressionFilter(expression, PropertyVerdicts().by(expression) if remembers else None)


def numbered(number: int, **more: object) -> bytes:
    pairs = {
        "UNIQ_KEY": f"U{number}",
        "n": number,
        "third": "yes" if number % 3 == 2 else "no",
        **more,
    }
    return "".join(f"{name}\x01{value}\x02" for name, value in pairs.items()).encode()


def fill(bench: Bench, store: MessageStore, count: int, size: int = 10) -> None:
    for number in range(count):
        properties = numbered(number)
        store.put(bench.message(b"x" * size, properties=properties))


def through(scan: Scan, store: MessageStore) -> ReadResult:
    """All steps, and the judge's part as a worker thread would do it."""
    steps = 0
    while scan.is_paused:
        steps += 1
        assert steps < 1000
        if scan.cold:
            held = store.hold(scan.cold)
            scan.know(scan.judge(held))
            held.release()
        scan.go_on()
    return scan.result


def numbers(store: MessageStore, result: ReadResult) -> list[int]:
    data = b"".join(bytes(part) for part in store.load_blocking(result.extents))
    return [int(piece.split(b"\x02", 1)[0]) for piece in data.split(b"\x02n\x01")[1:]]


@pytest.mark.parametrize("size", [10, 3000, 30_000], ids=["small", "apart", "large"])
def test_what_matches_is_found(bench: Bench, size: int) -> None:
    store = bench.open(**ROOMY)
    fill(bench, store, 20, size)
    result = through(store.scan("T", 0, 0, 32, wanted("third = 'yes'")), store)
    assert (result.status, result.next_begin_offset) == (ReadStatus.FOUND, 20)
    assert numbers(store, result) == [2, 5, 8, 11, 14, 17]
    assert (result.min_offset, result.max_offset) == (0, 20)


def test_nothing_matches(bench: Bench) -> None:
    store = bench.open(**ROOMY)
    fill(bench, store, 20)
    result = through(store.scan("T", 0, 5, 32, wanted("n > 100")), store)
    assert (result.status, result.next_begin_offset) == (ReadStatus.NO_MATCHED_MESSAGE, 20)


def test_outside_the_queue_nothing_is_asked(bench: Bench) -> None:
    store = bench.open(**ROOMY)
    assert store.scan("T", 0, 0, 32, wanted("a")).result.status == ReadStatus.NO_MESSAGE_IN_QUEUE
    fill(bench, store, 2)
    for offset, status in ((-1, ReadStatus.OFFSET_TOO_SMALL), (2, ReadStatus.OFFSET_OVERFLOW_ONE)):
        scan = store.scan("T", 0, offset, 32, wanted("a"))
        assert (scan.is_paused, scan.result.status) == (False, status)


def test_it_looks_at_800_entries(bench: Bench) -> None:
    store = bench.open(**ROOMY)
    fill(bench, store, 900)
    scan = store.scan("T", 0, 0, 32, wanted("n = 850"))
    assert scan.is_paused
    result = through(scan, store)
    assert (result.status, result.next_begin_offset) == (ReadStatus.NO_MATCHED_MESSAGE, 800)
    result = through(store.scan("T", 0, 800, 32, wanted("n = 850")), store)
    assert (numbers(store, result), result.next_begin_offset) == ([850], 900)


@pytest.mark.skipif(not native.IN_C, reason="our own C is not built here (make compiled does it)")
def test_the_same_values_are_asked_about_once(bench: Bench) -> None:
    """So a pull looks at its 800 entries in one step."""
    store = bench.open(**ROOMY)
    fill(bench, store, 900)
    scan = store.scan("T", 0, 0, 32, wanted("third = 'maybe'"))
    assert not scan.is_paused
    assert scan.result.status == ReadStatus.NO_MATCHED_MESSAGE
    assert scan.result.next_begin_offset == 800
    assert store.scan("T", 0, 0, 32, wanted("third = 'maybe'", remembers=False)).is_paused


def test_records_that_are_gone_in_between(bench: Bench) -> None:
    """What the log has no more is passed over, with what lies before the next file; the rest is looked at."""
    store = bench.open(mapped_file_size_commit_log=8192, mapped_file_size_consume_queue=20 * 1000)
    fill(bench, store, 120, 200)
    everything = through(store.scan("T", 0, 0, 200, wanted("third = 'yes'")), store)
    assert numbers(store, everything) == list(range(2, 96, 3))
    while store._log.min_offset == 0:
        store._log.remove_oldest(0)
    result = through(store.scan("T", 0, 0, 200, wanted("third = 'yes'")), store)
    left = numbers(store, result)
    assert left
    assert left[0] > 2
    alone = through(store.scan("T", 0, 0, 200, wanted("third = 'yes'", remembers=False)), store)
    assert (numbers(store, alone), alone.next_begin_offset) == (left, result.next_begin_offset)


def test_a_step_is_short(bench: Bench) -> None:
    """Whatever the messages are like: long ones count for more."""
    store = bench.open(**ROOMY)
    long = numbered(0, text="x" * 30_000)
    for _ in range(50):
        store.put(bench.message(b"", properties=long))
    scan = store.scan("T", 0, 0, 32, wanted(" OR ".join(["text CONTAINS 'y'"] * 5)))
    assert scan.is_paused
    assert 0 < scan.result.next_begin_offset < 5
    assert through(scan, store).next_begin_offset == 50


def test_a_filter_and_several_files(bench: Bench) -> None:
    """Only the file of the queue is looked at in which the offset lies, as without a filter."""
    store = bench.open(mapped_file_size_commit_log=BIG, mapped_file_size_consume_queue=20 * 7)
    fill(bench, store, 20)
    result = through(store.scan("T", 0, 0, 32, wanted("n = 9")), store)
    assert (result.status, result.next_begin_offset) == (ReadStatus.NO_MATCHED_MESSAGE, 7)
    result = through(store.scan("T", 0, 7, 32, wanted("n = 9")), store)
    assert numbers(store, result) == [9]


def test_limits_count_what_is_taken(bench: Bench) -> None:
    store = bench.open(**ROOMY)
    fill(bench, store, 60)
    result = through(store.scan("T", 0, 0, 5, wanted("third = 'yes'")), store)
    assert (numbers(store, result), result.next_begin_offset) == ([2, 5, 8, 11, 14], 15)


def test_queues_of_records_with_several_messages(bench: Bench) -> None:
    bench.batch_topics = frozenset(["B"])
    store = bench.open(**ROOMY)
    flags = int(SysFlag.INNER_BATCH | SysFlag.NEED_UNWRAP)
    for number in range(6):
        properties = numbered(number, INNER_NUM=4)
        store.put(bench.message(b"x", "B", properties=properties, sys_flag=flags))
    result = through(store.scan("B", 0, 0, 100, wanted("third = 'yes'")), store)
    assert (numbers(store, result), result.message_count, result.next_begin_offset) == (
        [2, 5],
        8,
        24,
    )


@pytest.fixture
def cold(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> MessageStore:
    """A store none of whose records is in memory."""
    store = bench.open(**ROOMY)
    fill(bench, store, 300)
    make_cold(monkeypatch, store)
    return store


def test_what_is_on_the_disk_is_judged_elsewhere(cold: MessageStore) -> None:
    scan = cold.scan("T", 0, 0, 32, wanted("third = 'yes'"))
    assert scan.is_paused
    assert len(scan.cold) == 128
    assert scan.result.next_begin_offset == 0
    result = through(scan, cold)
    assert numbers(cold, result) == list(range(2, 96, 3))
    assert result.next_begin_offset == 96


def test_only_so_many_bytes_are_judged_at_a_time(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = bench.open(**ROOMY)
    fill(bench, store, 20, 200_000)
    make_cold(monkeypatch, store)
    scan = store.scan("T", 0, 0, 32, wanted("n = 19"))
    assert len(scan.cold) == 6
    assert numbers(store, through(scan, store)) == [19]


@needs_plain_log
def test_messages_that_are_deleted_meanwhile(cold: MessageStore) -> None:
    scan = cold.scan("T", 0, 0, 32, wanted("n = 5"))
    monkey = pytest.MonkeyPatch()
    monkey.setattr(type(cold._log), "contains", lambda *args: False)
    with pytest.raises(MessagesGone):
        cold.hold(scan.cold)
    scan.go_on()
    assert not scan.is_paused
    assert scan.result.status == ReadStatus.MESSAGE_WAS_REMOVING
    monkey.undo()


@settings(max_examples=50, deadline=None)
@given(data=st.data())
def test_hot_or_cold_the_answer_is_the_same(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    bench = Bench(tmp_path_factory.mktemp("store"))
    store = bench.open(**ROOMY)
    count = data.draw(st.integers(1, 60))
    for number in range(count):
        size = data.draw(st.sampled_from([0, 10, 5000, 20_000]))
        topic = data.draw(st.sampled_from("TTU"))
        store.put(bench.message(b"b" * size, topic, properties=numbered(number)))
    expected = []
    end = store.max_offset("T", 0)
    for offset in range(end):
        result = store.read("T", 0, offset, 1, 100, None)
        expected += [n for n in numbers(store, result) if n % 3 == 2]
    monkey = pytest.MonkeyPatch()
    coldness = data.draw(st.integers(0, 4))
    counter = iter(range(10**9))
    make_cold(monkey, store, lambda: next(counter) % 5 < coldness)
    found: list[int] = []
    offset = 0
    asked = wanted("third = 'yes'", remembers=data.draw(st.booleans()))
    while offset < end:
        result = through(store.scan("T", 0, offset, 7, asked), store)
        assert result.next_begin_offset > offset
        offset = result.next_begin_offset
        found += numbers(store, result) if result.extents else []
    monkey.undo()
    bench.end()
    assert found == expected
