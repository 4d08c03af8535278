"""Compacted queues with small files, and records for them."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from trimq.codec.records.properties import format_properties
from trimq.codec.records.record import Record, encode_record, parse_record
from trimq.store.compaction.pair import Kept, Sizes
from trimq.store.compaction.queue import CompactedQueue
from trimq.store.compaction.rewriting import rewrite
from trimq.store.queues.reading.pull import PullLimits, ReadResult

HOST = b"\x7f\x00\x00\x01\x00\x00\x2a\x9f"
# Room for some records, and for ten entries.
SIZES = Sizes(log=2300, entries=460)
LIMITS = PullLimits(
    file_size=1 << 20,
    memory=1 << 30,
    memory_bytes=1 << 18,
    memory_count=32,
    disk_bytes=1 << 16,
    disk_count=8,
)


def kept(offset: int, key: str, body: bytes = b"body") -> Kept:
    properties = format_properties({"KEYS": key, "UNIQ_KEY": f"U{offset}"} if key else {"A": "b"})
    record = encode_record(
        topic=b"T",
        queue_id=0,
        queue_offset=offset,
        # Anywhere in the commit log.
        physical_offset=100_000 + offset * 1000,
        store_timestamp=1_700_000_000_000 + offset,
        body=body,
        properties=properties,
        flag=0,
        sys_flag=0,
        born_timestamp=0,
        born_host=HOST,
        store_host=HOST,
        reconsume_times=0,
        prepared_transaction_offset=0,
    )
    return Kept(offset, bytes(record), 7, 1_700_000_000_000 + offset)


class Folder:
    """A queue's two folders."""

    def __init__(self, root: Path, sizes: Sizes = SIZES) -> None:
        self.folders = (root / "compactionLog" / "T" / "0", root / "compactionCq" / "T" / "0")
        self.sizes = sizes
        for folder in self.folders:
            folder.mkdir(parents=True, exist_ok=True)
        self.position = -1

    def open(self) -> CompactedQueue:
        queue = CompactedQueue(self.folders, self.sizes)
        queue.load()
        return queue

    def rewrite(self, queue: CompactedQueue, most_keys: int = 1000) -> bool:
        before = self.position
        self.position = rewrite(queue, before, most_keys)
        return self.position > before

    def names(self) -> list[list[str]]:
        return [sorted(path.name for path in folder.iterdir()) for folder in self.folders]


def pulled(queue: CompactedQueue, offset: int, most: int = 32) -> tuple[ReadResult, list[Record]]:
    result, records = queue.read(offset, most, LIMITS)
    assert result.byte_count == sum(len(record) for record in records)
    return result, [parse_record(record) for record in records]


def contents(queue: CompactedQueue) -> dict[int, bytes]:
    """Bodies by queue offset, as a consumer from the beginning on gets them."""
    found: dict[int, bytes] = {}
    offset = 0
    while offset < queue.max_offset:
        result, records = pulled(queue, offset)
        assert records, "a pull below the end gives something"
        for record in records:
            assert record.queue_offset >= offset
            offset = record.queue_offset + 1
            found[record.queue_offset] = record.body
        assert result.next_begin_offset == offset
    return found


def fill(queue: CompactedQueue, records: Iterable[tuple[int, str, bytes]]) -> None:
    queue.append(kept(*one) for one in records)


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)
