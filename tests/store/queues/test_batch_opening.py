"""Batch queues of a store that is opened again, after a clean stop, a kill and losses."""

from __future__ import annotations

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.store.cleaning import write_all
from tests.store.queues.batches import (
    BIG,
    FILE,
    ROOMY,
    TOPIC,
    cut_log,
    entries,
    files,
    message,
    put,
    walk,
)
from trimq.store.reading.pulls import ReadStatus


def test_a_clean_stop_and_a_kill_keep_everything(batches):
    store = batches.open()
    put(batches, store, 3, 1, 4, 2, 5, 1, 1)
    known, pulled = entries(store, batches), walk(store)
    batches.close(store)
    store = batches.open()
    assert (batches.report.records, batches.report.entries) == (1, 0)
    assert walk(store) == pulled
    assert put(batches, store, 2)[0].queue_offset == 17
    batches.kill(store)
    store = batches.open()
    assert entries(store, batches)[: len(known)] == known
    assert walk(store)[: len(pulled)] == pulled
    assert store.max_offset(TOPIC, 0) == 19
    assert put(batches, store, 2)[0].queue_offset == 19


@pytest.mark.parametrize("known", [True, False])
def test_the_folder_tells_the_type_when_nobody_else_does(batches, known):
    store = batches.open()
    put(batches, store, 3, 1)
    batches.close(store)
    batches.batch_topics = frozenset([TOPIC] if known else [])
    store = batches.open()
    assert [offset for offset, _ in walk(store)] == [0, 3]
    assert store.topics() == [TOPIC]
    assert store.queues(TOPIC) == [0]


def test_batches_of_a_topic_that_is_no_longer_a_batch_topic_get_no_entry(batches):
    store = batches.open()
    put(batches, store, 3)
    batches.kill(store)
    batches.batch_topics = frozenset()
    store = batches.open()
    assert store.topics() == []


counts = st.lists(st.tuples(st.integers(1, 4), st.integers(0, 1)), min_size=1, max_size=20)


@given(sent=counts, cut=st.integers(0, 4000), checkpoint=st.none() | st.integers(0, 20))
def test_a_crash_at_any_byte_loses_only_the_tail(batches, sent, cut, checkpoint):
    with TemporaryDirectory() as folder:
        batches.root = Path(folder)
        store = batches.open()
        appended = []
        for number, (count, queue_id) in enumerate(sent):
            one = store.put(message(batches, count, size=number, queue_id=queue_id))
            appended.append((one, count, queue_id))
            if checkpoint == number:
                while store.write_derived():
                    pass
                store.plan_checkpoint().run()
        batches.kill(store)
        log = b"".join(file.read_bytes() for file in batches.commit_log_files())
        cut_log(batches, cut)
        store = batches.open()
        kept = []
        for one, count, queue_id in appended:
            if not any(log[max(cut, one.physical_offset) : one.end]):
                kept.append((one, count, queue_id))
        for queue_id in range(2):
            mine = [
                (one.physical_offset, one.size, one.queue_offset, count, one.store_timestamp)
                for one, count, queue in kept
                if queue == queue_id
            ]
            assert entries(store, batches, queue_id) == mine
            assert store.max_offset(TOPIC, queue_id) == sum(entry[3] for entry in mine)
            assert [offset for offset, _ in walk(store, 0, queue_id)] == [one[2] for one in mine]
        batches.kill(store)


@given(sent=counts)
def test_lost_files_are_rebuilt_as_they_were(batches, sent):
    with TemporaryDirectory() as folder:
        batches.root = Path(folder)
        store = batches.open()
        for count, queue_id in sent:
            store.put(message(batches, count, queue_id=queue_id))
        batches.close(store)
        queues = batches.root / "batchconsumequeue"
        before = {path: path.read_bytes() for path in queues.rglob("0*") if path.is_file()}
        assert before
        shutil.rmtree(queues)
        store = batches.open()
        batches.close(store)
        assert {path: path.read_bytes() for path in before} == before


def test_a_queue_behind_its_checkpoint_is_caught_up(batches):
    store = batches.open()
    put(batches, store, *[2] * 12)
    pulled = walk(store)
    batches.close(store)
    for file in files(batches)[1:]:
        file.unlink()
    store = batches.open()
    assert store.max_offset(TOPIC, 0) == 10
    batches.kill(store)
    # The checkpoint's own record shows the gap.
    (batches.root / "checkpoint").unlink()
    store = batches.open()
    assert walk(store) == pulled


def test_a_queue_behind_what_was_promised_is_caught_up(batches):
    store = batches.open()
    put(batches, store, *[2] * 12)
    while store.write_derived():
        pass
    store.plan_checkpoint().run()
    put(batches, store, 3, 1)
    pulled = walk(store)
    batches.kill(store)
    for file in files(batches)[1:]:
        file.unlink()
    store = batches.open()
    assert batches.report.start > 0
    assert walk(store) == pulled


def test_an_old_checkpoint_doubles_nothing(batches):
    """The real broker's may lie behind what its queues have, even after a clean stop."""
    store = batches.open()
    put(batches, store, *[2] * 3)
    while store.write_derived():
        pass
    store.plan_checkpoint().run()
    old = (batches.root / "checkpoint").read_bytes()
    put(batches, store, *[2] * 4)
    known, pulled = entries(store, batches), walk(store)
    batches.close(store)
    (batches.root / "checkpoint").write_bytes(old)
    store = batches.open()
    assert (batches.report.records, batches.report.entries) == (5, 0)
    assert (entries(store, batches), walk(store)) == (known, pulled)


def test_no_empty_file_is_left_of_entries_that_are_gone(batches):
    store = batches.open()
    put(batches, store, *[2] * 4)
    write_all(store)
    end = put(batches, store, 2)[0].end
    put(batches, store, 2, 2)
    assert len(entries(store, batches)) == 7
    batches.kill(store)
    cut_log(batches, end)
    store = batches.open()
    assert store.max_offset(TOPIC, 0) == 10
    assert len(entries(store, batches)) == 5
    assert len(files(batches)) == 1


@pytest.mark.parametrize("more", [1, 4, 12])
def test_files_of_entries_that_nothing_vouches_for_are_removed(batches, more):
    store = batches.open()
    put(batches, store, 2, 2, 2)
    while store.write_derived():
        pass
    store.plan_checkpoint().run()
    put(batches, store, *[3] * more)
    known = entries(store, batches)
    batches.kill(store)
    for file in files(batches):
        content = bytearray(file.read_bytes())
        start = 46 * 3 if file == files(batches)[0] else 0
        for at in range(start, len(content), 46):
            # Sizes and places as they were, but of another topic's life.
            content[at + 28 : at + 36] = bytes(8)
        file.write_bytes(content)
    store = batches.open()
    assert entries(store, batches) == known


def test_entries_that_nothing_vouches_for_are_written_again(batches):
    """A power loss may have taken any page of what came after the checkpoint."""
    store = batches.open(**ROOMY)
    put(batches, store, 2, 2)
    while store.write_derived():
        pass
    store.plan_checkpoint().run()
    put(batches, store, 3, 3, 3)
    known = entries(store, batches)
    batches.kill(store)
    file = files(batches)[0]
    content = bytearray(file.read_bytes())
    content[46 * 3 : 46 * 4] = b"\x00" * 20 + b"\x11" * 26
    file.write_bytes(content)
    store = batches.open(**ROOMY)
    assert entries(store, batches) == known
    assert batches.report.entries == 3


def test_the_log_may_begin_later(batches):
    store = batches.open()
    appended = put(batches, store, *[2] * 30)
    batches.close(store)
    for file in batches.commit_log_files()[:3]:
        file.unlink()
    store = batches.open()
    left = [one for one in appended if one.physical_offset >= 3 * FILE]
    assert store.min_offset(TOPIC, 0) == left[0].queue_offset
    assert [offset for offset, _ in walk(store)] == [one.queue_offset for one in left]
    below = store.read(TOPIC, 0, 0, 32, BIG, None)
    assert (below.status, below.next_begin_offset) == (
        ReadStatus.OFFSET_TOO_SMALL,
        left[0].queue_offset,
    )
    # Offsets never start again.
    batches.close(store)
    last = len(batches.commit_log_files())
    for file in batches.commit_log_files()[: last - 1]:
        file.unlink()
    store = batches.open()
    assert store.max_offset(TOPIC, 0) == 60
    assert put(batches, store, 1)[0].queue_offset == 60
