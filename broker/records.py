"""Single records by their physical offset, without letting a cold disk hold up the loop.

What is in memory is there at once; the rest is read in a worker thread (DefaultMessageStore's
lookMessageByOffset, which reads wherever it is told to: here what is no record is not found).
"""

import trio

from codec.errors import CodecError
from codec.record import FIXED_SIZE, Record, parse_record
from store.errors import MessagesGone
from store.message_store import Buffer, MessageStore

_LENGTH_BYTES = 4


class NoRecord(LookupError):
    """No record begins at that offset."""


class ColdRecord(Exception):
    """The record has to be fetched from disk: await `fetch_record`."""


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


def _check_place(store: MessageStore, offset: int, size: int) -> None:
    """What is read must lie inside the commit log."""
    inside = store.min_physical_offset <= offset <= store.max_physical_offset - size
    if not inside or size < FIXED_SIZE:
        raise NoRecord(offset)


def _record(data: bytes, offset: int) -> Record:
    try:
        record = parse_record(data, check_crc=False)
    except CodecError as error:
        raise NoRecord(offset) from error
    if record.physical_offset != offset:
        raise NoRecord(offset)
    return record
