"""The 20 bytes of one consume-queue entry (ConsumeQueue): where a record lies, its size, its tag.

Hot: compiled by mypyc when a compiler is there.
"""

import struct
from typing import Final

from trimq.codec.errors import CodecError

ENTRY_SIZE: Final = 20
_ENTRY: Final = struct.Struct(">qiq")
# Layouts of several entries; pulls ask for a few numbers of messages over and over.
_LAYOUTS: Final[dict[int, struct.Struct]] = {}
_MOST_LAYOUTS: Final = 256


class QueueEntry:
    """Where the message of one queue offset lies in the commit log."""

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


def unpack_all(buffer: bytes) -> tuple[int, ...]:
    """The fields of whole entries one behind the other: offset, size, tags code, offset, ...

    A pull crosses this: one tuple is made much faster than one for each entry.
    """
    return _layout(len(buffer) // ENTRY_SIZE).unpack(buffer)


def pack_all(fields: list[int]) -> bytes:
    """Entries one behind the other, from the same fields."""
    return _layout(len(fields) // 3).pack(*fields)


def _layout(count: int) -> struct.Struct:
    """Of so many entries one behind the other."""
    layout = _LAYOUTS.get(count)
    if layout is None:
        layout = struct.Struct(">" + "qiq" * count)
        if count <= _MOST_LAYOUTS:
            _LAYOUTS[count] = layout
    return layout


def parse_all(buffer: bytes | memoryview) -> list[tuple[int, int, int]]:
    """Every whole entry as (physical offset, size, tags code), for scans over many of them."""
    return list(_ENTRY.iter_unpack(buffer[: len(buffer) // ENTRY_SIZE * ENTRY_SIZE]))
