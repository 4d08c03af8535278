"""Batch queues and extensions made from the real broker's commit log have the real broker's bytes."""

from __future__ import annotations

from pathlib import Path

import pytest

from trimq.codec.entries.batch_queue import parse_batch_entries
from trimq.codec.java.hashes import string_hash
from trimq.codec.records.properties import parse_properties
from trimq.codec.records.record import parse_record
from trimq.store.config import StoreConfig
from trimq.store.message_store import MessageStore

GOLDEN = Path(__file__).parents[1].parent / "vectors" / "queues"
LOG_FILE = 65536
BATCH_FILE = 46 * 8
EXTENSION_FILE = 70


def whole(name: str, size: int) -> bytes:
    """A file as it was, with the zeros that are not kept."""
    return (GOLDEN / name).read_bytes().ljust(size, b"\0")


def lay_down(root: Path, folder: str, *files: bytes) -> None:
    (root / folder).mkdir(parents=True)
    for number, content in enumerate(files):
        (root / folder / f"{number * len(content):020d}").write_bytes(content)


def laid_down(root: Path, folder: str) -> list[bytes]:
    return [file.read_bytes() for file in sorted((root / folder).iterdir())]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    lay_down(tmp_path, "commitlog", whole("commitlog.bin", LOG_FILE))
    return tmp_path


def opened(root: Path) -> MessageStore:
    config = StoreConfig(
        root=root,
        mapped_file_size_commit_log=LOG_FILE,
        mapped_file_size_consume_queue=200,
        mapper_file_size_batch_consume_queue=BATCH_FILE,
        enable_consume_queue_ext=True,
        mapped_file_size_consume_queue_ext=EXTENSION_FILE,
    )
    store = MessageStore(config, lambda: 0)
    store.open({"GoldenBatches": "BatchCQ"})
    return store


def test_made_from_the_log_they_are_the_real_brokers(root: Path) -> None:
    opened(root).close()
    assert laid_down(root, "batchconsumequeue/GoldenBatches/0") == [
        whole(f"batchqueue-{number}.bin", BATCH_FILE) for number in range(2)
    ]
    assert laid_down(root, "consumequeue/GoldenTopic/0") == [whole("queue.bin", 200)]
    assert laid_down(root, "consumequeue_ext/GoldenTopic/0") == [
        whole(f"extension-{number}.bin", EXTENSION_FILE) for number in range(2)
    ]


def test_the_real_brokers_are_read(root: Path) -> None:
    batches = [whole(f"batchqueue-{number}.bin", BATCH_FILE) for number in range(2)]
    lay_down(root, "batchconsumequeue/GoldenBatches/0", *batches)
    lay_down(root, "consumequeue/GoldenTopic/0", whole("queue.bin", 200))
    units = [whole(f"extension-{number}.bin", EXTENSION_FILE) for number in range(2)]
    lay_down(root, "consumequeue_ext/GoldenTopic/0", *units)
    store = opened(root)
    # The last batch has five messages, one alone comes behind it.
    assert (store.min_offset("GoldenBatches", 0), store.max_offset("GoldenBatches", 0)) == (0, 20)
    result = store.read("GoldenBatches", 0, 15, 32, 1 << 20, frozenset([string_hash("Tag4")]))
    assert (result.message_count, result.next_begin_offset) == (6, 20)
    for tag, count in (("Tag0", 1), ("Tag2", 0), ("Tag4", 1), ("none", 0)):
        found = store.read("GoldenTopic", 0, 0, 32, 1 << 20, frozenset([string_hash(tag)]))
        assert found.message_count == count
    store.close()


def test_its_entries_say_what_its_records_say() -> None:
    log = (GOLDEN / "commitlog.bin").read_bytes()
    entries = [
        entry
        for number in range(2)
        for entry in parse_batch_entries(whole(f"batchqueue-{number}.bin", BATCH_FILE))
        if entry.size
    ]
    assert [entry.count for entry in entries] == [1, 1, 2, 1, 3, 1, 4, 1, 5, 1]
    for entry in entries:
        record = parse_record(log, entry.physical_offset)
        properties = parse_properties(record.properties)
        tag = properties.get("TAGS")
        assert entry.size == record.total_size
        assert entry.base_offset == record.queue_offset
        assert entry.store_timestamp == record.store_timestamp
        assert entry.tags_code == (string_hash(tag) if tag else 0)
        assert entry.count == int(properties.get("INNER_NUM", "1"))
