"""What one message, one read, one search cost as the store grows: three curves that should be flat."""

from __future__ import annotations

import multiprocessing
import os
import shutil
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Final

from bench.loads.filling import forget_pages
from bench.servers.process import usage
from bench.store.bulk import BulkStore
from bench.store.figures import Curve, Section, Table
from bench.store.scale import Scale
from bench.store.work import (
    Ticks,
    append_micros,
    micros,
    open_store,
    pull,
    seconds,
    spread,
    write_behind,
)
from trimq.store.config import StoreConfig
from trimq.store.message_store import MessageStore
from trimq.store.messages.message import Message

TOPIC: Final = "bench"
QUEUES: Final = 4
# Messages in each queue of many, when they are read and searched.
EACH: Final = 8
EPOCH: Final = 1_700_000_000_000
_SEEK_COLUMNS: Final = [
    "append, us",
    "read at offset, us",
    "search by time, us",
    "cold read, us",
    "cold search, us",
    "open, ms",
]
_BUILT: Final = (
    "The records are real and all there, but up to the last 40,000 of each row the files were written "
    "directly (bench/store/bulk.py), with the bytes that the store would have written. "
)
_MEANING: Final = (
    "*Append* is one message in a batch of 16, with its consume-queue entry brought to the file. "
    "*Read at offset* is a pull of 32 messages anywhere in the queue, *search* finds the offset "
    "for any of its timestamps; both with everything in the page cache. *Cold*: the kernel had "
    "forgotten all files of the store. *Open* is after a clean stop, up to the first message read."
)


def lengths(folder: Path, scale: Scale) -> Section:
    """One queue, longer and longer."""
    config = StoreConfig(root=folder / "lengths")
    bulk = BulkStore(config, TOPIC, b"x" * 16, EPOCH)
    rows = [[count, *_point(bulk, config, count, scale)] for count in scale.lengths]
    shutil.rmtree(config.root)
    note = (
        f"{_BUILT}{_MEANING} Bodies of 16 bytes, a millisecond apart. A search looks at nine messages, "
        "however long the queue is, because it guesses by the rate (store/queues/plain/time_search.py); in a queue "
        "with bursts and breaks it halves, 26 looks for 50 million messages."
    )
    return Section(
        "Length of a queue",
        [
            Table(
                "One queue",
                note,
                ["messages", *_SEEK_COLUMNS],
                rows,
                [
                    Curve("store-length.svg", "microseconds", [1, 2, 3]),
                    Curve("store-length-cold.svg", "microseconds", [4, 5]),
                    Curve("store-length-open.svg", "milliseconds", [6]),
                ],
            )
        ],
    )


def sizes(folder: Path, scale: Scale) -> Section:
    """One queue of larger messages: more and more commit-log files."""
    config = StoreConfig(
        root=folder / "sizes", mapped_file_size_commit_log=min(1 << 30, scale.unit)
    )
    body = b"x" * 4096
    bulk = BulkStore(config, TOPIC, body, EPOCH)
    rows: list[list[float | str]] = []
    left_out = ""
    for size in scale.sizes:
        count = size * scale.unit // (len(body) + 100)
        if shutil.disk_usage(folder).free < size * scale.unit - bulk.position + (5 << 30):
            left_out = " Larger sizes did not fit on the disk."
            break
        rows.append([size * scale.unit / (1 << 30), *_point(bulk, config, count, scale)])
    shutil.rmtree(config.root, ignore_errors=True)
    return Section(
        "Size of the store",
        [
            Table(
                "One queue, bodies of 4 KiB",
                _BUILT + _MEANING + left_out,
                ["GiB", *_SEEK_COLUMNS],
                rows,
                [
                    Curve("store-size.svg", "microseconds", [1, 2, 3]),
                    Curve("store-size-cold.svg", "microseconds", [4, 5]),
                    Curve("store-size-open.svg", "milliseconds", [6]),
                ],
            )
        ],
    )


def _point(bulk: BulkStore, config: StoreConfig, count: int, scale: Scale) -> list[float | str]:
    """Grow the store, then measure: opening, cold, warm, appending."""
    bulk.grow(count)
    forget_pages(config.root)
    first, last = EPOCH + 1, bulk.millis
    store = open_store(config, Ticks(bulk.millis))
    cold_read = micros(
        lambda offset: pull(store, TOPIC, 0, offset), spread(0, count - 32, scale.cold_seeks)
    )
    store.close()
    forget_pages(config.root)
    store = open_store(config, Ticks(bulk.millis))
    cold_search = micros(
        lambda time: store.offset_by_time(TOPIC, 0, time), spread(first, last, scale.cold_seeks)
    )
    read, search = _warm(store, count, (first, last), scale)
    store.close()
    opened = _open_millis(config, bulk.millis, TOPIC)
    clock = Ticks(bulk.millis)
    store = open_store(config, clock)
    append = append_micros(store, [Message(TOPIC, 0, bulk.body)] * scale.appends)
    append += seconds(lambda: write_behind(store)) / scale.appends * 1e6
    bulk.went_on(store.max_offset(TOPIC, 0), store.max_physical_offset, clock.millis)
    store.close()
    return [append, read, search, cold_read, cold_search, opened]


def _warm(
    store: MessageStore, count: int, times: tuple[int, int], scale: Scale
) -> tuple[float, float]:
    """The same places twice; the second time counts."""
    offsets = spread(0, count - 32, scale.seeks)
    moments = spread(*times, scale.seeks)
    for _ in range(2):
        read = micros(lambda offset: pull(store, TOPIC, 0, offset), offsets)
        search = micros(lambda time: store.offset_by_time(TOPIC, 0, time), moments)
    return read, search


def _open_millis(config: StoreConfig, millis: int, topic: str) -> float:
    """The best of three: what else the machine does is no part of it."""
    found: list[float] = []
    for _ in range(3):
        store = MessageStore(config, Ticks(millis))

        def first_read(store: MessageStore = store) -> None:
            store.open()
            pull(store, topic, 0, store.min_offset(topic, 0))

        found.append(seconds(first_read) * 1000)
        store.close()
    return min(found)


# --- many topics


def topics(folder: Path, scale: Scale) -> Section:
    """Each point in a process of its own, so that memory is that of the point."""
    rows: list[list[float | str]] = []
    for count in scale.topics:
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(1, mp_context=context) as alone:
            root = folder / f"topics-{count}"
            rows.append(alone.submit(_topics_point, root, count, scale).result())
            shutil.rmtree(root)
    columns = [
        "topics",
        "append, us",
        "write behind, us",
        "read at offset, us",
        "search by time, us",
        "first entry of a queue, us",
        "checkpoint, ms",
        "close, ms",
        "open, ms",
        "open after kill -9, ms",
        "RssAnon, MiB",
    ]
    note = (
        f"{QUEUES} queues each. All through the store itself. {scale.appends:,} messages go round all "
        "queues, in batches of 16; with 10,000 topics no two go to the same queue, so that "
        "writing behind opens, writes and closes a file for each: it costs per queue, not per message. "
        "*Read at offset* is one pull from any queue, *search* in any queue, when each has eight "
        "messages; 256 files are open at a time, so with more queues most seeks open one. *Checkpoint* syncs after "
        "all queues got messages, *close* comes after another such round. *Open* is after a clean stop, "
        "up to the first message read; after kill -9 every queue's file is looked at. *RssAnon* is the "
        "whole process, after all queues were used."
    )
    return Section(
        "Number of topics",
        [
            Table(
                "Topics with four queues",
                note,
                columns,
                rows,
                [
                    Curve("store-topics.svg", "microseconds", [1, 2, 3, 4, 5]),
                    Curve("store-topics-open.svg", "milliseconds", [6, 7, 8, 9]),
                    Curve("store-topics-memory.svg", "MiB", [10]),
                ],
            )
        ],
    )


def _topics_point(root: Path, count: int, scale: Scale) -> list[float | str]:
    config = StoreConfig(root=root)
    clock = Ticks(EPOCH)
    names = [f"topic-{number:05d}" for number in range(count)]
    queues = count * QUEUES
    store = open_store(config, clock)
    append_micros(store, islice(_rounds(names), queues))
    first_entry = seconds(lambda: write_behind(store)) / queues * 1e6
    append_micros(store, islice(_rounds(names), queues * (EACH - 1)))
    write_behind(store)
    store.plan_checkpoint().run()
    read, search = _seek_topics(store, names, clock.millis, scale)
    append = append_micros(store, islice(_rounds(names), scale.appends))
    behind = seconds(lambda: write_behind(store)) / scale.appends * 1e6
    checkpoint = seconds(lambda: store.plan_checkpoint().run()) * 1000
    memory = usage(os.getpid()).anonymous_mib
    append_micros(store, islice(_rounds(names), queues))
    closed = seconds(store.close) * 1000
    opened = _open_millis(config, clock.millis, names[-1])
    store = open_store(config, clock)
    append_micros(store, islice(_rounds(names), queues))
    store.abandon()
    after_kill = seconds(lambda: open_store(config, clock).abandon()) * 1000
    return [
        count,
        append,
        behind,
        read,
        search,
        first_entry,
        checkpoint,
        closed,
        opened,
        after_kill,
        memory,
    ]


def _rounds(names: list[str]) -> Iterator[Message]:
    """One message for every queue, again and again."""
    body = bytes(128)
    messages = (Message(name, queue, body) for queue in range(QUEUES) for name in names)
    kept = list(messages)
    while True:
        yield from kept


def _seek_topics(
    store: MessageStore, names: list[str], millis: int, scale: Scale
) -> tuple[float, float]:
    places = spread(0, len(names) * QUEUES, scale.seeks)

    def read(place: int) -> None:
        topic, queue_id = names[place // QUEUES], place % QUEUES
        pull(store, topic, queue_id, place % EACH)

    def search(place: int) -> None:
        store.offset_by_time(
            names[place // QUEUES], place % QUEUES, EPOCH + place % (millis - EPOCH)
        )

    for _ in range(2):
        found = micros(read, places), micros(search, places)
    return found
