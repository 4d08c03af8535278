"""Damaged stores: one test for each row of the table in docs/durability.md."""

from __future__ import annotations

import errno
import os
import shutil

import pytest

from trimq.codec.entries.checkpoint import Checkpoint
from trimq.codec.records.batch import BatchItem, join_batch
from trimq.store.checking.check import StoreCheck
from trimq.store.errors import DiskFull, StoreDamaged, WrongFileSize
from trimq.store.upkeep.checkpoint_file import save_checkpoint

FILE = 1024
BODY = b"b" * 40
# Bytes of a record of the topic T with one property, and what a wrong bit in them does to the last
# record of a killed store: it ends the log there, or nobody can know.
FIELDS = {
    "size": (0, 4, "ends"),
    "magic": (4, 8, "ends"),
    "body CRC": (8, 12, "ends"),
    "queue id": (12, 16, "unknown"),
    "flag": (16, 20, "unknown"),
    "queue offset": (20, 28, "unknown"),
    "physical offset": (28, 36, "ends"),
    "sysFlag, unused bits": (36, 38, "unknown"),
    "born timestamp": (40, 48, "unknown"),
    "born host": (48, 56, "unknown"),
    "store timestamp": (56, 64, "unknown"),
    "store host": (64, 72, "unknown"),
    "reconsume times": (72, 76, "unknown"),
    "prepared offset": (76, 84, "unknown"),
    "body length": (84, 88, "ends"),
    "body": (88, 128, "ends"),
    "topic length": (128, 129, "ends"),
    "topic": (129, 130, "unknown"),
    "properties length": (130, 132, "ends"),
    "properties": (132, 139, "unknown"),
}


def fill(bench, store, count, queues=1):
    return [
        store.put(bench.message(BODY, queue_id=number % queues, tag="x")) for number in range(count)
    ]


def flip(path, position, bit):
    with path.open("r+b") as file:
        file.seek(position)
        byte = file.read(1)[0]
        file.seek(position)
        file.write(bytes([byte ^ 1 << bit]))


@pytest.mark.parametrize("field", FIELDS)
def test_a_wrong_bit_in_the_last_record(bench, field):
    start, end, outcome = FIELDS[field]
    store = bench.open()
    last = fill(bench, store, 4)[-1]
    assert last.size == 139
    bench.kill(store)
    saved = bench.root.with_name("saved")
    shutil.copytree(bench.root, saved)
    for position in range(start, end):
        for bit in (0, 3, 7):
            shutil.rmtree(bench.root)
            shutil.copytree(saved, bench.root)
            flip(bench.commit_log_files()[0], last.physical_offset + position, bit)
            store = bench.open()
            bodies = bench.bodies(store)
            assert bodies[:3] == [BODY] * 3
            if outcome == "ends":
                assert len(bodies) == 3
                assert bench.report.end == last.physical_offset
                assert bench.report.dropped
            else:
                assert outcome == "unknown"
            # Whatever it was, the store goes on.
            appended = store.put(bench.message(b"next", topic="after"))
            bench.kill(store)
            assert bench.bodies(bench.open(), "after") == [b"next"]
            assert appended.queue_offset == 0
            bench.end()


def test_a_wrong_bit_in_a_middle_record_after_a_kill(bench):
    store = bench.open()
    records = fill(bench, store, 20)
    bench.kill(store)
    at = records[9].physical_offset
    flip(bench.commit_log_files()[at // FILE], at % FILE + 100, 2)
    store = bench.open()
    assert len(bench.bodies(store)) == 9
    assert bench.report.end == at
    # Ten whole records and the damaged one, with what lies between files.
    assert bench.report.dropped >= 11 * 139


def test_a_wrong_bit_before_the_checkpoint_is_not_noticed(bench):
    store = bench.open()
    records = fill(bench, store, 20)
    bench.close(store)
    at = records[9].physical_offset
    flip(bench.commit_log_files()[at // FILE], at % FILE + 100, 2)
    store = bench.open()
    assert store.max_offset("T", 0) == 20
    assert (bench.report.records, bench.report.dropped) == (1, 0)


def test_a_wrong_bit_in_the_last_record_after_a_clean_stop(bench):
    store = bench.open()
    last = fill(bench, store, 20)[-1]
    bench.close(store)
    flip(bench.commit_log_files()[-1], last.physical_offset % FILE + 100, 2)
    store = bench.open()
    assert len(bench.bodies(store)) == 19
    assert (bench.report.cut, bench.report.dropped) == (True, 139)


def test_wrong_bits_in_young_queue_entries_are_mended(bench):
    store = bench.open()
    fill(bench, store, 4)
    while store.write_derived():
        pass
    bench.kill(store)
    queue = bench.queue_files("T", 0)[0]
    right = queue.read_bytes()
    for position in range(80):
        flip(queue, position, position % 8)
        store = bench.open()
        assert bench.bodies(store) == [BODY] * 4
        while store.write_derived():
            pass
        bench.kill(store)
        assert queue.read_bytes() == right


def wrong_entries(bench):
    problems = StoreCheck(bench.root).run().findings.problems()
    return [found.kind for found in problems if found.kind == "wrong entry"]


def test_a_wrong_bit_in_an_old_queue_entry_is_found_by_a_check_and_mended_by_a_rebuild(bench):
    """Opening does not read it; `trimq check` does, and without its folder the queue is rebuilt."""
    store = bench.open()
    fill(bench, store, 4)
    store.close()
    queue = bench.queue_files("T", 0)[0]
    right = queue.read_bytes()
    # The size of the second message.
    flip(queue, 20 + 11, 3)
    bench.open().close()
    assert queue.read_bytes() != right
    assert wrong_entries(bench)
    shutil.rmtree(bench.root / "consumequeue")
    store = bench.open()
    assert bench.bodies(store) == [BODY] * 4
    store.close()
    assert queue.read_bytes() == right
    assert not wrong_entries(bench)


def test_wrong_bits_in_the_checkpoint(bench):
    store = bench.open()
    fill(bench, store, 20, queues=2)
    while store.write_derived():
        pass
    store.plan_checkpoint().run()
    fill(bench, store, 6, queues=2)
    bench.kill(store)
    content = (bench.root / "checkpoint").read_bytes()
    for position in range(48):
        for bit in (0, 6):
            (bench.root / "checkpoint").write_bytes(content)
            flip(bench.root / "checkpoint", position, bit)
            store = bench.open()
            assert [len(bench.bodies(store, queue_id=number)) for number in (0, 1)] == [13, 13]
            bench.kill(store)


@pytest.mark.parametrize("content", [None, b"", b"short", bytes(4096)])
def test_no_checkpoint(bench, content):
    store = bench.open()
    fill(bench, store, 20)
    bench.close(store)
    (bench.root / "checkpoint").unlink()
    if content is not None:
        (bench.root / "checkpoint").write_bytes(content)
    store = bench.open()
    assert len(bench.bodies(store)) == 20
    assert bench.report.records == 20


def test_an_older_checkpoint(bench):
    store = bench.open()
    for _ in range(4):
        first = fill(bench, store, 5)[0]
    bench.close(store)
    save_checkpoint(
        bench.root / "checkpoint", Checkpoint(queue_physical_offset=first.physical_offset)
    )
    store = bench.open()
    assert len(bench.bodies(store)) == 20
    assert bench.report.records == 5


def test_a_truncated_last_file_after_a_clean_stop_is_refused(bench):
    store = bench.open()
    fill(bench, store, 20)
    bench.close(store)
    last = bench.commit_log_files()[-1]
    os.truncate(last, 300)
    for _ in range(2):
        with pytest.raises(StoreDamaged, match="that is its length") as caught:
            bench.open()
        assert (caught.value.file, caught.value.offset) == (last, 300)


@pytest.mark.parametrize("messages", [1, 20])
def test_another_file_size_is_a_wrong_setting_and_no_damage(bench, messages):
    store = bench.open()
    fill(bench, store, messages)
    bench.close(store)
    files = bench.commit_log_files()
    before = [file.read_bytes() for file in files]
    with pytest.raises(WrongFileSize, match="Nothing is damaged"):
        bench.open(mapped_file_size_commit_log=FILE // 2)
    assert [file.read_bytes() for file in files] == before


def test_a_truncated_last_file_after_a_kill_ends_the_log(bench):
    store = bench.open()
    records = fill(bench, store, 20)
    bench.kill(store)
    os.truncate(bench.commit_log_files()[-1], 300)
    store = bench.open()
    end = bench.commit_log_files()[-1]
    left = [one for one in records if one.end <= int(end.name) + 300]
    assert len(bench.bodies(store)) == len(left)


def test_a_missing_last_file_is_reported(bench):
    store = bench.open()
    fill(bench, store, 20)
    bench.close(store)
    bench.commit_log_files()[-1].unlink()
    store = bench.open()
    assert bench.report.cut
    assert len(bench.bodies(store)) == 14


def test_foreign_names_are_left_alone(bench):
    store = bench.open()
    fill(bench, store, 20)
    bench.close(store)
    foreign = [
        bench.root / "commitlog" / "notes.txt",
        bench.root / "commitlog" / "00000000000000001024.copy",
        bench.root / "commitlog" / "1024",
        bench.root / "consumequeue" / "a-file",
        bench.root / "consumequeue" / "T" / "notes",
        bench.root / "consumequeue" / "T" / "0" / "x.tmp",
        bench.root / "notes",
    ]
    for path in foreign:
        path.write_bytes(b"mine")
    store = bench.open()
    fill(bench, store, 20)
    bench.kill(store)
    assert len(bench.bodies(bench.open())) == 40
    assert [path.read_bytes() for path in foreign] == [b"mine"] * len(foreign)


def test_a_file_that_is_named_between_two_is_refused(bench):
    store = bench.open()
    fill(bench, store, 20)
    bench.close(store)
    wrong = bench.root / "commitlog" / f"{FILE + 1:020d}"
    wrong.write_bytes(bytes(FILE))
    with pytest.raises(StoreDamaged) as caught:
        bench.open()
    assert caught.value.file == wrong


class Disk:
    """Accepts this many bytes more, then is full; `files` more files can be created."""

    def __init__(self, monkeypatch, room):
        self.room = room
        self.files = 1 << 30
        self._pwritev, self._open = os.pwritev, os.open
        monkeypatch.setattr(os, "pwritev", self.pwritev)
        monkeypatch.setattr(os, "open", self.open)

    def pwritev(self, fd, chunks, position):
        data = b"".join(chunks)[: self.room]
        if not data:
            raise OSError(errno.ENOSPC, "No space left on device")
        self.room -= len(data)
        return self._pwritev(fd, [data], position)

    def open(self, path, flags, *more, **options):
        if flags & os.O_CREAT and not os.path.exists(path):
            if not self.files:
                raise OSError(errno.ENOSPC, "No space left on device")
            self.files -= 1
        return self._open(path, flags, *more, **options)


SENDS = {
    "a record": lambda bench, store: store.stage(bench.message(bytes(60))),
    "a batch": lambda bench, store: store.stage_batch(
        bench.message(join_batch([BatchItem(0, bytes(20), b"")] * 3))
    ),
    "a new file": lambda bench, store: [store.stage(bench.message(bytes(600))) for _ in range(2)],
}


@pytest.mark.parametrize("kind", SENDS)
def test_a_disk_that_is_full_at_any_byte(bench, monkeypatch, kind):
    """Nothing of the failed send is left; the same send succeeds when there is room again."""
    store = bench.open()
    fill(bench, store, 2)
    end = store.max_physical_offset
    disk = Disk(monkeypatch, 1 << 30)
    SENDS[kind](bench, store)
    size = sum(len(chunk) for run in store._log._runs for chunk in run.chunks)
    store._appender.discard()
    for room in range(size):
        disk.room = room
        SENDS[kind](bench, store)
        with pytest.raises(DiskFull):
            store.write_staged()
        assert (store.max_physical_offset, store.max_offset("T", 0)) == (end, 2)
        assert store.writable
        if room % 40 == 0:
            # A kill in this state finds the store as it was before.
            bench.kill(store)
            store = bench.open(queue_buffer_bytes=20)
            assert (bench.report.end, bench.report.dropped) == (end, 0)
            disk.room = 1 << 30
    disk.room = 1 << 30
    SENDS[kind](bench, store)
    store.write_staged()
    assert store.max_offset("T", 0) > 2
    bench.kill(store)
    assert len(bench.bodies(bench.open())) > 2


def test_a_disk_without_room_for_another_file(bench, monkeypatch):
    store = bench.open()
    fill(bench, store, 7)
    disk = Disk(monkeypatch, 1 << 30)
    disk.files = 0
    with pytest.raises(DiskFull):
        fill(bench, store, 1)
    assert store.max_offset("T", 0) == 7
    disk.files = 1
    fill(bench, store, 1)
    disk.files = 1 << 30
    bench.kill(store)
    assert len(bench.bodies(bench.open())) == 8


def test_a_disk_that_is_full_when_the_store_opens(bench, monkeypatch):
    """What is there can be read, and written on as soon as there is room."""
    store = bench.open()
    fill(bench, store, 4)
    bench.close(store)
    disk = Disk(monkeypatch, 0)
    store = bench.open()
    assert len(bench.bodies(store)) == 4
    with pytest.raises(DiskFull):
        fill(bench, store, 1)
    bench.kill(store)
    store = bench.open()
    disk.room = 1 << 30
    fill(bench, store, 1)
    bench.kill(store)
    assert len(bench.bodies(bench.open())) == 5
