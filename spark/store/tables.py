"""Consume queues and index files as tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import pyarrow as pa

from trimq.codec.entries.index import iter_entries
from trimq.codec.entries.queue import ENTRY_SIZE, parse_all
from trimq.codec.layouts.index import INDEX_HEADER
from trimq.spark.schema import INDEX_ENTRY_COLUMNS, QUEUE_ENTRY_COLUMNS, arrow_schema
from trimq.spark.store.files import Files
from trimq.spark.store.options import StoreOptions
from trimq.spark.store.queues import is_filler, queue_folders
from trimq.store.inspecting import index as index_files
from trimq.store.inspecting.items import Unreadable

_WINDOW: Final = 52428 * ENTRY_SIZE


def entry_folders(options: StoreOptions) -> list[str]:
    """consumequeue/TOPIC/QUEUE of the wanted topics, in all stores. Unreadable if a store keeps them elsewhere."""
    for store in options.stores:
        root = f"{store.root}/consumequeue"
        if options.files.exists(f"{root}/CURRENT"):
            raise Unreadable(f"{root} is a RocksDB database; only RocketMQ's own files can be read")
    return [
        folder
        for store in options.stores
        for folder in queue_folders(store, options, "consumequeue")
    ]


def queue_entries(folder: str, names: Sequence[str], files: Files) -> Iterator[pa.RecordBatch]:
    """A queue's entries in order, up to the first one that is not written yet."""
    topic, queue_id = folder.split("/")[-2], int(folder.rpartition("/")[2])
    for name, _ in files.sizes(folder):
        number = int(name) // ENTRY_SIZE
        with files.open(f"{folder}/{name}") as file:
            for position in range(0, file.size - ENTRY_SIZE + 1, _WINDOW):
                size = min(_WINDOW, file.size - position) // ENTRY_SIZE * ENTRY_SIZE
                data = file.read(position, size)
                entries = parse_all(data or b"")
                used = [
                    (topic, queue_id, number + at, *entry)
                    for at, entry in enumerate(entries)
                    if entry[1] > 0 and not is_filler(entry[0], entry[1])
                ]
                number += len(entries)
                if used:
                    yield _batch(used, names, QUEUE_ENTRY_COLUMNS)
                if not entries or entries[-1][1] == 0:
                    break


def index_paths(options: StoreOptions) -> list[str]:
    """The index files; their names are times."""
    roots = [f"{store.root}/index" for store in options.stores]
    return [f"{root}/{name}" for root in roots for name, _ in options.files.sizes(root)]


def index_entries(path: str, names: Sequence[str], files: Files) -> Iterator[pa.RecordBatch]:
    """All entries that a file's header counts; Unreadable if they cannot be found."""
    with files.open(path, 1 << 20) as file:
        head = file.read(0, index_files.HEADER_SIZE)
        if head is None:
            return
        header = INDEX_HEADER.parse(head)
        slots = index_files.slot_count(file, header)
        if not slots and header.count > 1:
            raise Unreadable(
                f"{path}: its entries are not where any of the usual numbers of slots puts them"
            )
        first = index_files.HEADER_SIZE + slots * index_files.SLOT_SIZE
        size, begin, called = (
            index_files.ENTRY_SIZE,
            header.begin_timestamp,
            path.rpartition("/")[2],
        )
        for number in range(1, header.count, 50_000):
            count = min(50_000, header.count - number)
            data = file.read(first + number * size, count * size)
            if data is None:
                return
            rows = [
                (called, number + at, key, offset, (begin + 1000 * seconds) * 1000, previous)
                for at, (key, offset, seconds, previous) in enumerate(iter_entries(data))
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
