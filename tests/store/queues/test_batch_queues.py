"""Topics with queue.type=BatchCQ: records that hold several messages, and how they are found."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.store.cleaning import clean, steps_of_round, write_all
from tests.store.queues.batches import (
    BIG,
    FILE,
    ROOMY,
    TOPIC,
    entries,
    fail,
    files,
    message,
    put,
    walk,
)
from trimq.codec.entries.batch_queue import BatchQueueEntry
from trimq.codec.flags import SysFlag
from trimq.codec.java.hashes import string_hash
from trimq.codec.layouts.queues import BATCH_QUEUE_ENTRY
from trimq.codec.records.batch import BatchItem, join_batch, split_batch
from trimq.codec.records.properties import parse_properties
from trimq.codec.records.record import parse_record
from trimq.store.disk.files import OpenFiles
from trimq.store.errors import StoreError
from trimq.store.log.commit_log import CommitLog
from trimq.store.log.paths import LogPaths
from trimq.store.queues.batch_queue import BatchConsumeQueue
from trimq.store.queues.files.bounds import Believed
from trimq.store.reading.pulls import ReadStatus


def test_a_batch_is_one_record_that_knows_its_place(batches):
    store = batches.open()
    appended = put(batches, store, 1, 3, 1, 2)
    assert [one.queue_offset for one in appended] == [0, 1, 4, 5]
    assert (store.min_offset(TOPIC, 0), store.max_offset(TOPIC, 0)) == (0, 7)
    record = parse_record(store.record_at(appended[1].physical_offset))
    assert parse_properties(record.properties) == {
        "UNIQ_KEY": "u",
        "INNER_NUM": "3",
        "INNER_BASE": "1",
    }
    assert [item.body for item in split_batch(record.body)] == [b"0", b"1", b"2"]
    assert [entry[2:4] for entry in entries(store, batches)] == [(0, 1), (1, 3), (4, 1), (5, 2)]
    first = BATCH_QUEUE_ENTRY.parse(files(batches)[0].read_bytes()[:46])
    assert (first.compacted_offset, first.reserved) == (-1, 0)
    assert not (batches.root / "consumequeue").exists()


def test_the_place_that_a_producer_claims_is_not_believed(batches):
    store = batches.open()
    several = message(batches, 3)
    several.properties = b"INNER_BASE\x0177\x02" + several.properties
    put(batches, store, 1)
    record = parse_record(store.record_at(store.put(several).physical_offset))
    assert record.properties.count(b"INNER_BASE") == 1
    assert parse_properties(record.properties)["INNER_BASE"] == "1"


def test_afailed_write_gives_the_offsets_back(batches, monkeypatch):
    store = batches.open()
    put(batches, store, 3)
    monkeypatch.setattr("os.pwritev", fail)
    with pytest.raises(StoreError):
        put(batches, store, 5)
    monkeypatch.undo()
    assert [one.queue_offset for one in put(batches, store, 2)] == [3]


def test_a_batch_that_is_split_gives_one_entry_per_message(batches):
    """Without a UNIQ_KEY of the whole, the broker splits a batch on such a topic too."""
    store = batches.open(**ROOMY)
    put(batches, store, 2)
    items = [BatchItem(0, b"%d" % number, b"") for number in range(3)]
    appended = store.stage_batch(batches.message(join_batch(items), topic=TOPIC))
    store.write_staged()
    assert (appended.queue_offset, len(appended.sizes)) == (2, 3)
    assert [entry[2:4] for entry in entries(store, batches)] == [(0, 2), (2, 1), (3, 1), (4, 1)]


def test_prepared_messages_have_no_entry(batches):
    store = batches.open()
    store.put(message(batches, 1, sys_flag=SysFlag.PREPARED))
    assert store.max_offset(TOPIC, 0) == 0
    assert entries(store, batches) == []


def test_more_messages_than_an_entry_can_count_are_refused(batches):
    store = batches.open()
    several = message(batches, 2)
    several.properties = b"INNER_NUM\x0132768\x02"
    with pytest.raises(StoreError, match="32767"):
        store.put(several)
    assert store.max_physical_offset == 0


# --- reading


@pytest.mark.parametrize(
    ("offset", "status", "following"),
    [
        (-1, ReadStatus.OFFSET_TOO_SMALL, 0),
        (0, ReadStatus.FOUND, 10),
        (2, ReadStatus.FOUND, 10),
        (9, ReadStatus.FOUND, 10),
        (10, ReadStatus.OFFSET_OVERFLOW_ONE, 10),
        (11, ReadStatus.OFFSET_OVERFLOW_BADLY, 10),
    ],
)
def test_offsets_inside_and_outside(batches, offset, status, following):
    store = batches.open(**ROOMY)
    put(batches, store, 4, 1, 5)
    result = store.read(TOPIC, 0, offset, 32, BIG, None)
    assert (result.status, result.next_begin_offset) == (status, following)
    assert (result.min_offset, result.max_offset) == (0, 10)


def test_a_record_is_handed_out_whole_from_any_of_its_offsets(batches):
    store = batches.open(**ROOMY)
    put(batches, store, 4, 3, 5)
    for offset, messages, first in ((0, 12, 0), (3, 12, 0), (4, 8, 4), (6, 8, 4), (11, 5, 7)):
        result = store.read(TOPIC, 0, offset, 32, BIG, None)
        assert result.message_count == messages
        assert walk(store, offset)[0][0] == first


def test_a_queue_without_messages_begins_at_minus_one(batches):
    store = batches.open()
    result = store.read(TOPIC, 0, 5, 32, BIG, None)
    assert (result.status, result.next_begin_offset) == (ReadStatus.NO_MESSAGE_IN_QUEUE, 0)
    assert (result.min_offset, result.max_offset) == (-1, 0)
    assert (store.min_offset(TOPIC, 0), store.max_offset(TOPIC, 0)) == (-1, 0)
    assert store.topics() == []


@pytest.mark.parametrize(
    ("asked", "count", "following"),
    # The first record is always given; a later one only if all its messages still fit.
    [(1, 4, 4), (4, 4, 4), (7, 4, 4), (8, 8, 8), (32, 32, 32), (100, 32, 32)],
)
def test_every_message_of_a_record_counts(batches, asked, count, following):
    store = batches.open(**ROOMY)
    put(batches, store, *[4] * 20)
    result = store.read(TOPIC, 0, 0, asked, BIG, None)
    assert (result.message_count, result.next_begin_offset) == (count, following)


def test_tags_are_those_of_the_whole_record(batches):
    store = batches.open(**ROOMY)
    put(batches, store, 3, tag="a")
    put(batches, store, 2, 1, tag="b")
    result = store.read(TOPIC, 0, 0, 32, BIG, frozenset([string_hash("b")]))
    assert (result.message_count, result.next_begin_offset) == (3, 6)
    nothing = store.read(TOPIC, 0, 1, 32, BIG, frozenset([1]))
    assert (nothing.status, nothing.next_begin_offset) == (ReadStatus.NO_MATCHED_MESSAGE, 6)


def test_a_filtered_scan_ends_by_queue_offset(batches):
    store = batches.open(**ROOMY, max_filter_message_size=46 * 10)
    put(batches, store, *[4] * 20)
    # 10 entries are meant, 10 messages are examined: the records that begin before offset 13.
    result = store.read(TOPIC, 0, 3, 5, BIG, frozenset([1]))
    assert (result.status, result.next_begin_offset) == (ReadStatus.NO_MATCHED_MESSAGE, 16)


def test_one_read_stays_in_one_file(batches):
    store = batches.open(mapped_file_size_commit_log=BIG)
    put(batches, store, *[2] * 12)
    assert store.read(TOPIC, 0, 3, 32, BIG, None).next_begin_offset == 10
    while store.write_derived():
        pass
    assert len(files(batches)) == 3
    assert store.read(TOPIC, 0, 3, 32, BIG, None).next_begin_offset == 10
    nobody = store.read(TOPIC, 0, 3, 32, BIG, frozenset([1]))
    assert nobody.next_begin_offset == 10


def test_single_messages_are_found_by_their_entry(batches):
    store = batches.open(**ROOMY)
    appended = put(batches, store, 4, 1)
    for offset, record in ((0, appended[0]), (3, appended[0]), (4, appended[1])):
        entry = store.queue_entry(TOPIC, 0, offset)
        assert (entry.physical_offset, entry.size) == (record.physical_offset, record.size)
        assert store.store_time(TOPIC, 0, offset) == record.store_timestamp
    assert store.queue_entry(TOPIC, 0, 5) is None
    assert store.earliest_store_time(TOPIC, 0) == appended[0].store_timestamp
    assert store.has_message(TOPIC, 0, 0)


@given(
    counts=st.lists(st.integers(1, 4), min_size=1, max_size=23),
    steps=st.lists(st.integers(0, 3), min_size=23, max_size=23),
    moment=st.integers(995, 1075),
)
def test_lower_is_the_first_record_of_its_file_not_before(batches, counts, steps, moment):
    with TemporaryDirectory() as folder:
        batches.root = Path(folder)
        store = batches.open(mapped_file_size_commit_log=BIG)
        times, bases, now = [], [], 1000
        for count, step in zip(counts, steps, strict=False):
            now += step
            batches.clock.millis = now - 1
            bases.append(put(batches, store, count)[0].queue_offset)
            times.append(now)
        firsts = [at for at in range(0, len(times), 5) if times[at] <= moment]
        start = firsts[-1] if firsts else 0
        chosen = range(start, min(start + 5, len(times)))
        last = chosen[-1]
        # Behind the file's last record it stays that one, though the next file has a later one.
        found = next((at for at in chosen if times[at] >= moment), last)
        if times[last] <= moment:
            found = last
        assert store.offset_by_time(TOPIC, 0, moment) == bases[found]
        while store.write_derived():
            pass
        assert store.offset_by_time(TOPIC, 0, moment) == bases[found]
        batches.kill(store)


@pytest.mark.parametrize(
    ("times", "moment", "expected"),
    [
        # The real broker's answers: between two messages they hang on how many there are.
        ([10, 20, 30], 15, 0),
        ([10, 20], 15, 2),
        ([10, 20, 30, 40], 20, 2),
        ([10, 20, 20, 30], 20, 4),
        ([10, 20, 20, 20, 30], 20, 6),
        ([10, 20, 30], 30, 4),
        ([10, 20, 30], 99, 4),
        ([10, 20, 30], 5, 0),
    ],
)
def test_upper_answers_as_the_real_one(batches, times, moment, expected):
    store = batches.open(**ROOMY)
    for time in times:
        batches.clock.millis = time - 1
        put(batches, store, 2)
    assert store.offset_by_time(TOPIC, 0, moment, upper=True) == expected


# --- trimming


@pytest.mark.parametrize("loaded", [True, False])
def test_queues_follow_the_log(batches, loaded):
    store = batches.open(delete_when=())
    appended = put(batches, store, *[2] * 40)
    write_all(store)
    if not loaded:
        batches.close(store)
        store = batches.open(delete_when=())
    batches.disk_use = 0.88
    clean(store)
    left = [one for one in appended if one.physical_offset >= store.min_physical_offset]
    assert 0 < len(left) < 35
    assert store.min_offset(TOPIC, 0) == left[0].queue_offset
    assert [offset for offset, _ in walk(store)] == [one.queue_offset for one in left]
    first = (40 - len(left)) // 5 * 5
    assert [int(file.name) for file in files(batches)] == list(range(first * 46, 40 * 46, 5 * 46))


def test_afailing_disk_leaves_expired_files_for_later(batches, monkeypatch):
    store = batches.open(delete_when=())
    put(batches, store, *[2] * 40)
    write_all(store)
    batches.disk_use = 0.88
    for _ in steps_of_round(store):
        pass
    before = files(batches)
    monkeypatch.setattr("os.unlink", fail)
    with pytest.raises(StoreError, match=f"trimming {TOPIC} 0"):
        clean(store)
    monkeypatch.undo()
    assert files(batches) == before
    # The queue has its turn with the next file of the log.
    put(batches, store, *[2] * 40)
    write_all(store)
    clean(store)
    assert len(files(batches)) < len(before)


def expire(queue, log_min):
    """Positions of the files that go, one after the other."""
    queue.correct_min_offset(log_min)
    return [int(path.rsplit("/", 1)[1]) for path in iter(queue.delete_expired_file, "")]


def test_files_of_expired_records_are_removed(tmp_path):
    queue = BatchConsumeQueue("B", 0, str(tmp_path / "q"), 46 * 3, OpenFiles(8))
    for number in range(9):
        queue.append_entry(BatchQueueEntry(number * 100, 100, 0, number, number * 2, 2))
    queue.write_out()
    # The first file's last record is still there, then it is not.
    assert (expire(queue, 200), queue.min_offset) == ([], 4)
    assert (expire(queue, 300), queue.min_offset) == ([0], 6)
    assert queue.entry(5) is None
    assert queue.entry(6).physical_offset == 300
    # Its entries know the times: the log is not asked.
    log = CommitLog(LogPaths([tmp_path / "commitlog"]), FILE, OpenFiles(1), 0)
    assert queue.offset_by_time(0, upper=False, log=log) == 6
    # The last file stays: it knows where the queue goes on.
    assert (expire(queue, 5000), queue.min_offset, queue.max_offset) == ([46 * 3], 18, 18)
    queue.append_entry(BatchQueueEntry(5000, 100, 0, 9, 18, 1))
    assert (queue.min_offset, queue.max_offset) == (18, 19)
    queue.write_out()
    again = BatchConsumeQueue("B", 0, str(tmp_path / "q"), 46 * 3, OpenFiles(8))
    again.load(Believed(5000, 10_000))
    assert (again.min_offset, again.max_offset) == (18, 19)
