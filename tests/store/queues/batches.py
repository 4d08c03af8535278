"""A topic with queue.type=BatchCQ: what its tests send, and how they look at it."""

from __future__ import annotations

import os

from trimq.codec.entries.batch_queue import parse_batch_entries
from trimq.codec.flags import SysFlag
from trimq.codec.records.batch import BatchItem, join_batch
from trimq.codec.records.record import parse_record
from trimq.store.reading.pulls import ReadStatus

BIG = 1 << 20
FILE = 1024
TOPIC = "B"
SMALL = {"mapper_file_size_batch_consume_queue": 46 * 5}
ROOMY = {"mapped_file_size_commit_log": 8 * BIG, "mapper_file_size_batch_consume_queue": 46 * 500}


def message(bench, count, tag="", size=0, **more):
    """One message, or several in one record when there are more."""
    if count == 1:
        return bench.message(bytes(size), topic=TOPIC, tag=tag, **more)
    items = [BatchItem(0, b"%d" % number + bytes(size), b"") for number in range(count)]
    properties = b"UNIQ_KEY\x01u\x02INNER_NUM\x01%d\x02" % count
    if tag:
        properties += f"TAGS\x01{tag}\x02".encode()
    flag = SysFlag.INNER_BATCH | SysFlag.NEED_UNWRAP
    return bench.message(
        join_batch(items), topic=TOPIC, properties=properties, sys_flag=flag, **more
    )


def put(bench, store, *counts, **more):
    return [store.put(message(bench, count, **more)) for count in counts]


def files(bench, queue_id=0):
    folder = bench.root / "batchconsumequeue" / TOPIC / str(queue_id)
    return sorted(folder.iterdir()) if folder.is_dir() else []


def entries(store, bench, queue_id=0):
    """What the files have, once everything is written."""
    while store.write_derived():
        pass
    found = []
    for file in files(bench, queue_id):
        found += [entry for entry in parse_batch_entries(file.read_bytes()) if entry.size]
    return [
        (entry.physical_offset, entry.size, entry.base_offset, entry.count, entry.store_timestamp)
        for entry in found
    ]


def walk(store, start=None, queue_id=0):
    """Pull after pull to the end: (queue offset, bodies) of every record."""
    offset = store.min_offset(TOPIC, queue_id) if start is None else start
    found = []
    while offset < store.max_offset(TOPIC, queue_id):
        result = store.read(TOPIC, queue_id, offset, 32, BIG, None)
        assert result.status == ReadStatus.FOUND
        assert result.next_begin_offset > offset
        for data in store.load(result.extents):
            at = 0
            while at < len(data):
                record = parse_record(bytes(data), at)
                found.append((record.queue_offset, record.body))
                at += record.total_size
        offset = result.next_begin_offset
    return found


def cut_log(bench, end):
    """As if nothing behind `end` had ever reached the disk."""
    for file in bench.commit_log_files():
        if int(file.name) >= end and int(file.name):
            file.unlink()
        elif int(file.name) + FILE > end:
            os.truncate(file, end - int(file.name))


def fail(*_):
    raise OSError(5, "broken")
