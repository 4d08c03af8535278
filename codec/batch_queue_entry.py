"""The 46 bytes of one batch-consume-queue entry (BatchConsumeQueue): one record, several messages.

It holds what a consume-queue entry holds, and the record's store timestamp, the queue offset of its
first message and how many messages are in it.
"""

import struct
from typing import Final

BATCH_ENTRY_SIZE: Final = 46
# There is no compaction: every entry says so.
_NOT_COMPACTED: Final = -1
_ENTRY: Final = struct.Struct(">qiqqqhii")


class BatchQueueEntry:
    """Where the messages of the queue offsets `base_offset ...` lie in the commit log."""

    __slots__ = (
        "base_offset",
        "count",
        "physical_offset",
        "size",
        "store_timestamp",
        "tags_code",
    )

    def __init__(
        self,
        physical_offset: int,
        size: int,
        tags_code: int,
        store_timestamp: int,
        base_offset: int,
        count: int,
    ) -> None:
        self.physical_offset: int = physical_offset
        self.size: int = size
        self.tags_code: int = tags_code
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


def parse_batch_entries(buffer: bytes) -> list[BatchQueueEntry]:
    """Every whole entry in it."""
    whole = buffer[: len(buffer) // BATCH_ENTRY_SIZE * BATCH_ENTRY_SIZE]
    return [BatchQueueEntry(*fields[:6]) for fields in _ENTRY.iter_unpack(whole)]
