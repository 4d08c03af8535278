"""One unit of a consume queue's extension (ConsumeQueueExt.CqExtUnit).

Its first 20 bytes: size of the whole unit, tags code, store timestamp, bytes of the bit map that
follows. The bit map belongs to SQL92 filters; without them it is empty.
"""

import struct
from typing import Final

UNIT_SIZE: Final = 20
_HEAD: Final = struct.Struct(">hqqh")


def pack_unit(tags_code: int, store_timestamp: int) -> bytes:
    """A unit without a bit map."""
    return _HEAD.pack(UNIT_SIZE, tags_code, store_timestamp, 0)


def parse_unit(buffer: bytes) -> tuple[int, int] | None:
    """Size and tags code of the unit that the buffer begins with; None when there is none."""
    if len(buffer) < UNIT_SIZE:
        return None
    size, tags_code, _, bit_map_size = _HEAD.unpack_from(buffer)
    # A negative size is the end of a file, 0 is where nothing was written yet.
    if size < UNIT_SIZE or size != UNIT_SIZE + max(bit_map_size, 0):
        return None
    return size, tags_code
