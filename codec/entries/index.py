"""The parts of an index file (IndexFile, IndexHeader): its header, and the entries of its keys."""

import struct
from collections.abc import Iterator
from typing import Final

from trimq.codec.errors import CodecError

HEADER_SIZE: Final = 40
SLOT_SIZE: Final = 4
ENTRY_SIZE: Final = 20
_HEADER: Final = struct.Struct(">4q2i")
_ENTRY: Final = struct.Struct(">iqii")
_SLOT: Final = struct.Struct(">i")
# Entry 0 is never used, because 0 in a slot means "none".
FIRST_ENTRY: Final = 1


class IndexHeader:
    """What a file says about its entries; `count` includes the unused entry 0."""

    __slots__ = (
        "begin_physical_offset",
        "begin_timestamp",
        "count",
        "end_physical_offset",
        "end_timestamp",
        "used_slots",
    )

    def __init__(
        self,
        begin_timestamp: int = 0,
        end_timestamp: int = 0,
        begin_physical_offset: int = 0,
        end_physical_offset: int = 0,
        used_slots: int = 0,
        count: int = FIRST_ENTRY,
    ) -> None:
        self.begin_timestamp: int = begin_timestamp
        self.end_timestamp: int = end_timestamp
        self.begin_physical_offset: int = begin_physical_offset
        self.end_physical_offset: int = end_physical_offset
        self.used_slots: int = used_slots
        self.count: int = count


class IndexEntry:
    """One key of one message; `previous` is the next older entry of the same slot."""

    __slots__ = ("key_hash", "physical_offset", "previous", "seconds")

    def __init__(self, key_hash: int, physical_offset: int, seconds: int, previous: int) -> None:
        self.key_hash: int = key_hash
        self.physical_offset: int = physical_offset
        self.seconds: int = seconds
        self.previous: int = previous


def pack_header(header: IndexHeader) -> bytes:
    return _HEADER.pack(
        header.begin_timestamp,
        header.end_timestamp,
        header.begin_physical_offset,
        header.end_physical_offset,
        header.used_slots,
        header.count,
    )


def parse_header(buffer: bytes) -> IndexHeader:
    """A new file is all zeros; its count is that of a file without entries."""
    if len(buffer) < HEADER_SIZE:
        raise CodecError(f"an index header has {HEADER_SIZE} bytes, not {len(buffer)}")
    header = IndexHeader(*_HEADER.unpack_from(buffer))
    header.count = max(header.count, FIRST_ENTRY)
    return header


def pack_entries(
    key_hashes: list[int], physical_offsets: list[int], seconds: list[int], previous: list[int]
) -> bytes:
    """Consecutive entries; much faster than one by one."""
    count = len(key_hashes)
    fields = [0] * (4 * count)
    fields[0::4] = key_hashes
    fields[1::4] = physical_offsets
    fields[2::4] = seconds
    fields[3::4] = previous
    return struct.pack(">" + "iqii" * count, *fields)


def parse_entry(buffer: bytes | bytearray | memoryview, offset: int = 0) -> IndexEntry:
    if offset < 0 or offset + ENTRY_SIZE > len(buffer):
        raise CodecError(f"no whole index entry at byte {offset} of {len(buffer)}")
    return IndexEntry(*_ENTRY.unpack_from(buffer, offset))


def iter_entries(buffer: bytes) -> Iterator[tuple[int, int, int, int]]:
    """Key hash, physical offset, seconds and next older entry of each, for those who look at very many."""
    return _ENTRY.iter_unpack(buffer)


def parse_slot(buffer: bytes) -> int:
    """The newest entry of a slot; 0: none."""
    if len(buffer) != SLOT_SIZE:
        raise CodecError(f"a slot of an index has {SLOT_SIZE} bytes, not {len(buffer)}")
    number: int = _SLOT.unpack(buffer)[0]
    return number
