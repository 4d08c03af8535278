"""The 20 bytes of one consume-queue entry (ConsumeQueue): where a record lies, its size, its tag.

Hot: compiled by mypyc when a compiler is there.
"""

import struct
from typing import Final

from trimq.codec.errors import CodecError

ENTRY_SIZE: Final = 20
_ENTRY: Final = struct.Struct(">qiq")
# Where a record lies and its size: what the entries of both kinds of queue begin with.
_PLACE: Final = struct.Struct(">qi")
_OFFSET: Final = struct.Struct(">q")
# Fills the space before a queue that begins in the middle of a file: "nothing here"
# (ConsumeQueue.fillPreBlank).
FILLER_SIZE: Final = 0x7FFFFFFF
# Layouts of several entries; pulls keep asking for the same few numbers of messages.
_LAYOUTS: Final[dict[int, struct.Struct]] = {}
_MOST_LAYOUTS: Final = 256


class QueueEntry:
    """Where the message of one queue offset is in the commit log."""

    __slots__ = ("physical_offset", "size", "tags_code")

    def __init__(self, physical_offset: int, size: int, tags_code: int) -> None:
        self.physical_offset: int = physical_offset
        self.size: int = size
        self.tags_code: int = tags_code


def pack(physical_offset: int, size: int, tags_code: int) -> bytes:
    return _ENTRY.pack(physical_offset, size, tags_code)


def parse(buffer: bytes | memoryview, offset: int = 0) -> QueueEntry:
    if offset < 0 or offset + ENTRY_SIZE > len(buffer):
        raise CodecError(f"no whole queue entry at byte {offset} of {len(buffer)}")
    physical_offset, size, tags_code = _ENTRY.unpack_from(buffer, offset)
    return QueueEntry(physical_offset, size, tags_code)


def place_at(buffer: bytes, at: int = 0) -> tuple[int, int]:
    """Where the record of the entry lies that begins there, and its size; of either kind of queue."""
    physical_offset, size = _PLACE.unpack_from(buffer, at)
    return physical_offset, size


def fields_at(buffer: bytes, at: int = 0) -> tuple[int, int, int]:
    """The fields of the entry that begins there, for those who keep them as they are."""
    physical_offset, size, tags_code = _ENTRY.unpack_from(buffer, at)
    return physical_offset, size, tags_code


def pack_offset(physical_offset: int) -> bytes:
    """A physical offset as all entries have it, to be looked for among them."""
    return _OFFSET.pack(physical_offset)


def unpack_all(buffer: bytes) -> tuple[int, ...]:
    """The fields of consecutive whole entries: offset, size, tags code, offset, ...

    A pull crosses this: one tuple is made much faster than one for each entry.
    """
    return _layout(len(buffer) // ENTRY_SIZE).unpack(buffer)


def pack_all(fields: list[int]) -> bytes:
    """Consecutive entries from the same fields."""
    return _layout(len(fields) // 3).pack(*fields)


def _layout(count: int) -> struct.Struct:
    """The layout of this many consecutive entries."""
    layout = _LAYOUTS.get(count)
    if layout is None:
        layout = struct.Struct(">" + "qiq" * count)
        if count <= _MOST_LAYOUTS:
            _LAYOUTS[count] = layout
    return layout


def parse_all(buffer: bytes | memoryview) -> list[tuple[int, int, int]]:
    """Every whole entry as (physical offset, size, tags code), for scans over many of them."""
    return list(_ENTRY.iter_unpack(buffer[: len(buffer) // ENTRY_SIZE * ENTRY_SIZE]))
