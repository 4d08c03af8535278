"""The 46 bytes of one batch-consume-queue entry (BatchConsumeQueue): one record, several messages.

It holds what a consume-queue entry holds, and the record's store timestamp, the queue offset of its
first message and how many messages are in it.

Hot: compiled by mypyc when a compiler is there.
"""

import struct
from typing import Final

from trimq.codec.entries.queue import QueueEntry

BATCH_ENTRY_SIZE: Final = 46
# A field that RocketMQ reserves for compaction and leaves so.
_NOT_COMPACTED: Final = -1
_ENTRY: Final = struct.Struct(">qiqqqhii")

# As the file has them: physical offset, size, tags code, store timestamp, base offset, count, and two that are unused.
BatchEntryFields = tuple[int, int, int, int, int, int, int, int]


class BatchQueueEntry(QueueEntry):
    """Where the messages of the queue offsets `base_offset ...` lie in the commit log."""

    __slots__ = ("base_offset", "count", "store_timestamp")

    def __init__(
        self,
        physical_offset: int,
        size: int,
        tags_code: int,
        store_timestamp: int,
        base_offset: int,
        count: int,
    ) -> None:
        super().__init__(physical_offset, size, tags_code)
        self.store_timestamp: int = store_timestamp
        self.base_offset: int = base_offset
        self.count: int = count

    @property
    def end_offset(self) -> int:
        """The queue offset behind the last message."""
        return self.base_offset + self.count


def pack_batch_entry(entry: BatchQueueEntry) -> bytes:
    return _ENTRY.pack(
        entry.physical_offset,
        entry.size,
        entry.tags_code,
        entry.store_timestamp,
        entry.base_offset,
        entry.count,
        _NOT_COMPACTED,
        0,
    )


# What follows the last entry of a compacted queue's file that is full (SparseConsumeQueue.putEndPositionInfo).
END_ENTRY: Final = _ENTRY.pack(-1, 0, 0, 0, 0, 0, _NOT_COMPACTED, 0)


def batch_fields_at(buffer: bytes, at: int = 0) -> BatchEntryFields:
    """The fields of the entry that begins there, for those who keep them as they are."""
    fields: BatchEntryFields = _ENTRY.unpack_from(buffer, at)
    return fields


def parse_batch_entries(buffer: bytes) -> list[BatchQueueEntry]:
    """Every whole entry in it."""
    whole = buffer[: len(buffer) // BATCH_ENTRY_SIZE * BATCH_ENTRY_SIZE]
    return [BatchQueueEntry(*fields[:6]) for fields in _ENTRY.iter_unpack(whole)]
