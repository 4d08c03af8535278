"""One batch consume queue: for every record of a queue an entry of 46 bytes (BatchConsumeQueue).

The queue of a topic with `queue.type=BatchCQ`. A record may hold several messages, so a queue offset
counts messages and an entry's place in the files says nothing about it: entries are searched by the
offset of their first message. Files `batchconsumequeue/<topic>/<queue id>/%020d`, named by the byte
position of their first entry.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from typing import Final

from trimq.codec.batch_queue_entry import (
    BATCH_ENTRY_SIZE,
    BatchQueueEntry,
    pack_batch_entry,
    parse_batch_entries,
)
from trimq.store.errors import StoreError
from trimq.store.files import OpenFiles
from trimq.store.queue_bounds import Bounds
from trimq.store.queue_files import QueueFiles

SETTING: Final = "mapperFileSizeBatchConsumeQueue"
# Entries in one look for a file's end: more than a page, with its hole behind, has.
BLOCK: Final = 128


class BatchConsumeQueue:
    """`max_offset` is what readers see, `next_offset` includes staged messages.

    Without an entry `min_offset` is -1, as the real broker has it.
    """

    __slots__ = (
        "_files",
        "dirty",
        "max_offset",
        "min_offset",
        "next_offset",
        "queue_id",
        "topic",
    )

    def __init__(
        self, topic: str, queue_id: int, directory: str, file_size: int, open_files: OpenFiles
    ) -> None:
        self.topic = topic
        self.queue_id = queue_id
        self.min_offset = -1
        self.max_offset = 0
        self.next_offset = 0
        self.dirty = False
        self._files = QueueFiles(directory, file_size, open_files, SETTING)

    # --- writing

    def append(self, entry: BatchQueueEntry) -> None:
        self._files.append(pack_batch_entry(entry))
        if self.min_offset < 0:
            self.min_offset = entry.base_offset
        self.max_offset = entry.end_offset

    def append_again(self, entry: BatchQueueEntry) -> None:
        """At recovery: an entry that begins before the queue's end is of a topic made again."""
        if entry.base_offset < self.max_offset:
            self.delete()
        self.append(entry)
        self.next_offset = self.max_offset

    @property
    def unwritten_bytes(self) -> int:
        return self._files.unwritten_bytes

    def write_out(self) -> None:
        """Write what is still in memory. OSError: try again."""
        self._files.write_out()

    # --- reading

    @property
    def first_index(self) -> int:
        """Entries are numbered by their place in the files; those of deleted files count."""
        return max(self._files.first, 0) // BATCH_ENTRY_SIZE

    @property
    def end_index(self) -> int:
        return self._files.end // BATCH_ENTRY_SIZE

    def next_file(self, index: int) -> int:
        """The first entry of the file behind."""
        per_file = self._files.file_size // BATCH_ENTRY_SIZE
        return index + per_file - index % per_file

    def entries(self, index: int, count: int) -> list[BatchQueueEntry]:
        """Up to `count` entries, no further than the end of one file; none where there are none."""
        data = self._files.read(index * BATCH_ENTRY_SIZE, count * BATCH_ENTRY_SIZE)
        return parse_batch_entries(data)

    def index_of(self, offset: int) -> int:
        """The last entry that begins at or before the offset; -1 without one, or behind the end."""
        if offset >= self.max_offset:
            return -1
        after = self._search(offset + 1, _base_offset, self.first_index, self.end_index)
        return after - 1 if after > self.first_index else -1

    def entry(self, offset: int) -> BatchQueueEntry | None:
        """The entry with this message; before the queue's begin, of a record that is gone."""
        index = self.index_of(offset)
        return self._at(index) if index >= 0 else None

    def last(self) -> BatchQueueEntry | None:
        return self._at(self.end_index - 1) if self.end_index > self.first_index else None

    def _at(self, index: int) -> BatchQueueEntry:
        found = self.entries(index, 1)
        if not found:
            raise StoreError(f"a file of the batch queue {self.topic} {self.queue_id} is gone")
        return found[0]

    def _search(
        self, wanted: int, key: Callable[[BatchQueueEntry], int], low: int, high: int
    ) -> int:
        """The first entry of [low, high) whose key is not below; `high` when there is none."""
        return low + bisect_left(range(high - low), wanted, key=lambda at: key(self._at(low + at)))

    # --- by time

    def offset_by_time(self, timestamp: int, upper: bool) -> int:
        """Within the queue's offsets; rules of BatchConsumeQueue.getOffsetInQueueByTime."""
        if self.min_offset < 0:
            return 0
        found = self._offset_by_time(timestamp, upper)
        return min(max(found, self.min_offset), self.max_offset)

    def _offset_by_time(self, timestamp: int, upper: bool) -> int:
        low, last = self._file_of_time(timestamp)
        final = self._at(last)
        if timestamp >= final.store_timestamp:
            # Even when the next file would have a later message.
            return final.base_offset
        if upper:
            return self._upper(low, last, timestamp)
        at = self._search(timestamp, _store_timestamp, low, last)
        return self._at(at).base_offset

    def _file_of_time(self, timestamp: int) -> tuple[int, int]:
        """First and last entry of the last file that begins at or before the moment, or the first."""
        low = self.first_index
        following = self.next_file(low)
        while following < self.end_index:
            if self._at(following).store_timestamp > timestamp:
                break
            low, following = following, self.next_file(following)
        return low, min(following, self.end_index) - 1

    def _upper(self, low: int, high: int, timestamp: int) -> int:
        """The real broker's UPPER: it halves as for "the last not after the moment".

        Then it takes the first of the remaining one or two that is not *before* the moment. So
        between two messages the answer hangs on how many there are; without one it is -1.
        """
        while high - low > 1:
            middle = (low + high) // 2
            if self._at(middle).store_timestamp <= timestamp:
                low = middle
            else:
                high = middle - 1
        for at in range(low, high + 1):
            entry = self._at(at)
            if entry.store_timestamp >= timestamp:
                return entry.base_offset
        return -1

    # --- opening, repairing, deleting

    def load(self, bounds: Bounds) -> None:
        """Take up the files with the entries that may be believed; others are removed."""
        last = self._files.find()
        if last < 0:
            return
        count = self._valid_entries(last, bounds)
        # A file left without a single valid entry is older than its removal: look before it.
        while count == 0 and last > self._files.first:
            last -= self._files.file_size
            count = self._valid_entries(last, bounds)
        self._files.truncate(last + count * BATCH_ENTRY_SIZE)
        final = self.last()
        if final is not None:
            self.max_offset = self.next_offset = final.end_offset
            self.correct_min_offset(bounds.log_min)

    def _valid_entries(self, base: int, bounds: Bounds) -> int:
        """How many entries a file holds: they fill it from its start, zeros follow.

        Mostly the end lies in the last block that is no hole; that one is looked at first.
        """
        per_file = self._files.file_size // BATCH_ENTRY_SIZE
        high = min(per_file, self._files.data_end(base) // BATCH_ENTRY_SIZE + 1)
        low = max(high - BLOCK, 0)
        block = self._file_entries(base, low, high - low)
        if low == 0 or is_valid(block[0], bounds):
            return low + leading_entries(block, bounds)
        return bisect_left(
            range(low),
            True,
            key=lambda at: not is_valid(self._file_entries(base, at, 1)[0], bounds),
        )

    def _file_entries(self, base: int, index: int, count: int) -> list[BatchQueueEntry]:
        position = base + index * BATCH_ENTRY_SIZE
        return parse_batch_entries(self._files.read_file(position, count * BATCH_ENTRY_SIZE))

    def correct_min_offset(self, log_min: int) -> None:
        """The first message whose record is still in the commit log.

        When there is none, the end of the queue: offsets never start again.
        """
        if self.end_index == self.first_index:
            return
        at = self._search(log_min, _physical_offset, self.first_index, self.end_index)
        self.min_offset = self._at(at).base_offset if at < self.end_index else self.max_offset

    def delete_expired_file(self) -> str:
        """Delete the first file if `min_offset` is behind it; its path, or "" if it stays.

        Never the last one that is on the disk: it says where the queue goes on.
        """
        following = self.next_file(self.first_index)
        if following >= self.end_index or self._at(following - 1).end_offset > self.min_offset:
            return ""
        return self._files.delete_first(following * BATCH_ENTRY_SIZE)

    def delete(self) -> None:
        """Remove files and directory; the queue is then as one that never had an entry."""
        self._files.delete()
        self.min_offset = -1
        self.max_offset = self.next_offset = 0


def _base_offset(entry: BatchQueueEntry) -> int:
    return entry.base_offset


def _physical_offset(entry: BatchQueueEntry) -> int:
    return entry.physical_offset


def _store_timestamp(entry: BatchQueueEntry) -> int:
    return entry.store_timestamp


def leading_entries(block: list[BatchQueueEntry], bounds: Bounds) -> int:
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


def is_valid(entry: BatchQueueEntry, bounds: Bounds) -> bool:
    """Whether it points to a record and may be believed."""
    return (
        entry.count > 0
        and entry.base_offset >= 0
        and bounds.hold(entry.physical_offset, entry.size)
    )
