"""Records by their physical offset, without letting a cold disk hold up the loop.

What is in memory is returned at once; the rest is read in a worker thread (DefaultMessageStore's
lookMessageByOffset, which reads wherever it is told to; here, bytes that are not a record are not
found).
"""

import trio

from trimq.codec.errors import CodecError
from trimq.codec.java.hashes import crc32_31
from trimq.codec.records.fields import LENGTH_SIZE, size_at
from trimq.codec.records.record import FIXED_SIZE, Record, parse_record
from trimq.store.errors import MessagesGone
from trimq.store.message_store import MessageStore
from trimq.store.reading.loading import Buffer
from trimq.store.reading.pulls import Scan


class NoRecord(LookupError):
    """No record begins at that offset."""


class ColdRecord(Exception):
    """The record has to be fetched from disk: await `fetch_record`."""


def check_sound(record: Record) -> None:
    """NoRecord when bytes of other records would be taken for a part of this one.

    A sender knows where its message will be stored, and may put the head of a record into its body:
    one that claims what follows in the log. But nobody knows the CRC of what follows; and the head
    of the next record is not text, as a topic and properties are.
    """
    try:
        record.properties.decode()
    except UnicodeDecodeError as error:
        raise NoRecord(record.physical_offset) from error
    if record.body and crc32_31(record.body) != record.body_crc:
        raise NoRecord(record.physical_offset)


def sound_record(data: bytes) -> Record | None:
    """The record of these bytes; None if its head is wrong about what belongs to it."""
    try:
        record = parse_record(data, check_crc=False)
        check_sound(record)
    except (CodecError, NoRecord):
        return None
    return record


def record_in_memory(store: MessageStore, offset: int) -> Record:
    """The record at that offset; ColdRecord when reading it could block."""
    _check_place(store, offset, FIXED_SIZE)
    head = store.load([(offset, LENGTH_SIZE)])
    if head is None:
        raise ColdRecord
    size = size_at(b"".join(head))
    _check_place(store, offset, size)
    parts = store.load([(offset, size)])
    if parts is None:
        raise ColdRecord
    return _record(b"".join(parts), offset)


async def fetch_record(store: MessageStore, offset: int) -> Record:
    """The record at that offset, read in a worker thread."""
    _check_place(store, offset, FIXED_SIZE)
    try:
        head = await load_cold(store, [(offset, LENGTH_SIZE)])
        size = size_at(b"".join(head))
        _check_place(store, offset, size)
        parts = await load_cold(store, [(offset, size)])
    except MessagesGone as error:
        raise NoRecord(offset) from error
    return _record(b"".join(parts), offset)


async def load_cold(store: MessageStore, extents: list[tuple[int, int]]) -> list[Buffer]:
    """Read from the disk in a worker thread; MessagesGone when that is no longer possible.

    The files are held in the meantime: deleting old ones waits for it.
    """
    held = store.hold(extents)
    try:
        return await trio.to_thread.run_sync(held.read)
    finally:
        held.release()


async def judge_cold(store: MessageStore, scan: Scan) -> None:
    """Filter what a scan has found to be on the disk, in a worker thread; MessagesGone as above."""
    held = store.hold(scan.cold)
    try:
        scan.know(await trio.to_thread.run_sync(scan.judge, held))
    finally:
        held.release()


async def fetch_buffers(store: MessageStore, offsets: list[int], max_bytes: int) -> list[Buffer]:
    """The bytes of the records at these offsets, as many as are no larger than that together.

    Records that are no longer in the log are left out.
    """
    inside = [offset for offset in offsets if _is_inside(store, offset, FIXED_SIZE)]
    heads = await _fetch(store, [(offset, LENGTH_SIZE) for offset in inside])
    extents: list[tuple[int, int]] = []
    for offset, head in zip(inside, heads, strict=True):
        size = size_at(memoryview(head))
        if _is_inside(store, offset, size):
            max_bytes -= size
            if max_bytes < 0:
                break
            extents.append((offset, size))
    return await _fetch(store, extents)


async def _fetch(store: MessageStore, extents: list[tuple[int, int]]) -> list[Buffer]:
    buffers = store.load(extents)
    return await load_cold(store, extents) if buffers is None else buffers


def _is_inside(store: MessageStore, offset: int, size: int) -> bool:
    """Whether that may be a record of the commit log."""
    low, high = store.min_physical_offset, store.max_physical_offset
    return FIXED_SIZE <= size <= store.largest_record and low <= offset <= high - size


def _check_place(store: MessageStore, offset: int, size: int) -> None:
    """Whatever is read must be inside the commit log."""
    if not _is_inside(store, offset, size):
        raise NoRecord(offset)


def _record(data: bytes, offset: int) -> Record:
    try:
        record = parse_record(data, check_crc=False)
    except CodecError as error:
        raise NoRecord(offset) from error
    if record.physical_offset != offset:
        raise NoRecord(offset)
    return record
