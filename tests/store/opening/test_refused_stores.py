"""What recovery refuses to open, naming why, and leaves as it is."""

from __future__ import annotations

import os
import shutil

import pytest

from tests.store.opening.test_recovery import fill
from trimq.store.errors import (
    StoreDamaged,
    StoreError,
    StoreInUse,
    WrongFileSize,
)


def test_damage_in_front_of_vouched_records_is_refused(bench):
    store = bench.open()
    fill(bench, store, 40)
    bench.close(store)
    file = bench.commit_log_files()[1]
    content = file.read_bytes()
    shutil.rmtree(bench.root / "consumequeue")
    file.write_bytes(content[:100] + b"\xff" * 30 + content[130:])
    with pytest.raises(StoreDamaged) as caught:
        bench.open()
    assert caught.value.file == file
    assert 0 <= caught.value.offset < 130
    # Nothing was touched, so putting the bytes back heals it.
    file.write_bytes(content)
    assert len(bench.bodies(bench.open())) == 20


def test_a_refused_log_can_be_cut_by_hand(bench):
    """What docs/durability.md says under "A store that is refused"."""
    store = bench.open()
    fill(bench, store, 40)
    bench.close(store)
    files = bench.commit_log_files()
    content = files[1].read_bytes()
    files[1].write_bytes(content[:100] + b"\xff" * 30 + content[130:])
    shutil.rmtree(bench.root / "consumequeue")
    with pytest.raises(StoreDamaged) as caught:
        bench.open()
    for later in files[2:]:
        later.unlink()
    os.truncate(caught.value.file, caught.value.offset)
    os.truncate(caught.value.file, len(content))
    shutil.rmtree(bench.root / "index", ignore_errors=True)
    (bench.root / "checkpoint").unlink()
    store = bench.open()
    kept = bench.bodies(store)
    assert 0 < len(kept) < 20
    store.put(bench.message(b"new"))
    assert b"new" in bench.bodies(store) + bench.bodies(store, queue_id=1)


def test_a_missing_middle_file_is_refused(bench):
    store = bench.open()
    fill(bench, store, 40)
    bench.close(store)
    bench.commit_log_files()[1].unlink()
    with pytest.raises(StoreDamaged, match="the file before it is missing"):
        bench.open()


def test_another_file_size_is_refused_by_its_setting(bench):
    store = bench.open()
    fill(bench, store, 40)
    bench.close(store)
    with pytest.raises(WrongFileSize, match="mappedFileSizeCommitLog=4096 does not fit"):
        bench.open(mapped_file_size_commit_log=4096)
    with pytest.raises(StoreDamaged, match="mappedFileSizeConsumeQueue"):
        bench.open(mapped_file_size_consume_queue=200).max_offset("T", 0)


def test_consume_queues_without_a_log_are_refused(bench):
    store = bench.open()
    fill(bench, store, 4)
    bench.close(store)
    shutil.rmtree(bench.root / "commitlog")
    with pytest.raises(StoreDamaged, match="no commit log"):
        bench.open()


def test_a_damaged_queue_stays_refused(bench):
    """A second look must not take it for a queue without entries."""
    store = bench.open()
    fill(bench, store, 40)
    bench.close(store)
    with bench.queue_files("T", 1)[0].open("ab") as file:
        file.write(b"more")
    store = bench.open()
    for _ in range(2):
        with pytest.raises(StoreDamaged, match="mappedFileSizeConsumeQueue"):
            store.max_offset("T", 1)
    with pytest.raises(StoreDamaged):
        store.put(bench.message(b""))


def test_two_stores_never_share_a_directory(bench):
    store = bench.open()
    with pytest.raises(StoreInUse):
        bench.open()
    bench.close(store)
    bench.open()


def test_rocksdb_queues_are_refused_untouched(bench):
    folder = bench.root / "consumequeue_rocksdb"
    folder.mkdir(parents=True)
    (folder / "CURRENT").write_text("MANIFEST-000004")
    with pytest.raises(StoreError, match="storeType=default"):
        bench.open()
    assert sorted(path.name for path in bench.root.iterdir()) == ["consumequeue_rocksdb", "lock"]
