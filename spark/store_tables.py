"""Consume queues and index files as tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from struct import Struct
from typing import Any, Final

import pyarrow as pa

from trimq.codec.layouts.index import INDEX_HEADER
from trimq.codec.queue_entry import ENTRY_SIZE, parse_all
from trimq.spark.schema import INDEX_ENTRY_COLUMNS, QUEUE_ENTRY_COLUMNS, arrow_schema
from trimq.spark.store_options import StoreOptions
from trimq.store.inspecting import index as index_files
from trimq.store.inspecting.entries import FILLER_SIZE
from trimq.store.inspecting.items import Unreadable
from trimq.store.inspecting.kinds import base_of
from trimq.store.inspecting.sparse_file import SparseFile

_WINDOW: Final = 52428 * ENTRY_SIZE
_INDEX_ENTRY: Final = Struct(">iqii")


def queue_folders(options: StoreOptions) -> list[Path]:
    """consumequeue/TOPIC/QUEUE of the wanted topics."""
    root = options.root / "consumequeue"
    if (root / "CURRENT").is_file():
        raise Unreadable(f"{root} is a RocksDB; only RocketMQ's own files can be read")
    found = [
        queue
        for topic in (sorted(root.iterdir()) if root.is_dir() else [])
        if topic.is_dir() and (not options.topics or topic.name in options.topics)
        for queue in topic.iterdir()
        if queue.is_dir() and queue.name.isdigit()
    ]
    return sorted(found, key=lambda queue: (queue.parent.name, int(queue.name)))


def queue_entries(folder: Path, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """A queue's entries in order, up to the first one that is not written yet."""
    topic, queue_id = folder.parent.name, int(folder.name)
    files = sorted(file for file in folder.iterdir() if base_of(file) is not None)
    for path in files:
        number = (base_of(path) or 0) // ENTRY_SIZE
        with SparseFile(path) as file:
            for position in range(0, file.size - ENTRY_SIZE + 1, _WINDOW):
                size = min(_WINDOW, file.size - position) // ENTRY_SIZE * ENTRY_SIZE
                data = file.read(position, size)
                entries = parse_all(data or b"")
                used = [
                    (topic, queue_id, number + at, *entry)
                    for at, entry in enumerate(entries)
                    if entry[1] > 0 and not (entry[1] == FILLER_SIZE and not entry[0])
                ]
                number += len(entries)
                if used:
                    yield _batch(used, names, QUEUE_ENTRY_COLUMNS)
                if not entries or entries[-1][1] == 0:
                    break


def index_paths(options: StoreOptions) -> list[Path]:
    """The index files; their names are times."""
    root = options.root / "index"
    return sorted(file for file in root.iterdir() if file.name.isdigit()) if root.is_dir() else []


def index_entries(path: Path, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """All entries that a file's header counts; Unreadable where they cannot be found."""
    with SparseFile(path, 1 << 20) as file:
        head = file.read(0, index_files.HEADER_SIZE)
        if head is None:
            return
        header = INDEX_HEADER.parse(head)
        slots = index_files.slot_count(file, header)
        if not slots and header.count > 1:
            raise Unreadable(
                f"{path}: its entries are not where they are with any usual number of slots"
            )
        first = index_files.HEADER_SIZE + slots * index_files.SLOT_SIZE
        size, begin = index_files.ENTRY_SIZE, header.begin_timestamp
        for number in range(1, header.count, 50_000):
            count = min(50_000, header.count - number)
            data = file.read(first + number * size, count * size)
            if data is None:
                return
            rows = [
                (path.name, number + at, key, offset, (begin + 1000 * seconds) * 1000, previous)
                for at, (key, offset, seconds, previous) in enumerate(
                    _INDEX_ENTRY.iter_unpack(data)
                )
            ]
            yield _batch(rows, names, INDEX_ENTRY_COLUMNS)


def _batch(
    rows: Sequence[tuple[Any, ...]],
    names: Sequence[str],
    columns: dict[str, tuple[str, pa.DataType]],
) -> pa.RecordBatch:
    order = list(columns)
    fields = list(zip(*rows, strict=True))
    arrays = [pa.array(fields[order.index(name)], columns[name][1]) for name in names]
    return pa.RecordBatch.from_arrays(arrays, schema=arrow_schema(names, columns))
