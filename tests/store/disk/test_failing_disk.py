"""A disk that is full or broken: nothing half done, nothing acknowledged lost."""

from __future__ import annotations

import errno
import os

import pytest

from trimq.store.disk import files
from trimq.store.errors import DiskFull, StoreError, StoreNotWritable
from trimq.store.upkeep import checkpointing
from trimq.store.upkeep.checkpoint_file import load_checkpoint


class Disk:
    """Takes `room` bytes more through pwritev, then has no space left."""

    def __init__(self, monkeypatch):
        self.room = 1 << 30
        self._pwritev = os.pwritev
        monkeypatch.setattr(os, "pwritev", self.pwritev)

    def pwritev(self, fd, chunks, position):
        data = b"".join(chunks)
        if self.room == 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        data = data[: self.room]
        self.room -= len(data)
        return self._pwritev(fd, [data], position)


def broken(*_):
    raise OSError(errno.EIO, "Input/output error")


@pytest.fixture
def disk(monkeypatch):
    return Disk(monkeypatch)


@pytest.mark.parametrize("room", [0, 1, 90, 150, 250, 1100, 2000])
def test_a_full_disk_takes_the_staged_messages_back(bench, disk, room):
    store = bench.open()
    store.put(bench.message(b"before", queue_id=0))
    end = store.max_physical_offset
    heard = []
    store.add_listener(heard.extend)
    disk.room = room
    for number in range(12):
        store.stage(bench.message(bytes(200), queue_id=number % 2))
    with pytest.raises(DiskFull):
        store.write_staged()
    assert not heard
    assert (store.max_physical_offset, store.max_offset("T", 0)) == (end, 1)
    assert store.max_offset("T", 1) == 0
    assert store.writable
    # What had reached the file is gone from it too.
    assert not any(bench.commit_log_files()[0].read_bytes()[end:])
    assert len(bench.commit_log_files()) == 1
    disk.room = 1 << 30
    appended = store.put(bench.message(b"after", queue_id=0))
    assert (appended.queue_offset, appended.physical_offset) == (1, end)
    bench.kill(store)
    assert bench.bodies(bench.open()) == [b"before", b"after"]


def test_a_failed_put_does_not_hide_the_loss_of_what_others_staged(bench, disk):
    store = bench.open()
    store.stage(bench.message(b"a"))
    disk.room = 0
    with pytest.raises(DiskFull):
        store.put(bench.message(b"b"))
    disk.room = 1 << 30
    store.stage(bench.message(b"c"))
    with pytest.raises(StoreError, match="lost with another write"):
        store.write_staged()
    assert store.put(bench.message(b"d")).queue_offset == 0
    assert bench.bodies(store) == [b"d"]


def test_a_full_disk_in_the_middle_of_reading_does_not_matter(bench, disk):
    store = bench.open()
    store.put(bench.message(b"a"))
    disk.room = 0
    with pytest.raises(DiskFull):
        store.put(bench.message(b"b"))
    assert bench.bodies(store) == [b"a"]


def test_consume_queues_wait_for_room(bench, disk):
    store = bench.open(queue_buffer_bytes=40)
    disk.room = 10_000
    for number in range(3):
        store.put(bench.message(b"%d" % number))
    disk.room = 0
    with pytest.raises(DiskFull):
        store.write_derived()
    # Messages already in the log stay readable from memory.
    assert bench.bodies(store) == [b"0", b"1", b"2"]
    disk.room = 1 << 30
    while store.write_derived():
        pass
    store.put(bench.message(b"3"))
    bench.close(store)
    assert bench.bodies(bench.open()) == [b"0", b"1", b"2", b"3"]


def test_a_send_succeeds_when_only_its_queue_cannot_be_written(bench, monkeypatch):
    store = bench.open(queue_buffer_bytes=40)
    real = os.pwritev
    log = os.path.join(bench.root, "commitlog")

    def only_the_log(fd, chunks, position):
        if not os.readlink(f"/proc/self/fd/{fd}").startswith(log):
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(fd, chunks, position)

    monkeypatch.setattr(os, "pwritev", only_the_log)
    for number in range(9):
        store.put(bench.message(b"%d" % number))
    with pytest.raises(DiskFull):
        store.write_derived()
    monkeypatch.undo()
    assert len(bench.bodies(store)) == 9
    while store.write_derived():
        pass
    assert len(bench.bodies(store)) == 9
    bench.close(store)
    assert len(bench.bodies(bench.open())) == 9


def test_after_a_failed_sync_the_store_accepts_nothing_more(bench, monkeypatch):
    store = bench.open()
    store.put(bench.message(b"a"))

    monkeypatch.setattr(os, "fdatasync", broken)
    with pytest.raises(StoreError):
        store.flush()
    monkeypatch.undo()
    assert store.flushed_offset == 0
    assert not store.writable
    with pytest.raises(StoreNotWritable):
        store.put(bench.message(b"b"))
    assert bench.bodies(store) == [b"a"]


def test_an_append_that_cannot_be_taken_back_is_taken_back_before_the_next(
    bench, disk, monkeypatch
):
    store = bench.open()
    store.put(bench.message(b"a"))
    disk.room = 5

    end = store.max_physical_offset
    with monkeypatch.context() as patch:
        patch.setattr(os, "ftruncate", broken)
        with pytest.raises(DiskFull):
            store.put(bench.message(b"b"))
        disk.room = 1 << 30
        with pytest.raises(StoreError, match="Input/output error"):
            store.put(bench.message(b"c"))
    assert any(bench.commit_log_files()[0].read_bytes()[end:])
    assert store.put(bench.message(b"d")).physical_offset == end
    bench.kill(store)
    assert bench.bodies(bench.open()) == [b"a", b"d"]


def test_a_store_with_something_left_behind_its_end_is_not_closed_in_order(
    bench, disk, monkeypatch
):
    store = bench.open()
    store.put(bench.message(b"a"))
    disk.room = 5

    monkeypatch.setattr(os, "ftruncate", broken)
    with pytest.raises(DiskFull):
        store.put(bench.message(b"b"))
    disk.room = 1 << 30
    with pytest.raises(StoreError):
        bench.close(store)
    monkeypatch.undo()
    assert (bench.root / "abort").exists()
    assert bench.bodies(bench.open()) == [b"a"]


def test_flush_tells_what_is_durable(bench):
    store = bench.open()
    assert store.flush() == 0
    end = [store.put(bench.message(bytes(300))).end for _ in range(5)][-1]
    assert store.flushed_offset == 0
    assert store.flush() == store.flushed_offset == end
    assert store.flush() == end
    store.put(bench.message(bytes(300)))
    assert store.flushed_offset == end


def test_a_failed_checkpoint_is_made_up_for(bench, monkeypatch):
    store = bench.open()
    store.put(bench.message(b"a"))
    while store.write_derived():
        pass
    store.flush()
    synced = []
    real = os.fdatasync

    monkeypatch.setattr(os, "fdatasync", broken)
    with pytest.raises(StoreError):
        store.plan_checkpoint().run()
    assert not (bench.root / "checkpoint").exists()

    def noting(fd):
        synced.append(os.readlink(f"/proc/self/fd/{fd}"))
        real(fd)

    monkeypatch.setattr(os, "fdatasync", noting)
    store.plan_checkpoint().run()
    assert synced == [str(bench.queue_files("T", 0)[0]), str(bench.root / "checkpoint")]


def test_thousands_of_queues_are_synced_as_a_whole(bench, monkeypatch):
    """One by one they took longer than the time between two checkpoints."""
    store = bench.open(mapped_file_size_consume_queue=4000)
    calls = []

    def noting(name):
        real = getattr(files, name)

        def call(what):
            calls.append(name)
            return real(what)

        return call

    for queue_id in range(checkpointing.SYNCED_ONE_BY_ONE + 1):
        store.stage(bench.message(b"", queue_id=queue_id))
    store.write_staged()
    while store.write_derived():
        pass
    for name in ("sync_file_system", "sync_file", "sync_directory"):
        monkeypatch.setattr(checkpointing, name, noting(name))
    store.plan_checkpoint().run()
    assert calls == ["sync_file_system"]
    store.put(bench.message(b""))
    while store.write_derived():
        pass
    store.plan_checkpoint().run()
    assert calls == ["sync_file_system", "sync_file"]


def five_queues(bench, monkeypatch):
    """A store with two too many to be synced one by one."""
    store = bench.open()
    for queue_id in range(5):
        store.put(bench.message(b"", queue_id=queue_id))
    while store.write_derived():
        pass
    monkeypatch.setattr(checkpointing, "SYNCED_ONE_BY_ONE", 3)
    return store


def test_a_file_system_that_cannot_be_synced_leaves_the_checkpoint(bench, monkeypatch):
    store = five_queues(bench, monkeypatch)

    monkeypatch.setattr(checkpointing, "sync_file_system", broken)
    with pytest.raises(StoreError):
        store.plan_checkpoint().run()
    assert not (bench.root / "checkpoint").exists()
    monkeypatch.undo()
    store.plan_checkpoint().run()
    assert load_checkpoint(bench.root / "checkpoint").queue_physical_offset > 0


def test_without_syncfs_files_are_synced_one_by_one(bench, monkeypatch):
    store = five_queues(bench, monkeypatch)
    synced = []

    def missing(_):
        raise OSError(errno.ENOSYS, "no syncfs")

    monkeypatch.setattr(checkpointing, "sync_file_system", missing)
    monkeypatch.setattr(checkpointing, "sync_file", synced.append)
    store.plan_checkpoint().run()
    assert sorted(synced) == [str(bench.queue_files("T", number)[0]) for number in range(5)]


def test_a_queue_deleted_while_it_waits_leaves_no_files(bench):
    """Neither its turn to be written nor the checkpoint brings anything of it back."""
    store = bench.open()
    for number in range(4):
        store.put(bench.message(b"", topic="gone", queue_id=number))
    while store.write_derived():
        pass
    for number in range(4):
        store.put(bench.message(b"", topic="gone", queue_id=number))
    assert store.delete_topic("gone")
    again = store.put(bench.message(b"again", topic="gone"))
    assert again.queue_offset == 0
    while store.write_derived():
        pass
    store.plan_checkpoint().run()
    assert [path.name for path in (bench.root / "consumequeue/gone").iterdir()] == ["0"]
    assert bench.bodies(store, "gone") == [b"again"]
