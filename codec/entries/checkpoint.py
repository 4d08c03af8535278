"""The store's checkpoint (StoreCheckpoint): how far the derived files were known to be on disk.

`codec.layouts.checkpoint` declares it; this is its precompiled twin.
"""

import struct
from typing import Final

# The file is one page; the numbers are at its start and fit into a sector, so they change as a
# whole.
CHECKPOINT_SIZE: Final = 4096
_NUMBERS: Final = struct.Struct(">6q")
NUMBERS_SIZE: Final = _NUMBERS.size


class Checkpoint:
    """Store timestamps in milliseconds since 1970, and physical offsets: all 0 in a new store."""

    __slots__ = (
        "confirm_physical_offset",
        "index_timestamp",
        "master_flushed_offset",
        "queue_physical_offset",
        "queue_timestamp",
        "record_timestamp",
    )

    def __init__(
        self,
        record_timestamp: int = 0,
        queue_timestamp: int = 0,
        index_timestamp: int = 0,
        master_flushed_offset: int = 0,
        confirm_physical_offset: int = 0,
        queue_physical_offset: int = 0,
    ) -> None:
        self.record_timestamp = record_timestamp
        self.queue_timestamp = queue_timestamp
        self.index_timestamp = index_timestamp
        self.master_flushed_offset = master_flushed_offset
        self.confirm_physical_offset = confirm_physical_offset
        self.queue_physical_offset = queue_physical_offset


def find_checkpoint(data: bytes) -> Checkpoint | None:
    """What the file says; None when it is too short."""
    return Checkpoint(*_NUMBERS.unpack_from(data)) if len(data) >= _NUMBERS.size else None


def parse_checkpoint(data: bytes) -> Checkpoint:
    """The same, all zeros when the file is short."""
    return find_checkpoint(data) or Checkpoint()


def pack_checkpoint(checkpoint: Checkpoint) -> bytes:
    """The numbers only; the rest of the file is zeros."""
    return _NUMBERS.pack(
        checkpoint.record_timestamp,
        checkpoint.queue_timestamp,
        checkpoint.index_timestamp,
        checkpoint.master_flushed_offset,
        checkpoint.confirm_physical_offset,
        checkpoint.queue_physical_offset,
    )
