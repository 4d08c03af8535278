"""Consume queues follow the commit log; being killed anywhere in between does no harm."""

from __future__ import annotations

import errno
import logging
import os
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.store.cleaning import (
    clean,
    fill,
    names,
    steps_of_round,
    steps_of_trimming,
    write_all,
)
from trimq.codec.entries.queue import pack
from trimq.codec.records.record import parse_record
from trimq.store.errors import StoreDamaged, StoreError
from trimq.store.reading.pulls import ReadStatus

FILE = 1024
QUEUE_FILE = 20 * 5


@pytest.fixture
def full(bench):
    """32 messages in five log files, 16 in each of two queues of four files; the disk is full."""
    store = bench.open(delete_when=())
    fill(bench, store, 32)
    write_all(store)
    bench.disk_use = 0.88
    return store


def first_in_log(bench, store, queue_id, topic="T"):
    """The lowest queue offset that the commit log still has, found by reading it."""
    found = []
    for file in bench.commit_log_files():
        position = int(file.name)
        while (record := store.record_at(position)) is not None:
            parsed = parse_record(record)
            if (parsed.topic, parsed.queue_id) == (topic, queue_id):
                found.append(parsed.queue_offset)
            position += len(record)
    return min(found, default=None)


def test_queues_begin_where_the_log_does(bench, full):
    clean(full)
    for queue_id in (0, 1):
        assert full.min_offset("T", queue_id) == first_in_log(bench, full, queue_id) == 14
        assert full.max_offset("T", queue_id) == 16
        # Entries 15 to 19 are in the last file; the one with 10 to 14 is still needed for 14.
        assert names(bench.queue_files("T", queue_id)) == [2 * QUEUE_FILE, 3 * QUEUE_FILE]
        assert len(bench.bodies(full, "T", queue_id)) == 2
    assert full.earliest_store_time("T", 0) > 0


def test_readers_behind_are_sent_to_the_new_beginning(bench, full):
    for _ in steps_of_round(full):
        pass
    # The queue does not know yet: what it finds is being removed.
    result = full.read("T", 0, 0, 8, 1 << 20, None)
    assert (result.status, result.extents) == (ReadStatus.MESSAGE_WAS_REMOVING, [])
    for _ in steps_of_trimming(full):
        pass
    result = full.read("T", 0, 0, 8, 1 << 20, None)
    assert (result.status, result.next_begin_offset) == (ReadStatus.OFFSET_TOO_SMALL, 14)


def test_the_last_file_stays_and_says_where_the_queue_goes_on(bench, full):
    fill(bench, full, 20, topic="Other")
    clean(full)
    assert full.min_offset("T", 0) == full.max_offset("T", 0) == 16
    assert names(bench.queue_files("T", 0)) == [3 * QUEUE_FILE]
    assert full.read("T", 0, 3, 8, 1 << 20, None).next_begin_offset == 16
    bench.kill(full)
    store = bench.open()
    assert store.min_offset("T", 0) == store.max_offset("T", 0) == 16
    assert store.put(bench.message(b"next")).queue_offset == 16


def test_a_file_that_only_memory_goes_on_from_stays(bench):
    store = bench.open(delete_when=())
    fill(bench, store, 5, queues=1)
    write_all(store)
    assert names(bench.queue_files("T", 0)) == [0]
    fill(bench, store, 25, queues=1)
    bench.disk_use = 0.88
    clean(store)
    assert store.min_offset("T", 0) > 5
    # Entry 5 and what follows were never written: without this file nothing on the disk is left.
    assert names(bench.queue_files("T", 0)) == [0]
    write_all(store)
    bench.kill(store)
    assert len(bench.bodies(bench.open())) == 30 - 28


def test_queues_nobody_has_used_are_trimmed_too(bench, full):
    for number in range(3):
        fill(bench, full, 12, topic=f"Idle{number}")
    fill(bench, full, 2, topic="Short")
    fill(bench, full, 8, topic="Busy")
    write_all(full)
    bench.close(full)
    store = bench.open(delete_when=())
    trimming = store.trimming
    for _ in steps_of_round(store):
        pass
    assert trimming.begin()
    assert set(trimming.find_expired(trimming.not_loaded())) == {"T", "Idle0", "Idle1", "Idle2"}
    for _ in steps_of_trimming(store):
        pass
    # Only those with a file to delete were loaded.
    assert sorted(trimming.not_loaded()) == ["Busy", "Short"]
    assert names(bench.queue_files("Idle1", 1)) == [QUEUE_FILE]
    assert store.min_offset("Short", 0) == store.max_offset("Short", 0) == 1


def test_without_a_new_beginning_nothing_is_looked_at(bench, full):
    clean(full)
    assert not full.trimming.begin()


def test_a_run_that_was_cut_short_is_taken_up_again(bench, full, monkeypatch):
    for _ in steps_of_round(full):
        pass

    def failing(path, *rest, **named):
        raise OSError(errno.EIO, "I/O error", path)

    monkeypatch.setattr(os, "unlink", failing)
    with pytest.raises(StoreError, match="trimming T"):
        clean(full)
    monkeypatch.undo()
    clean(full)
    assert not full.trimming.begin()
    # The queue that failed has its turn with the next file of the log.
    fill(bench, full, 32)
    write_all(full)
    clean(full)
    assert all(len(bench.queue_files("T", queue_id)) <= 2 for queue_id in (0, 1))


def test_one_step_deletes_one_file(bench, full, caplog):
    caplog.set_level(logging.INFO)
    for _ in steps_of_round(full):
        pass
    assert full.trimming.begin()
    before = len(bench.queue_files("T", 0)) + len(bench.queue_files("T", 1))
    assert not full.trimming.step()
    assert len(bench.queue_files("T", 0)) + len(bench.queue_files("T", 1)) == before - 1
    # The second file of the queue, and then a pause before the next queue.
    assert not full.trimming.step()
    assert full.trimming.step()
    assert len(bench.queue_files("T", 0)) + len(bench.queue_files("T", 1)) == before - 2
    assert "consume-queue file deleted" in caplog.text


def test_derived_files_are_told_of_the_new_beginning(bench, full):
    heard = []

    class Index:
        def delete_before(self, min_physical_offset):
            heard.append((min_physical_offset, full.min_offset("T", 0)))

    full.trimming.derived.append(Index())
    clean(full)
    clean(full)
    assert heard == [(4 * FILE, 14)]


# --- queues without messages


def idle_deleted(store, topic):
    return [n for n in store.queues(topic) if store.trimming.delete_if_idle(topic, n)]


def test_queues_without_any_record_can_be_deleted(bench, full):
    fill(bench, full, 20, topic="Other")
    write_all(full)
    clean(full)
    trimming = full.trimming
    # Only the ends of files were examined: it may name more topics than needed.
    assert "T" in trimming.find_idle(full.topics(), full.min_physical_offset)
    assert idle_deleted(full, "Other") == []
    assert idle_deleted(full, "T") == [0, 1]
    assert full.topics() == ["Other"]
    assert not (bench.root / "consumequeue" / "T").exists()
    # The offsets start again, and a crash does not bring the old ones back.
    assert full.put(bench.message(b"again")).queue_offset == 0
    bench.kill(full)
    assert bench.bodies(bench.open()) == [b"again"]


def test_a_queue_with_a_record_stays(bench, full):
    full.put(bench.message(b"1", topic="Other", queue_id=1))
    fill(bench, full, 1, topic="New", queues=1)
    write_all(full)
    clean(full)
    for topic in full.topics():
        assert idle_deleted(full, topic) == []
    assert full.topics() == ["New", "Other", "T"]


def test_a_queue_with_a_staged_message_stays(bench, full):
    fill(bench, full, 20, topic="Other")
    write_all(full)
    clean(full)
    full.stage(bench.message(b"staged"))
    assert idle_deleted(full, "T") == [1]
    full.write_staged()
    assert bench.bodies(full) == [b"staged"]
    assert full.min_offset("T", 0) == 16


# --- being killed


def test_a_log_without_its_beginning_opens(bench, full):
    """The log's files are gone, nothing else was done."""
    write_all(full)
    bench.kill(full)
    for file in bench.commit_log_files()[:3]:
        file.unlink()
    store = bench.open(delete_when=())
    assert store.min_physical_offset == 3 * FILE
    assert store.min_offset("T", 0) == first_in_log(bench, store, 0)
    for _ in steps_of_trimming(store):
        pass
    assert names(bench.queue_files("T", 0))[0] == 2 * QUEUE_FILE


def test_entries_that_were_lost_with_their_records(bench):
    """Log files were deleted before the consume queue was written: the queue begins after the gap."""
    store = bench.open(delete_when=())
    fill(bench, store, 8, queues=1)
    write_all(store)
    fill(bench, store, 24, queues=1)
    bench.disk_use = 0.88
    for _ in steps_of_round(store):
        pass
    bench.kill(store)
    store = bench.open(delete_when=())
    first = first_in_log(bench, store, 0)
    assert first > 8
    assert (store.min_offset("T", 0), store.max_offset("T", 0)) == (first, 32)
    assert len(bench.bodies(store)) == 32 - first
    bench.close(store)
    store = bench.open()
    assert (store.min_offset("T", 0), store.max_offset("T", 0)) == (first, 32)


def test_leftovers_before_a_hole_in_a_queue_go(bench, full):
    write_all(full)
    bench.kill(full)
    for file in bench.commit_log_files()[:4]:
        file.unlink()
    bench.queue_files("T", 0)[1].unlink()
    store = bench.open()
    assert store.min_offset("T", 0) == 14
    assert names(bench.queue_files("T", 0)) == [2 * QUEUE_FILE, 3 * QUEUE_FILE]


def test_a_hole_with_messages_before_it_is_damage(bench, full):
    write_all(full)
    bench.close(full)
    bench.queue_files("T", 0)[1].unlink()
    before = names(bench.queue_files("T", 0))
    store = bench.open()
    with pytest.raises(StoreDamaged, match="the file before it is missing"):
        store.min_offset("T", 0)
    assert names(bench.queue_files("T", 0)) == before
    # It would be closed with an unusable queue.
    bench.kill(store)


def test_a_hole_behind_an_empty_file_is_damage(bench, full):
    write_all(full)
    bench.close(full)
    for file in bench.commit_log_files()[:4]:
        file.unlink()
    files = bench.queue_files("T", 0)
    files[1].unlink()
    files[0].write_bytes(pack(0, 0, 0) * 5)
    with pytest.raises(StoreDamaged):
        bench.open().min_offset("T", 0)


@st.composite
def lives(draw):
    """What happens in the life of a store, kills included."""
    act = st.one_of(
        st.tuples(st.just("send"), st.integers(1, 12), st.integers(0, 2)),
        st.tuples(st.just("checkpoint"), st.just(0), st.just(0)),
        st.tuples(st.just("write queues"), st.just(0), st.just(0)),
        st.tuples(st.just("clean"), st.integers(0, 12), st.just(0)),
        st.tuples(st.just("trim"), st.integers(0, 12), st.just(0)),
        st.tuples(st.sampled_from(["kill", "close"]), st.just(0), st.just(0)),
    )
    return draw(st.lists(act, min_size=3, max_size=25))


@given(life=lives())
def test_killed_between_any_two_steps_nothing_else_is_lost(make_bench, life):
    with TemporaryDirectory() as folder:
        bench = make_bench(Path(folder))
        live(bench, life)


def live(bench, life):
    """After every opening: exactly the messages in the log are there, at their offsets."""
    bench.disk_use = 0.88
    store = bench.open(delete_when=(), delete_file_batch_max=3)
    sent: dict[int, list[tuple[int, bytes]]] = {0: [], 1: [], 2: []}
    begin = 0
    number = 0
    for act, count, queue_id in life:
        if act == "send":
            for _ in range(count):
                body = b"%d" % number + bytes(number % 90)
                appended = store.put(bench.message(body, queue_id=queue_id))
                assert appended.queue_offset == len(sent[queue_id])
                sent[queue_id].append((appended.physical_offset, body))
                number += 1
        elif act == "checkpoint":
            write_all(store)
        elif act == "write queues":
            store.write_derived()
        elif act in ("clean", "trim"):
            steps = steps_of_round(store) if act == "clean" else steps_of_trimming(store)
            store.flush()
            for _, _ in zip(range(count), steps, strict=False):
                pass
        else:
            (bench.kill if act == "kill" else bench.close)(store)
            store = bench.open(delete_when=(), delete_file_batch_max=3)
        # A file may come back that was out of the log and not yet deleted, but not its entries.
        begin = max(begin, store.min_physical_offset)
        check(store, sent, begin, opened=act in ("kill", "close"))


def check(store, sent, begin, opened):
    for queue_id, messages in sent.items():
        kept = [n for n, (physical, _) in enumerate(messages) if physical >= begin]
        lowest, highest = store.min_offset("T", queue_id), store.max_offset("T", queue_id)
        if kept or not opened:
            assert highest == len(messages)
        if opened and kept:
            assert lowest <= kept[0]
            assert lowest == kept[0] or store.min_physical_offset < begin
        for offset in kept:
            entry = store.queue_entry("T", queue_id, offset)
            assert entry.physical_offset == messages[offset][0]
            assert parse_record(store.record_at(entry.physical_offset)).body == messages[offset][1]
        # A queue without a record in the log forgets its offsets only with its entries.
        if opened and not kept:
            assert lowest == highest or store.min_physical_offset < begin
            if highest != len(messages):
                sent[queue_id] = messages[:highest]
