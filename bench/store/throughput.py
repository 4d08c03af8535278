"""Append and read in MB/s and messages a second, beside the disk's own speed in the same run."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from bench.loads.filling import forget_pages
from bench.store import disk
from bench.store.figures import Section, Table
from bench.store.scale import Scale
from bench.store.work import Ticks, open_store, pull, seconds, write_behind
from trimq.store.config import StoreConfig
from trimq.store.message_store import MessageStore
from trimq.store.messages.message import Message

SIZES: Final = (128, 1024, 64 * 1024)
BATCHES: Final = (1, 16, 64)
QUEUES: Final = 4
TOPIC: Final = "bench"
_LOOK_EVERY: Final = 64


class Load(NamedTuple):
    """Bytes a body, messages a receive, queues that take turns."""

    size: int
    batch: int
    queues: int


def run(folder: Path, scale: Scale) -> Section:
    speed = disk.measure(folder, scale.disk_mib)
    appends: list[list[float | str]] = []
    reads: list[list[float | str]] = []
    for size in SIZES:
        for batch in BATCHES:
            with _store(folder) as (store, _):
                appends.append(_append(store, Load(size, batch, QUEUES), scale, speed))
        for queues in (1, QUEUES):
            with _store(folder) as (store, config):
                _append(store, Load(size, BATCHES[-1], queues), scale, speed)
                reads.append(_read(store, config, size, queues, speed))
    tables = [_disk_table(scale, speed), _append_table(appends), _read_table(reads)]
    return Section("Throughput", tables)


def _disk_table(scale: Scale, speed: disk.DiskSpeed) -> Table:
    return Table(
        "The disk itself",
        f"One file of {scale.disk_mib} MiB in blocks of 1 MiB, on the file system of the "
        "stores below.",
        ["", "MB/s"],
        [
            ["write, into the page cache", speed.written],
            ["write, with fdatasync at the end", speed.synced],
            ["read, from the page cache", speed.read_cached],
            ["read, cold", speed.read_cold],
        ],
    )


def _append_table(rows: list[list[float | str]]) -> Table:
    return Table(
        "Append",
        "`batch` is how many messages one receive brought: they are staged one by one and "
        "written with one system call. Bytes are those of the records. *To disk* includes "
        "one flush at the end, which waits for everything. Four queues; their entries are "
        "written behind once a second, as in a broker.",
        [
            "body",
            "batch",
            "messages/s",
            "MB/s",
            "of the disk's write",
            "MB/s to disk",
            "of the disk's synced write",
        ],
        rows,
    )


def _read_table(rows: list[list[float | str]]) -> Table:
    return Table(
        "Read",
        "From the first to the last message in pulls of 32, or of 256 KiB when that is "
        "less; of four queues, filled in turn, the pulls go in turn too. *Cold*: the store "
        "was opened anew and the kernel had forgotten its files.",
        [
            "body",
            "queues",
            "messages/s",
            "MB/s",
            "of the disk's cached read",
            "cold messages/s",
            "cold MB/s",
            "of the disk's cold read",
        ],
        rows,
    )


@contextmanager
def _store(folder: Path) -> Iterator[tuple[MessageStore, StoreConfig]]:
    root = folder / "throughput"
    config = StoreConfig(root=root)
    store = open_store(config, Ticks(1_700_000_000_000))
    try:
        yield store, config
    finally:
        store.abandon()
        shutil.rmtree(root)


def _append(
    store: MessageStore, load: Load, scale: Scale, speed: disk.DiskSpeed
) -> list[float | str]:
    messages = [Message(TOPIC, queue_id, bytes(load.size)) for queue_id in range(load.queues)]
    count = 0
    began = time.perf_counter()
    behind_at = began + 1
    while True:
        for _ in range(_LOOK_EVERY):
            for _ in range(load.batch):
                store.stage(messages[count % load.queues])
                count += 1
            store.write_staged()
        now = time.perf_counter()
        if now >= behind_at:
            behind_at = now + 1
            write_behind(store)
        if now - began > scale.append_seconds or store.max_physical_offset > scale.append_bytes:
            break
    write_behind(store)
    taken = time.perf_counter() - began
    store.flush()
    to_disk = time.perf_counter() - began
    megabytes = store.max_physical_offset / 1e6
    return [
        _size(load.size),
        load.batch,
        count / taken,
        megabytes / taken,
        f"{megabytes / taken / speed.written:.0%}",
        megabytes / to_disk,
        f"{megabytes / to_disk / speed.synced:.0%}",
    ]


def _read(
    store: MessageStore, config: StoreConfig, size: int, queues: int, speed: disk.DiskSpeed
) -> list[float | str]:
    """Closes the store and opens it once more for the cold half."""
    count, read_bytes = _walk(store, queues)
    hot = seconds(lambda: _walk(store, queues))
    store.close()
    forget_pages(config.root)
    again = open_store(config, Ticks(1_800_000_000_000))
    cold = seconds(lambda: _walk(again, queues))
    again.abandon()
    megabytes = read_bytes / 1e6
    return [
        _size(size),
        queues,
        count / hot,
        megabytes / hot,
        f"{megabytes / hot / speed.read_cached:.0%}",
        count / cold,
        megabytes / cold,
        f"{megabytes / cold / speed.read_cold:.0%}",
    ]


def _walk(store: MessageStore, queues: int) -> tuple[int, int]:
    """Messages and bytes of all queues, pull by pull, one queue after the other."""
    size = 0
    ends = [store.max_offset(TOPIC, queue_id) for queue_id in range(queues)]
    offsets = [0] * queues
    while offsets != ends:
        for queue_id in range(queues):
            if offsets[queue_id] < ends[queue_id]:
                offsets[queue_id], got = pull(store, TOPIC, queue_id, offsets[queue_id])
                size += got
    return sum(ends), size


def _size(size: int) -> str:
    return f"{size // 1024} KiB" if size >= 1024 else f"{size} B"
