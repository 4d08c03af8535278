"""The entries of a batch queue by number, and searches among them.

An entry's number is its place in the files, with those of deleted files counted.

Hot: compiled by mypyc when a compiler is there.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable

from trimq.codec.entries.batch_queue import (
    BATCH_ENTRY_SIZE,
    BatchQueueEntry,
    parse_batch_entries,
)
from trimq.store.errors import StoreError
from trimq.store.queues.files.bounds import Believed
from trimq.store.queues.files.rows import QueueFiles


class BatchEntries:
    __slots__ = ("_files",)

    def __init__(self, files: QueueFiles) -> None:
        self._files = files

    @property
    def first(self) -> int:
        return max(self._files.first, 0) // BATCH_ENTRY_SIZE

    @property
    def end(self) -> int:
        return self._files.end // BATCH_ENTRY_SIZE

    def next_file(self, index: int) -> int:
        """The first entry of the next file."""
        per_file = self._files.file_size // BATCH_ENTRY_SIZE
        return index + per_file - index % per_file

    def read(self, index: int, count: int) -> list[BatchQueueEntry]:
        """Up to `count` entries, no further than the end of one file; empty if there are none."""
        data = self._files.read(index * BATCH_ENTRY_SIZE, count * BATCH_ENTRY_SIZE)
        return parse_batch_entries(data)

    def at(self, index: int) -> BatchQueueEntry:
        found = self.read(index, 1)
        if not found:
            raise StoreError(f"{self._files.path_of(index * BATCH_ENTRY_SIZE)} is gone")
        return found[0]

    def last(self) -> BatchQueueEntry | None:
        return self.at(self.end - 1) if self.end > self.first else None

    def search(self, wanted: int, key: Callable[[BatchQueueEntry], int]) -> int:
        """The first entry whose key is not below; `end` when there is none."""
        return self._search(wanted, key, self.first, self.end)

    def _search(
        self, wanted: int, key: Callable[[BatchQueueEntry], int], low: int, high: int
    ) -> int:
        """The same among [low, high)."""
        return low + bisect_left(range(high - low), wanted, key=lambda at: key(self.at(low + at)))

    # --- by time: rules of BatchConsumeQueue.getOffsetInQueueByTime

    def offset_by_time(self, timestamp: int, upper: bool) -> int:
        """For a queue with an entry; -1 where the real broker finds none."""
        low, last = self._file_of_time(timestamp)
        final = self.at(last)
        if timestamp >= final.store_timestamp:
            # Even when the next file would have a later message.
            return final.base_offset
        if upper:
            return self._upper(low, last, timestamp)
        at = self._search(timestamp, _store_timestamp, low, last)
        return self.at(at).base_offset

    def _file_of_time(self, timestamp: int) -> tuple[int, int]:
        """First and last entry of the last file that begins at or before the moment, or the first."""
        low = self.first
        following = self.next_file(low)
        while following < self.end:
            if self.at(following).store_timestamp > timestamp:
                break
            low, following = following, self.next_file(following)
        return low, min(following, self.end) - 1

    def _upper(self, low: int, high: int, timestamp: int) -> int:
        """The real broker's UPPER: it bisects as for "the last not after the moment".

        Then it takes the first of the remaining one or two that is not *before* the moment. So
        between two messages the answer depends on how many there are; without one it is -1.
        """
        while high - low > 1:
            middle = (low + high) // 2
            if self.at(middle).store_timestamp <= timestamp:
                low = middle
            else:
                high = middle - 1
        for at in range(low, high + 1):
            entry = self.at(at)
            if entry.store_timestamp >= timestamp:
                return entry.base_offset
        return -1


def _store_timestamp(entry: BatchQueueEntry) -> int:
    return entry.store_timestamp


def leading_entries(block: list[BatchQueueEntry], bounds: Believed) -> int:
    """How many of the entries are valid and in the order of log and queue, from the first on."""
    before = -1
    offset = -1
    for index, entry in enumerate(block):
        if not is_valid(entry, bounds) or entry.physical_offset <= before:
            return index
        if entry.base_offset < offset:
            return index
        before, offset = entry.physical_offset, entry.end_offset
    return len(block)


def is_valid(entry: BatchQueueEntry, bounds: Believed) -> bool:
    """Whether it points to a record and can be trusted."""
    return (
        entry.count > 0
        and entry.base_offset >= 0
        and bounds.hold(entry.physical_offset, entry.size)
    )
