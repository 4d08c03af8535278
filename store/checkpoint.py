"""The `checkpoint` file: how far the derived files were known to be on disk.

4096 bytes, six big-endian longs at their start (StoreCheckpoint): store timestamps of the last
flushed commit-log record, consume-queue entry and index entry, the master's flushed offset, the
confirmed offset, and the physical offset of the last record whose queue entry is on disk.
"""

from __future__ import annotations

import os
import struct
from pathlib import Path

from trimq.store.files import create, set_length, sync_data, sync_directory, write_fully

SIZE = 4096
LAYOUT = struct.Struct(">6q")


class Checkpoint:
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


def load_checkpoint(path: Path) -> Checkpoint:
    """All zeros when there is no file or a short one: recovery then looks at everything."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return Checkpoint()
    return parse_checkpoint(data)


def parse_checkpoint(data: bytes) -> Checkpoint:
    """All zeros when the file is short."""
    if len(data) < LAYOUT.size:
        return Checkpoint()
    return Checkpoint(*LAYOUT.unpack_from(data))


def save_checkpoint(path: Path, checkpoint: Checkpoint) -> None:
    """Blocks on the disk. The 48 bytes lie in one sector, so they change as a whole."""
    data = LAYOUT.pack(
        checkpoint.record_timestamp,
        checkpoint.queue_timestamp,
        checkpoint.index_timestamp,
        checkpoint.master_flushed_offset,
        checkpoint.confirm_physical_offset,
        checkpoint.queue_physical_offset,
    )
    fresh = not path.exists()
    fd = create(path)
    try:
        if os.fstat(fd).st_size != SIZE:
            set_length(fd, SIZE)
        write_fully(fd, [data], 0)
        sync_data(fd)
    finally:
        os.close(fd)
    if fresh:
        sync_directory(path.parent)


def raise_index_timestamp(path: Path, timestamp: int) -> None:
    """Vouch for index files up to that store timestamp, and for nothing else that is new."""
    checkpoint = load_checkpoint(path)
    if timestamp > checkpoint.index_timestamp:
        checkpoint.index_timestamp = timestamp
        save_checkpoint(path, checkpoint)
