"""A batch queue: for every record of a queue an entry of 46 bytes (BatchConsumeQueue).

The queue of a topic with `queue.type=BatchCQ`. A record may hold several messages, so a queue offset
counts messages and an entry's place in the files says nothing about it: entries are searched by the
offset of their first message. Files `batchconsumequeue/<topic>/<queue id>/%020d`, named by the byte
position of their first entry. Without an entry `min_offset` is -1, as the real broker has it.

Hot: compiled by mypyc when a compiler is there.
"""

from __future__ import annotations

from typing import Final

from trimq.codec.entries.batch_queue import (
    BATCH_ENTRY_SIZE,
    BatchQueueEntry,
    pack_batch_entry,
    parse_batch_entries,
)
from trimq.codec.entries.queue import QueueEntry
from trimq.codec.flags import SysFlag
from trimq.store.disk.files import OpenFiles
from trimq.store.log.commit_log import CommitLog
from trimq.store.messages.inner_batch import count_of, stored_count, with_base
from trimq.store.messages.message import Dispatched, Message
from trimq.store.queues.batch_entries import BatchEntries, leading_entries
from trimq.store.queues.files.bounds import Believed
from trimq.store.queues.files.rows import QueueFiles
from trimq.store.queues.queue import FoundEntries, Queue, QueueKind
from trimq.store.queues.reading.pull import Pull, ReadStatus

SETTING: Final = "mapperFileSizeBatchConsumeQueue"
# Entries read at once with a filter; without one, as many as messages are asked for.
LOOK: Final = 256
# A record that leaps further has been forged.
LARGEST_LEAP: Final = 1 << 20
_INNER_BATCH: Final = int(SysFlag.INNER_BATCH)


def entry_of(record: Dispatched, count: int) -> BatchQueueEntry:
    return BatchQueueEntry(
        record.physical_offset,
        record.size,
        record.tags_code,
        record.store_timestamp,
        record.queue_offset,
        count,
    )


class FoundBatchEntries(FoundEntries):
    """Entries that name their offsets: whatever comes next follows."""

    __slots__ = ("entries",)

    def __init__(self, record: Dispatched) -> None:
        super().__init__(record)
        self.entries: list[BatchQueueEntry] = []

    def add(self, record: Dispatched) -> bool:
        entry = entry_of(record, stored_count(record.properties))
        self.entries.append(entry)
        self.next = entry.end_offset
        return True

    def extend(self, later: FoundEntries) -> None:
        assert isinstance(later, FoundBatchEntries)
        self.entries += later.entries
        self.next = later.next

    def may_leap(self) -> bool:
        return True


class BatchConsumeQueue(Queue):
    __slots__ = ("rows",)

    def __init__(
        self, topic: str, queue_id: int, directory: str, file_size: int, open_files: OpenFiles
    ) -> None:
        files = QueueFiles(directory, file_size, open_files, SETTING)
        super().__init__(topic, queue_id, files, BATCH_ENTRY_SIZE)
        self.rows = BatchEntries(files)
        self.min_offset = -1

    # --- writing

    def count(self, message: Message) -> int:
        if not message.sys_flag & _INNER_BATCH:
            return 1
        count = count_of(message.properties)
        message.properties = with_base(message.properties, self.next_offset)
        return count

    def count_in(self, record: Dispatched) -> int:
        return stored_count(record.properties) if record.sys_flag & _INNER_BATCH else 1

    def follows(self, record: Dispatched) -> bool:
        # Offsets may leap here: entries name them.
        return 0 <= record.queue_offset - self.max_offset <= LARGEST_LEAP and not self.is_new

    def takes(self, base_offset: int) -> bool:
        """Whether the record may be its next one. Where the last one has leapt over it, that one goes."""
        leap = base_offset - self.max_offset
        if self.is_new or 0 <= leap <= LARGEST_LEAP:
            return True
        if leap > 0 or self.rows.end - self.rows.first < 2:
            return False
        if self.rows.at(self.rows.end - 2).end_offset != base_offset:
            return False
        self.truncate(base_offset)
        return True

    def append(self, records: list[Dispatched], start: int, end: int) -> None:
        for index in range(start, end):
            record = records[index]
            self.append_entry(entry_of(record, record.count))

    def append_entry(self, entry: BatchQueueEntry) -> None:
        self.files.append(pack_batch_entry(entry))
        if self.min_offset < 0:
            self.min_offset = entry.base_offset
        self.max_offset = entry.end_offset

    # --- reading

    def index_of(self, offset: int) -> int:
        """The last entry that begins at or before the offset; -1 without one, or beyond the end."""
        if offset >= self.max_offset:
            return -1
        after = self.rows.search(offset + 1, _base_offset)
        return after - 1 if after > self.rows.first else -1

    def entry(self, offset: int) -> QueueEntry | None:
        """Of the record with this message; before the queue's beginning, of one that is gone."""
        index = self.index_of(offset)
        return self.rows.at(index) if index >= 0 else None

    def read_file(self, pull: Pull) -> None:
        """A record with several messages counts as all of them and is handed out whole."""
        result = pull.result
        index = self.index_of(result.next_begin_offset)
        if index < 0:
            result.status = ReadStatus.OFFSET_FOUND_NULL
            # BatchConsumeQueue.rollNextFile knows no better.
            result.next_begin_offset = 0
            return
        file_end = min(self.rows.next_file(index), self.rows.end)
        count = LOOK if pull.is_choosy else min(max(pull.max_messages, 1), LOOK)
        while index < file_end:
            entries = self.rows.read(index, min(count, file_end - index))
            if not entries:
                return
            for entry in entries:
                place, size = entry.physical_offset, entry.size
                # Counted in queue offsets, though it is meant for entries.
                if entry.base_offset >= pull.scan_end or pull.is_full(place, size, entry.count):
                    return
                wanted = self.is_wanted(entry.tags_code, pull)
                if not pull.look_at(place, size, entry.count, entry.end_offset, wanted):
                    return
            index += len(entries)

    def offset_by_time(self, timestamp: int, upper: bool, log: CommitLog) -> int:
        """Within the queue's offsets; rules of BatchConsumeQueue.getOffsetInQueueByTime."""
        if self.min_offset < 0:
            return 0
        found = self.rows.offset_by_time(timestamp, upper)
        return min(max(found, self.min_offset), self.max_offset)

    # --- opening

    def load(self, bounds: Believed, expected: int = -1) -> None:
        last = self.find_files(bounds)
        if last < 0:
            return
        self.files.truncate(self.valid_end(last, bounds))
        final = self.rows.last()
        if final is not None:
            self.max_offset = self.next_offset = final.end_offset
            self.correct_min_offset(bounds.log_min)

    def leading_entries(self, data: bytes, bounds: Believed) -> int:
        return leading_entries(parse_batch_entries(data), bounds)

    def is_behind(self, found: FoundEntries, complete: bool, known: bool) -> bool:
        return not complete and found.first > self.max_offset > self.min_offset

    def restore(self, found: FoundEntries, bounds: Believed, complete: bool) -> int:
        """An entry that is not vouched for was removed at loading, so the remaining ones are as
        good as records.

        The record's place in the log tells which are.
        """
        assert isinstance(found, FoundBatchEntries)
        last = self.rows.last()
        there = last.physical_offset if last is not None else -1
        added = 0
        for entry in found.entries:
            if entry.physical_offset <= there:
                continue
            if entry.base_offset == 0:
                # It belongs to a topic that was created again.
                self.delete()
            elif not self.takes(entry.base_offset):
                continue
            self.append_entry(entry)
            there = entry.physical_offset
            added += 1
        self.next_offset = self.max_offset
        return added

    # --- trimming, cutting, deleting

    def correct_min_offset(self, log_min: int) -> None:
        if self.rows.end == self.rows.first:
            return
        at = self.rows.search(log_min, _physical_offset)
        self.min_offset = self.rows.at(at).base_offset if at < self.rows.end else self.max_offset

    def delete_expired_file(self) -> str:
        following = self.rows.next_file(self.rows.first)
        if following >= self.rows.end or self.rows.at(following - 1).end_offset > self.min_offset:
            return ""
        return self.files.delete_first(following * BATCH_ENTRY_SIZE)

    def truncate(self, max_offset: int) -> None:
        """A record that loses a message is removed as a whole."""
        at = self.rows.search(max_offset + 1, _end_offset)
        self.files.truncate(at * BATCH_ENTRY_SIZE)
        last = self.rows.last()
        self.max_offset = self.next_offset = last.end_offset if last is not None else 0
        self.min_offset = min(self.min_offset, self.max_offset) if last is not None else -1

    def forget_all(self) -> None:
        super().forget_all()
        self.min_offset = -1

    def begin_at(self, offset: int) -> None:
        self.delete()
        self.max_offset = self.next_offset = offset


class BatchConsumeQueueKind(QueueKind):
    """Topics with `queue.type=BatchCQ`."""

    __slots__ = ("_file_size", "_open_files")

    def __init__(self, root: str, file_size: int, open_files: OpenFiles) -> None:
        self._file_size = file_size // BATCH_ENTRY_SIZE * BATCH_ENTRY_SIZE
        self._open_files = open_files
        super().__init__("BatchCQ", [root], BATCH_ENTRY_SIZE)

    def make(self, topic: str, queue_id: int) -> Queue:
        directory = f"{self.directory_of(topic)}/{queue_id}"
        return BatchConsumeQueue(topic, queue_id, directory, self._file_size, self._open_files)

    def begin(self, record: Dispatched) -> FoundEntries:
        return FoundBatchEntries(record)


def _base_offset(entry: BatchQueueEntry) -> int:
    return entry.base_offset


def _end_offset(entry: BatchQueueEntry) -> int:
    return entry.end_offset


def _physical_offset(entry: BatchQueueEntry) -> int:
    return entry.physical_offset
