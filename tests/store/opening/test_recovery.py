"""Opening after a clean stop, after kill -9, and with files that were damaged."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimq.codec.flags import SysFlag
from trimq.store.errors import (
    PropertiesLookTorn,
)

FILE = 1024

messages = st.lists(
    st.tuples(st.binary(max_size=200), st.integers(0, 2), st.sampled_from(["", "a", "b"])),
    min_size=1,
    max_size=25,
)


def fill(bench, store, count, size=50, queues=2, start=0):
    for number in range(start, start + count):
        store.put(bench.message(b"%d" % number + bytes(size), queue_id=number % queues, tag="x"))


def cut_log(bench, end):
    """As if nothing behind `end` had ever reached the disk."""
    for file in bench.commit_log_files():
        base = int(file.name)
        if base >= end and base > 0:
            file.unlink()
        elif base + FILE > end:
            os.truncate(file, end - base)


def entries(store, queue_ids=range(3)):
    """Everything the consume queues know."""
    found = {}
    for queue_id in queue_ids:
        for offset in range(store.min_offset("T", queue_id), store.max_offset("T", queue_id)):
            entry = store.queue_entry("T", queue_id, offset)
            found[queue_id, offset] = (entry.physical_offset, entry.size, entry.tags_code)
    return found


def test_clean_stop_scans_one_record(bench):
    store = bench.open()
    fill(bench, store, 40)
    before = entries(store)
    bench.close(store)
    assert not (bench.root / "abort").exists()
    store = bench.open()
    assert bench.report.clean
    assert (bench.report.records, bench.report.entries) == (1, 0)
    assert entries(store) == before
    assert store.put(bench.message(b"next")).queue_offset == 20


def test_kill_loses_nothing(bench):
    store = bench.open()
    fill(bench, store, 40)
    before = entries(store)
    bench.kill(store)
    assert (bench.root / "abort").read_text() == str(os.getpid())
    store = bench.open()
    assert not bench.report.clean
    assert entries(store) == before
    fill(bench, store, 10)
    before = entries(store)
    bench.close(store)
    assert entries(bench.open()) == before


def test_messages_without_entries_get_none_at_recovery(bench):
    store = bench.open()
    store.put(bench.message(b"half", sys_flag=SysFlag.PREPARED))
    store.put(bench.message(b"whole"))
    bench.kill(store)
    assert bench.bodies(bench.open()) == [b"whole"]


def test_delivery_times_come_back(bench):
    store = bench.open()
    topic = "SCHEDULE_TOPIC_XXXX"
    store.put(bench.message(b"", topic=topic, properties=b"DELAY\x012\x02"))
    before = store.queue_entry(topic, 0, 0).tags_code
    bench.kill(store)
    assert bench.open().queue_entry(topic, 0, 0).tags_code == before


@given(sent=messages, cut=st.integers(0, 5000), checkpoint=st.none() | st.integers(0, 25))
def test_a_crash_at_any_byte_loses_only_the_tail(bench, sent, cut, checkpoint):
    with TemporaryDirectory() as folder:
        bench.root = Path(folder)
        store = bench.open()
        appended = []
        for number, (body, queue_id, tag) in enumerate(sent):
            appended.append(store.put(bench.message(body, queue_id=queue_id, tag=tag)))
            if checkpoint == number:
                while store.write_derived():
                    pass
                store.plan_checkpoint().run()
        before = entries(store)
        bench.kill(store)
        log = b"".join(file.read_bytes() for file in bench.commit_log_files())
        cut_log(bench, cut)
        store = bench.open()
        # A record whose lost bytes were zeros is none the worse for it.
        kept = {
            key: value
            for key, value in before.items()
            if not any(log[max(cut, value[0]) : value[0] + value[1]])
        }
        assert entries(store) == kept
        number = store.put(bench.message(b"goes on")).queue_offset
        assert number == sum(1 for queue_id, _ in kept if queue_id == 0)
        kept = entries(store)
        bench.kill(store)
        store = bench.open()
        assert entries(store) == kept
        bench.kill(store)


@given(sent=messages)
def test_lost_consume_queues_are_rebuilt_as_they_were(bench, sent):
    with TemporaryDirectory() as folder:
        bench.root = Path(folder)
        store = bench.open()
        for body, queue_id, tag in sent:
            store.put(bench.message(body, queue_id=queue_id, tag=tag))
        before = entries(store)
        bench.close(store)
        files = {
            path: path.read_bytes()
            for path in (bench.root / "consumequeue").rglob("0*")
            if path.is_file()
        }
        shutil.rmtree(bench.root / "consumequeue")
        store = bench.open()
        assert entries(store) == before
        bench.close(store)
        assert {path: path.read_bytes() for path in files} == files


def test_a_queue_behind_its_checkpoint_is_caught_up(bench):
    store = bench.open()
    fill(bench, store, 40)
    before = entries(store)
    bench.close(store)
    for file in bench.queue_files("T", 1)[1:]:
        file.unlink()
    store = bench.open()
    fill(bench, store, 1)
    bench.kill(store)
    store = bench.open()
    assert store.max_offset("T", 1) == 5
    bench.kill(store)
    # A message to that queue shows the gap.
    bench.root.joinpath("checkpoint").unlink()
    store = bench.open()
    assert {key: entries(store)[key] for key in before} == before


def test_a_queue_ahead_of_the_log_is_cut(bench):
    store = bench.open()
    fill(bench, store, 40)
    kept = {key: value for key, value in entries(store).items() if value[0] < 2 * FILE}
    bench.close(store)
    cut_log(bench, 2 * FILE)
    store = bench.open()
    assert entries(store) == kept
    bench.close(store)
    # Not only in memory: later records must not make the old entries look true again.
    store = bench.open()
    fill(bench, store, 40, size=55, queues=1)
    assert len(bench.bodies(store, queue_id=1)) == sum(1 for key in kept if key[0] == 1)


def test_what_was_after_the_tear_never_comes_back(bench):
    """A later record whole on the disk, an earlier one not: both are gone for good."""
    store = bench.open()
    first = store.put(bench.message(b"a" * 50))
    second = store.put(bench.message(b"b" * 50))
    store.put(bench.message(b"c" * 50))
    bench.kill(store)
    with bench.commit_log_files()[0].open("r+b") as file:
        file.seek(second.physical_offset + 90)
        file.write(b"?")
    store = bench.open()
    assert bench.bodies(store) == [b"a" * 50]
    assert store.max_physical_offset == first.end
    assert store.put(bench.message(b"d" * 50)).physical_offset == second.physical_offset
    bench.kill(store)
    assert bench.bodies(bench.open()) == [b"a" * 50, b"d" * 50]


def test_a_preallocated_empty_file_is_removed(bench):
    """A real broker makes the next file ahead of time."""
    store = bench.open()
    fill(bench, store, 2)
    bench.kill(store)
    following = bench.root / "commitlog" / f"{FILE:020d}"
    following.write_bytes(bytes(FILE))
    store = bench.open()
    assert len(bench.bodies(store, queue_id=0)) == 1
    assert not following.exists()


def test_a_blank_at_the_very_end_is_written_over(bench):
    store = bench.open()
    store.put(bench.message(bytes(500)))
    store.put(bench.message(bytes(500)))
    bench.kill(store)
    bench.commit_log_files()[1].unlink()
    store = bench.open()
    assert bench.bodies(store) == [bytes(500)]
    fill(bench, store, 10, queues=1)
    bench.kill(store)
    assert len(bench.bodies(bench.open())) == 11


def test_the_log_may_begin_later(bench):
    """Old files expire; queues then begin at their first message that is left."""
    store = bench.open()
    fill(bench, store, 40)
    before = entries(store)
    bench.close(store)
    for file in bench.commit_log_files()[:2]:
        file.unlink()
    kept = {key: value for key, value in before.items() if value[0] >= 2 * FILE}
    store = bench.open()
    assert entries(store) == kept
    assert store.min_physical_offset == 2 * FILE
    bench.close(store)
    shutil.rmtree(bench.root / "consumequeue")
    store = bench.open()
    assert entries(store) == kept
    fill(bench, store, 20)
    kept = entries(store)
    bench.kill(store)
    assert entries(bench.open()) == kept


def test_a_kill_changes_no_queue_file_that_is_right(bench, monkeypatch):
    """What the killed process wrote equals what the scan finds; it only has to be synced."""
    store = bench.open(mapped_file_size_consume_queue=200, queue_buffer_bytes=40)
    fill(bench, store, 62)
    bench.kill(store)
    writes = []
    real = os.pwritev
    store = bench.open(mapped_file_size_consume_queue=200)
    assert bench.report.entries == 62
    monkeypatch.setattr(os, "pwritev", lambda *a: writes.append(a) or real(*a))
    while store.write_derived():
        pass
    # The last one of every queue was in memory only.
    assert [sum(map(len, chunks)) for _, chunks, _ in writes] == [20, 20]
    paths = store.plan_checkpoint().files
    assert [Path(path).name for path in sorted(paths)] == 2 * [
        f"{at:020d}" for at in (0, 200, 400, 600)
    ]


def test_a_queue_that_lost_its_folder_gets_all_its_entries_back(bench):
    store = bench.open()
    fill(bench, store, 40)
    while store.write_derived():
        pass
    store.plan_checkpoint().run()
    fill(bench, store, 2, start=40)
    before = entries(store)
    bench.kill(store)
    shutil.rmtree(bench.root / "consumequeue/T/1")
    assert entries(bench.open()) == before


def test_entries_behind_the_logs_end_are_gone_before_it_grows_over_them(bench):
    """The log lost its tail, a queue did not, and nobody uses that queue for long."""
    store = bench.open(mapped_file_size_consume_queue=2000)
    fill(bench, store, 1, queues=1)
    store.put(bench.message(b"first", topic="other"))
    while store.write_derived():
        pass
    store.plan_checkpoint().run()
    end = store.max_physical_offset
    for _ in range(4):
        store.put(bench.message(bytes(50), topic="other"))
    while store.write_derived():
        pass
    bench.kill(store)
    cut_log(bench, end)
    store = bench.open(mapped_file_size_consume_queue=2000)
    fill(bench, store, 10, queues=1)
    while store.write_derived():
        pass
    store.plan_checkpoint().run()
    bench.kill(store)
    store = bench.open(mapped_file_size_consume_queue=2000)
    assert bench.bodies(store, "other") == [b"first"]
    assert store.put(bench.message(b"second", topic="other")).queue_offset == 1


def test_what_is_cut_off_is_reported(bench):
    store = bench.open()
    fill(bench, store, 40)
    last = store.put(bench.message(b"torn" * 20))
    bench.kill(store)
    cut_log(bench, last.end - 30)
    bench.open()
    assert bench.report.end == last.physical_offset
    assert bench.report.dropped == last.size - 30


def test_a_lost_sector_of_properties_is_seen(bench):
    """Their CRC covers the body only."""
    big = {"mapped_file_size_commit_log": 8192}
    store = bench.open(**big)
    store.put(bench.message(b"before"))
    torn = store.put(bench.message(b"", properties=b"key\x01" + b"v" * 3000 + b"\x02"))
    bench.kill(store)
    with bench.commit_log_files()[0].open("r+b") as file:
        file.seek(1024)
        file.write(bytes(512))
    store = bench.open(**big)
    assert store.max_physical_offset == torn.physical_offset
    # So nobody may send what looks like it.
    with pytest.raises(PropertiesLookTorn):
        store.put(bench.message(b"", properties=b"key\x01" + bytes(512) + b"\x02"))
    store.put(bench.message(b"", properties=b"key\x01" + bytes(511) + b"\x02"))


def test_a_topic_made_again_begins_at_zero_after_a_crash(bench):
    store = bench.open()
    fill(bench, store, 30, queues=1)
    assert store.delete_topic("T")
    fill(bench, store, 3, queues=1, start=100)
    before = entries(store)
    assert sorted(before) == [(0, 0), (0, 1), (0, 2)]
    bench.kill(store)
    assert entries(bench.open()) == before


def test_a_record_that_does_not_continue_its_queue(bench, caplog):
    """What comes before it is there, and so is what continues that."""
    store = bench.open()
    places = [store.put(bench.message(b"m")).physical_offset for _ in range(5)]
    bench.kill(store)
    with bench.commit_log_files()[0].open("r+b") as file:
        file.seek(places[3] + 20)
        file.write((77).to_bytes(8, "big"))
    for _ in range(2):
        store = bench.open()
        assert store.max_offset("T", 0) == 3
        bench.close(store)
    assert "records that continue no queue are passed over" in caplog.text
