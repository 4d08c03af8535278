"""One unit of a consume queue's extension (ConsumeQueueExt.CqExtUnit).

Its first 20 bytes: size of the whole unit, tags code, store timestamp, bytes of the bit map that
follows. The bit map belongs to SQL92 filters; without them it is empty.
"""

import struct
from typing import Final

UNIT_SIZE: Final = 20
_HEAD: Final = struct.Struct(">hqqh")
_SIZE: Final = struct.Struct(">h")
# Tags codes of entries at or below are addresses of units (ConsumeQueueExt.isExtAddr), counted from the lowest.
MAX_ADDRESS: Final = -(2**31) - 1
FIRST_ADDRESS: Final = -(2**63)
# In place of a size: the rest of the file is not used.
END_MARK: Final = -1
SIZE_BYTES: Final = 2


def pack_unit(tags_code: int, store_timestamp: int, bit_map: bytes = b"") -> bytes:
    size = len(bit_map)
    return _HEAD.pack(UNIT_SIZE + size, tags_code, store_timestamp, size) + bit_map


def parse_unit(buffer: bytes) -> tuple[int, int] | None:
    """Size and tags code of the unit that the buffer begins with; None when there is none."""
    if len(buffer) < UNIT_SIZE:
        return None
    size, tags_code, _, bit_map_size = _HEAD.unpack_from(buffer)
    # A negative size is the end of a file, 0 is where nothing was written yet.
    if size < UNIT_SIZE or size != UNIT_SIZE + max(bit_map_size, 0):
        return None
    return size, tags_code


def parse_bit_map(buffer: bytes) -> tuple[bytes, int] | None:
    """Bit map and store timestamp of a unit; None when there is none, or the buffer ends before it does."""
    unit = parse_unit(buffer)
    if unit is None or unit[0] > len(buffer):
        return None
    return buffer[UNIT_SIZE : unit[0]], _HEAD.unpack_from(buffer)[2]


def bits_in(bit_map: bytes) -> int:
    """Bit n of the map as bit n of the number (BitsArray)."""
    return int.from_bytes(bit_map, "little")


def bit_map_with(bits: int, size: int) -> bytes:
    """The map of so many bytes with these bits."""
    return bits.to_bytes(size, "little")


def pack_end_mark() -> bytes:
    return _SIZE.pack(END_MARK)


def unit_head(buffer: bytes) -> tuple[int, int, int]:
    """Size, tags code and store timestamp of what the buffer, UNIT_SIZE bytes or more, begins with: unit or not."""
    size, tags_code, store_timestamp, _ = _HEAD.unpack_from(buffer)
    return size, tags_code, store_timestamp


def unit_size(buffer: bytes) -> int:
    """The size that a unit, SIZE_BYTES or more of it, begins with; END_MARK, or 0 where none was written."""
    size: int = _SIZE.unpack_from(buffer)[0]
    return size


def bit_map_size(buffer: bytes) -> int:
    """The last number of a unit's head: bytes of the bit map behind it."""
    size: int = _HEAD.unpack_from(buffer)[3]
    return size
