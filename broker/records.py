"""Records by their physical offset, without letting a cold disk hold up the loop.

What is in memory is there at once; the rest is read in a worker thread (DefaultMessageStore's
lookMessageByOffset, which reads wherever it is told to: here what is no record is not found).
"""

import zlib

import trio

from trimq.codec.errors import CodecError
from trimq.codec.record import FIXED_SIZE, Record, parse_record
from trimq.store.errors import MessagesGone
from trimq.store.loading import Buffer
from trimq.store.message_store import MessageStore

_LENGTH_BYTES = 4


class NoRecord(LookupError):
    """No record begins at that offset."""


class ColdRecord(Exception):
    """The record has to be fetched from disk: await `fetch_record`."""


def check_sound(record: Record) -> None:
    """NoRecord when others' bytes would be taken for a part of this record.

    Whoever sends a message knows where it will lie, and may put the head of a record into its body:
    one that claims what follows in the log. But nobody knows the CRC of that; and the head of the
    next record is no text, as a topic and properties are.
    """
    try:
        record.properties.decode()
    except UnicodeDecodeError as error:
        raise NoRecord(record.physical_offset) from error
    if record.body and zlib.crc32(record.body) & 0x7FFFFFFF != record.body_crc:
        raise NoRecord(record.physical_offset)


def sound_record(data: bytes) -> Record | None:
    """The record of these bytes; None for one whose head lies about what belongs to it."""
    try:
        record = parse_record(data, check_crc=False)
        check_sound(record)
    except (CodecError, NoRecord):
        return None
    return record


def record_in_memory(store: MessageStore, offset: int) -> Record:
    """The record at that offset; ColdRecord when reading it could block."""
    _check_place(store, offset, FIXED_SIZE)
    head = store.load([(offset, _LENGTH_BYTES)])
    if head is None:
        raise ColdRecord
    size = int.from_bytes(b"".join(head), "big")
    _check_place(store, offset, size)
    parts = store.load([(offset, size)])
    if parts is None:
        raise ColdRecord
    return _record(b"".join(parts), offset)


async def fetch_record(store: MessageStore, offset: int) -> Record:
    """The record at that offset, read in a worker thread."""
    _check_place(store, offset, FIXED_SIZE)
    try:
        head = await load_cold(store, [(offset, _LENGTH_BYTES)])
        size = int.from_bytes(b"".join(head), "big")
        _check_place(store, offset, size)
        parts = await load_cold(store, [(offset, size)])
    except MessagesGone as error:
        raise NoRecord(offset) from error
    return _record(b"".join(parts), offset)


async def load_cold(store: MessageStore, extents: list[tuple[int, int]]) -> list[Buffer]:
    """Read from the disk in a worker thread; MessagesGone when that is no longer possible.

    The files are held meanwhile: deleting old ones waits for it.
    """
    held = store.hold(extents)
    try:
        return await trio.to_thread.run_sync(held.read)
    finally:
        held.release()


async def fetch_buffers(store: MessageStore, offsets: list[int], max_bytes: int) -> list[Buffer]:
    """The bytes of the records at these offsets, as many as are no larger than that together.

    What is no longer in the log is left out.
    """
    inside = [offset for offset in offsets if _is_inside(store, offset, FIXED_SIZE)]
    heads = await _fetch(store, [(offset, _LENGTH_BYTES) for offset in inside])
    extents: list[tuple[int, int]] = []
    for offset, head in zip(inside, heads, strict=True):
        size = int.from_bytes(head, "big")
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
    """What is read must lie inside the commit log."""
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
