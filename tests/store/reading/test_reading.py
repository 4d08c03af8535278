"""Pull rules, loading, and what else can be asked of a queue."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimq.codec.flags import SysFlag
from trimq.codec.java.hashes import string_hash
from trimq.codec.records.record import parse_record, record_size
from trimq.store.messages.tag_matching import matches
from trimq.store.reading.pulls import ReadStatus

BIG = 1 << 20


def fill(bench, store, count, body=b"", **more):
    return [store.put(bench.message(body or b"%d" % number, **more)) for number in range(count)]


@pytest.fixture
def ten(bench):
    """A store with ten messages in one queue, all in one file of each kind."""
    store = bench.open(mapped_file_size_commit_log=BIG, mapped_file_size_consume_queue=2000)
    fill(bench, store, 10)
    return store


@pytest.mark.parametrize(
    ("offset", "status", "following"),
    [
        (-1, ReadStatus.OFFSET_TOO_SMALL, 0),
        (0, ReadStatus.FOUND, 10),
        (9, ReadStatus.FOUND, 10),
        (10, ReadStatus.OFFSET_OVERFLOW_ONE, 10),
        (11, ReadStatus.OFFSET_OVERFLOW_BADLY, 10),
    ],
)
def test_offsets_inside_and_outside(ten, offset, status, following):
    result = ten.read("T", 0, offset, 32, BIG, None)
    assert (result.status, result.next_begin_offset) == (status, following)
    assert (result.min_offset, result.max_offset) == (0, 10)
    assert result.message_count == (10 - offset if status == ReadStatus.FOUND else 0)


def test_a_queue_without_messages_corrects_to_zero(ten):
    for topic, queue_id in (("T", 7), ("unknown", 0)):
        result = ten.read(topic, queue_id, 5, 32, BIG, None)
        assert (result.status, result.next_begin_offset) == (ReadStatus.NO_MESSAGE_IN_QUEUE, 0)
        assert ten.max_offset(topic, queue_id) == ten.min_offset(topic, queue_id) == 0
    assert ten.topics() == ["T"]


def test_records_that_touch_are_one_extent(bench, ten):
    ten.put(bench.message(b"other", topic="U"))
    ten.put(bench.message(b"last"))
    result = ten.read("T", 0, 0, 32, BIG, None)
    assert len(result.extents) == 2
    assert result.byte_count == sum(size for _, size in result.extents)
    first, last = ten.load(result.extents)
    at, bodies = 0, []
    while at < len(first):
        record = parse_record(bytes(first), at)
        bodies.append(record.body)
        at += record.total_size
    assert bodies == [b"%d" % number for number in range(10)]
    assert parse_record(bytes(last)).body == b"last"


def test_the_first_message_is_given_whatever_the_limits(bench):
    store = bench.open(mapped_file_size_commit_log=4 * BIG)
    fill(bench, store, 2, bytes(BIG))
    result = store.read("T", 0, 0, 0, 1, None)
    assert (result.message_count, result.next_begin_offset) == (1, 1)


@pytest.mark.parametrize(
    ("size", "max_messages", "max_bytes", "memory_ratio", "count"),
    [
        (10, 32, BIG, 40, 32),  # maxTransferCountOnMessageInMemory
        (10, 100, BIG, 40, 32),
        (10, 5, BIG, 40, 5),  # what the client asked for
        (10, 32, 500, 40, 4),  # the client's bytes: 4 records of 102
        (10, 32, 1, 40, 1),  # never below 100 bytes
        (20_000, 32, BIG, 40, 13),  # 256 KiB
        (10, 32, BIG, 0, 8),  # maxTransferCountOnMessageInDisk
        (20_000, 32, BIG, 0, 3),  # 64 KiB
    ],
)
def test_a_batch_ends_at_the_limits(bench, size, max_messages, max_bytes, memory_ratio, count):
    store = bench.open(
        mapped_file_size_commit_log=8 * BIG,
        mapped_file_size_consume_queue=4000,
        access_message_in_memory_max_ratio=memory_ratio,
    )
    fill(bench, store, 200, bytes(size))
    result = store.read("T", 0, 0, max_messages, max_bytes, None)
    assert (result.message_count, result.next_begin_offset) == (count, count)
    assert result.suggest_slave == (memory_ratio == 0)


def test_one_read_stays_in_one_consume_queue_file(bench):
    store = bench.open(mapped_file_size_commit_log=BIG)
    fill(bench, store, 12)
    offsets = [0]
    while offsets[-1] < 12:
        offsets.append(store.read("T", 0, offsets[-1], 32, BIG, None).next_begin_offset)
    assert offsets == [0, 5, 10, 12]
    both = store.read("T", 0, 3, 32, BIG, None)
    assert (both.message_count, both.next_begin_offset) == (2, 5)


def test_tags_are_matched_by_hash(bench):
    store = bench.open(mapped_file_size_commit_log=BIG, mapped_file_size_consume_queue=2000)
    for number in range(12):
        store.put(bench.message(b"%d" % number, tag="abc"[number % 3]))
    wanted = frozenset([string_hash("a"), string_hash("c")])
    result = store.read("T", 0, 0, 5, BIG, wanted)
    assert (result.message_count, result.next_begin_offset) == (5, 7)
    nothing = store.read("T", 0, 0, 5, BIG, frozenset([1]))
    assert (nothing.status, nothing.next_begin_offset) == (ReadStatus.NO_MATCHED_MESSAGE, 12)


def test_a_filtered_scan_ends_after_maxfiltermessagesize(bench):
    store = bench.open(
        mapped_file_size_commit_log=8 * BIG, mapped_file_size_consume_queue=20 * 5000
    )
    fill(bench, store, 1000)
    nobody = frozenset([1])
    assert store.read("T", 0, 10, 32, BIG, nobody).next_begin_offset == 810
    assert store.read("T", 0, 10, 900, BIG, nobody).next_begin_offset == 910


@pytest.mark.parametrize(
    ("code", "matched"), [(7, True), (7 + (1 << 32), True), (8, False), (-(2**31) - 1, True)]
)
def test_only_the_lower_half_of_a_tags_code_counts(code, matched):
    assert matches(code, frozenset([7])) is matched


def test_messages_of_removed_files_are_skipped(bench):
    store = bench.open(mapped_file_size_consume_queue=2000)
    fill(bench, store, 30, bytes(100))
    # Retention has removed the file, the queue's minimum is not corrected yet.
    segment = store._log.segments.pop(0)
    os.unlink(segment.path)
    kept = next(n for n in range(30) if store.queue_entry("T", 0, n).physical_offset >= 1024)
    result = store.read("T", 0, 0, 4, BIG, None)
    assert (result.status, result.message_count) == (ReadStatus.FOUND, 4)
    assert result.next_begin_offset == kept + 4
    while len(store._log.segments) > 1:
        os.unlink(store._log.segments.pop(0).path)
    last = store.queue_entry("T", 0, 0).physical_offset
    assert last == 0
    gone = store.read("T", 0, 0, 4, BIG, frozenset([0]))
    assert gone.status == ReadStatus.FOUND


@pytest.mark.parametrize(("corrects", "expected"), [(True, 10), (False, 6)])
def test_a_missing_consume_queue_file_is_rolled_over_where_offsets_are_corrected(
    bench, corrects, expected
):
    store = bench.open(mapped_file_size_commit_log=BIG)
    fill(bench, store, 12)
    bench.close(store)
    store = bench.open(mapped_file_size_commit_log=BIG)
    assert store.max_offset("T", 0) == 12
    bench.queue_files("T", 0)[1].unlink()
    store._open_files.close()
    store.correct_if(lambda: corrects)
    result = store.read("T", 0, 6, 32, BIG, None)
    assert (result.status, result.next_begin_offset) == (ReadStatus.OFFSET_FOUND_NULL, expected)


@given(
    sizes=st.lists(st.integers(0, 400), min_size=1, max_size=40),
    tags=st.lists(st.sampled_from("ab"), min_size=40, max_size=40),
    offset=st.integers(0, 45),
    max_messages=st.integers(1, 12),
    max_bytes=st.integers(1, 3000),
    filtered=st.booleans(),
    written=st.booleans(),
)
def test_reading_equals_its_rules_spelled_out(
    bench, sizes, tags, offset, max_messages, max_bytes, filtered, written
):
    with TemporaryDirectory() as folder:
        bench.root = Path(folder)
        store = bench.open(
            max_transfer_bytes_on_message_in_memory=2000, max_transfer_count_on_message_in_memory=9
        )
        for size, tag in zip(sizes, tags, strict=False):
            store.put(bench.message(bytes(size), tag=tag))
        if written:
            while store.write_derived():
                pass
        codes = frozenset([string_hash("a")]) if filtered else None
        result = store.read("T", 0, offset, max_messages, max_bytes, codes)
        expected, total, at = [], 0, offset
        while at < len(sizes) and (at == offset or at % 5):
            size = record_size(sizes[at], 1, 7)
            limits = (max(max_bytes, 100), 2000)
            if expected and (len(expected) >= min(max_messages, 9) or total + size > min(limits)):
                break
            if not filtered or tags[at] == "a":
                expected.append(at)
                total += size
            at += 1
        if offset >= len(sizes):
            expected, at = [], len(sizes)
        assert result.message_count == len(expected)
        assert (result.byte_count, result.next_begin_offset) == (total, at)
        bench.kill(store)


def test_loading_hot_cold_and_blocking(bench, monkeypatch):
    store = bench.open(mapped_file_size_consume_queue=2000)
    fill(bench, store, 30, bytes(100))
    extents = store.read("T", 0, 0, 32, BIG, None).extents
    assert len(extents) > 2
    hot = [bytes(buffer) for buffer in store.load(extents)]
    bench.close(store)
    store = bench.open(mapped_file_size_consume_queue=2000)
    # Nothing of it was appended by this process now: the kernel says whether it is in memory.
    assert store.load_blocking(extents) == hot
    cold = store.load(extents)
    assert cold is None or [bytes(buffer) for buffer in cold] == hot

    def would_block(*_):
        raise BlockingIOError(errno.EAGAIN, "not in the page cache")

    monkeypatch.setattr(os, "preadv", would_block)
    assert store.load(extents) is None
    assert store.has_message("T", 0, 0)
    assert not store.has_message("T", 0, 30)
    assert store.load_blocking(extents) == hot


def test_a_file_system_without_nowait_reads_in_a_thread(bench, monkeypatch):
    store = bench.open()
    fill(bench, store, 3)
    bench.close(store)
    store = bench.open()
    extents = store.read("T", 0, 0, 32, BIG, None).extents

    def unsupported(*_):
        raise OSError(errno.EOPNOTSUPP, "no such flag")

    monkeypatch.setattr(os, "preadv", unsupported)
    assert store.load(extents) is None
    monkeypatch.undo()
    assert store.load(extents) is None
    assert len(store.load_blocking(extents)) == len(extents)


def test_record_at_wants_the_first_byte_of_a_record(ten):
    entry = ten.queue_entry("T", 0, 3)
    assert parse_record(ten.record_at(entry.physical_offset)).body == b"3"
    assert ten.record_at(entry.physical_offset + 1) is None
    assert ten.record_at(ten.max_physical_offset) is None
    assert ten.record_at(-1) is None


def test_store_times(ten):
    times = [ten.store_time("T", 0, offset) for offset in range(10)]
    assert times == sorted(times)
    assert ten.earliest_store_time("T", 0) == times[0]
    assert ten.store_time("T", 0, 10) == ten.store_time("T", 1, 0) == -1
    assert ten.earliest_store_time("T", 5) == -1


def test_store_time_of_records_with_ipv6_hosts(bench):
    store = bench.open()
    appended = store.put(
        bench.message(b"", sys_flag=SysFlag.BORN_HOST_V6, born_host=bytes(range(20)))
    )
    assert store.store_time("T", 0, 0) == appended.store_timestamp


def test_deleting_a_topic_leaves_the_others(bench):
    store = bench.open()
    fill(bench, store, 8, topic="A")
    fill(bench, store, 8, topic="B")
    while store.write_derived():
        pass
    fill(bench, store, 2, topic="A")
    assert store.delete_topic("A")
    assert not store.delete_topic("A")
    assert store.topics() == ["B"]
    assert store.queues("A") == []
    assert not (bench.root / "consumequeue" / "A").exists()
    assert store.read("A", 0, 0, 32, BIG, None).status == ReadStatus.NO_MESSAGE_IN_QUEUE
    assert store.put(bench.message(b"", topic="A")).queue_offset == 0
    bench.close(store)
    store = bench.open()
    assert (store.max_offset("A", 0), store.max_offset("B", 0)) == (1, 8)


def test_many_queues_keep_few_files_open(bench):
    store = bench.open(open_files=8, mapped_file_size_commit_log=BIG)
    before = len(os.listdir("/proc/self/fd"))
    for number in range(100):
        store.put(bench.message(b"x", topic=f"T{number}", queue_id=number % 4))
    while store.write_derived():
        pass
    assert len(os.listdir("/proc/self/fd")) <= before + 9
    bench.close(store)
    store = bench.open(open_files=8, mapped_file_size_commit_log=BIG)
    assert len(store.topics()) == 100
    assert all(store.max_offset(f"T{number}", number % 4) == 1 for number in range(100))
    assert store.queues("T3") == [3]
    assert len(os.listdir("/proc/self/fd")) <= before + 9


@pytest.mark.parametrize("offset", [-1, 10, 11])
def test_a_store_that_corrects_nothing_leaves_offsets_as_asked(ten, offset):
    ten.correct_if(lambda: False)
    status = ten.read("T", 0, offset, 32, BIG, None).status
    assert ten.read("T", 0, offset, 32, BIG, None).next_begin_offset == offset
    empty = ten.read("T", 7, 5, 32, BIG, None)
    assert (empty.status, empty.next_begin_offset) == (ReadStatus.NO_MESSAGE_IN_QUEUE, 5)
    assert ten.read("T", 0, 0, 32, BIG, None).next_begin_offset == 10
    ten.correct_if(lambda: True)
    again = ten.read("T", 0, offset, 32, BIG, None)
    assert (again.status, again.next_begin_offset) == (status, 10 if offset > 0 else 0)
