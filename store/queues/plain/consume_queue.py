"""A plain queue: for every message an entry of 20 bytes (ConsumeQueue), numbered by its position.

Files `consumequeue/<topic>/<queue id>/%020d`, named by the byte position of their first entry;
entry i of a queue is at byte 20 * i, so offsets count entries.

Hot: compiled by mypyc when a compiler is there.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Final

from trimq.codec.entries.queue import (
    ENTRY_SIZE,
    FILLER_SIZE,
    QueueEntry,
    pack,
    pack_all,
    parse,
    parse_all,
    unpack_all,
)
from trimq.codec.flags import SysFlag
from trimq.store.disk.files import OpenFiles
from trimq.store.errors import StoreDamaged
from trimq.store.log.commit_log import CommitLog
from trimq.store.messages.message import Dispatched
from trimq.store.queues.files.bounds import Believed, leading_entries
from trimq.store.queues.files.rows import QueueFiles
from trimq.store.queues.plain.time_search import first_from, time_of
from trimq.store.queues.queue import FoundEntries, Queue, QueueKind
from trimq.store.queues.reading.filtered_entries import pick
from trimq.store.queues.reading.pull import Pull, ReadStatus

SETTING: Final = "mappedFileSizeConsumeQueue"
# Entries examined in one step when most of them may not match.
SCANNED_AT_ONCE: Final = 256
FILLER: Final = pack(0, FILLER_SIZE, 0)
_INNER_BATCH: Final = int(SysFlag.INNER_BATCH)


class FoundConsumeEntries(FoundEntries):
    __slots__ = ("entries",)

    def __init__(self, record: Dispatched) -> None:
        super().__init__(record)
        self.entries = bytearray()

    def add(self, record: Dispatched) -> bool:
        if record.queue_offset != self.next:
            return False
        self.entries += pack(record.physical_offset, record.size, record.tags_code)
        self.next += 1
        return True

    def extend(self, later: FoundEntries) -> None:
        assert isinstance(later, FoundConsumeEntries)
        self.entries += later.entries
        self.next = later.next


class ConsumeQueue(Queue):
    __slots__ = ()

    def __init__(
        self, topic: str, queue_id: int, directory: str, file_size: int, open_files: OpenFiles
    ) -> None:
        files = QueueFiles(directory, file_size, open_files, SETTING, FILLER)
        super().__init__(topic, queue_id, files, ENTRY_SIZE)

    # --- writing

    def append(self, records: list[Dispatched], start: int, end: int) -> None:
        if end - start == 1:
            record = records[start]
            self.files.append(pack(record.physical_offset, record.size, record.tags_code))
            self.max_offset += 1
            return
        fields: list[int] = []
        for index in range(start, end):
            record = records[index]
            fields.append(record.physical_offset)
            fields.append(record.size)
            fields.append(record.tags_code)
        self.files.append(pack_all(fields))
        self.max_offset += end - start

    # --- reading

    def entries(self, offset: int, count: int) -> bytes:
        """Up to `count` entries, no further than the end of one file (ConsumeQueueIterator).

        Nothing when the offset is not in the queue or its file is gone.
        """
        if offset < self.min_offset:
            return b""
        return self.files.read(offset * ENTRY_SIZE, count * ENTRY_SIZE)

    def entry(self, offset: int) -> QueueEntry | None:
        data = self.entries(offset, 1)
        return parse(data) if data else None

    def next_file(self, offset: int) -> int:
        """First offset of the next file (ConsumeQueue.rollNextFile)."""
        per_file = self.files.file_size // ENTRY_SIZE
        return offset + per_file - offset % per_file

    def read_file(self, pull: Pull) -> None:
        result = pull.result
        behind = self.next_file(result.next_begin_offset)
        file_end = min(behind, pull.scan_end)
        file_end = min(file_end, result.max_offset)
        # Without a filter nothing is skipped except what is no longer in the commit log.
        count = SCANNED_AT_ONCE if pull.is_choosy else max(pull.max_messages, 1)
        pull.skip_before = -1
        while result.next_begin_offset < file_end:
            if 0 < pull.max_messages <= result.message_count:
                # The next one would be one too many; it need not be read to know that.
                return
            before = result.next_begin_offset
            data = self.entries(before, min(count, file_end - before))
            if not data:
                result.status = ReadStatus.OFFSET_FOUND_NULL
                result.next_begin_offset = behind
                return
            self.take(pull, data)
            if result.next_begin_offset - before < len(data) // ENTRY_SIZE:
                return

    def take(self, pull: Pull, data: bytes) -> None:
        """Take the matching ones of these entries, until the result is full."""
        if pull.take_first(data):
            return
        sieve = pull.sieve
        if sieve is not None and pull.tag_codes is None and not sieve.filter.map_bytes:
            done = pick(pull, data)
            if done < 0 or done * ENTRY_SIZE == len(data):
                return
            if done:
                data = data[done * ENTRY_SIZE :]
        following = pull.result.next_begin_offset
        fields = unpack_all(data)
        for at in range(0, len(fields), 3):
            physical_offset = fields[at]
            size = fields[at + 1]
            if pull.is_full(physical_offset, size, 1):
                return
            following += 1
            wanted = self.is_wanted(fields[at + 2], pull)
            if not pull.look_at(physical_offset, size, 1, following, wanted):
                return

    def offset_by_time(self, timestamp: int, upper: bool, log: CommitLog) -> int:
        """Always within the queue's offsets (ConsumeQueueStore.getOffsetInQueueByTime).

        When several messages have the moment, the first of them, or `upper` the last.
        """
        wanted = timestamp + 1 if upper else timestamp
        found = first_from(wanted, self.min_offset, self.max_offset, partial(time_of, log, self))
        return max(found - 1, self.min_offset) if upper else found

    # --- opening

    def load(self, bounds: Believed, expected: int = -1) -> None:
        files = self.files
        end = expected * ENTRY_SIZE
        # A queue that begins with offset 0 and has one file: no need to list its files then.
        if 0 < end < files.file_size and files.is_whole(0) and self._reaches(end, 0, 0, bounds):
            files.take_up(0, end)
        else:
            last = self.find_files(bounds)
            if last < 0:
                return
            if not self._reaches(end, files.first, last, bounds):
                end = self.valid_end(last, bounds)
            files.take_up(files.first, end)
            if expected < 0:
                files.clear_behind()
        self.max_offset = self.next_offset = end // ENTRY_SIZE
        self.correct_min_offset(bounds.log_min)

    def _reaches(self, end: int, first: int, last: int, bounds: Believed) -> bool:
        """Whether the entry that ends there is in a file from `first` to `last` and is trusted."""
        start = end - ENTRY_SIZE
        if not first <= start < last + self.files.file_size:
            return False
        return self.leading_entries(self.files.read_file(start, ENTRY_SIZE), bounds) == 1

    def leading_entries(self, data: bytes, bounds: Believed) -> int:
        return leading_entries(parse_all(data), bounds)

    def is_behind(self, found: FoundEntries, complete: bool, known: bool) -> bool:
        """One that has lost its folder is, unless its topic's is gone too: then the topic was deleted."""
        if self.is_new:
            return known and not complete and found.first > 0
        return found.first > self.max_offset and not (complete and self._is_over)

    @property
    def _is_over(self) -> bool:
        """Whether no record of it is left in the log."""
        return self.min_offset == self.max_offset

    def restore(self, found: FoundEntries, bounds: Believed, complete: bool) -> int:
        assert isinstance(found, FoundConsumeEntries)
        first, entries = found.first, bytes(found.entries)
        gone = complete and first != self.max_offset and self._is_over
        if (gone or first > self.max_offset) and not self.is_new:
            # All that was known about it is gone from the log, or was never vouched for; or offsets leap.
            self.delete()
        before = self.max_offset if first else 0
        if first < self.max_offset:
            entry = parse(entries)
            if bounds.hold(entry.physical_offset, entry.size):
                entries = entries[(self.max_offset - first) * ENTRY_SIZE :]
                first = self.max_offset
            elif first == 0:
                # The topic was deleted and made again: the new queue has nothing of the old one.
                self.delete()
            else:
                self._refuse(entry, first)
        if self.is_new:
            self.min_offset = self.max_offset = first
            self.files.start_at(first * ENTRY_SIZE)
        kept = 0 if self.unwritten_bytes else self.files.keep(entries, ENTRY_SIZE)
        self.files.clear_behind()
        self.max_offset = first + kept // ENTRY_SIZE
        self.add_restored(found, entries[kept:])
        self.next_offset = self.max_offset
        return self.max_offset - max(before, found.first)

    def add_restored(self, found: FoundEntries, entries: bytes) -> None:
        """The last of the entries found, which the files do not have."""
        self.files.append(entries)
        self.max_offset += len(entries) // ENTRY_SIZE

    def _refuse(self, entry: QueueEntry, offset: int) -> None:
        position = offset * ENTRY_SIZE
        raise StoreDamaged(
            Path(self.files.path_of(position)),
            position % self.files.file_size,
            f"the message at {entry.physical_offset} of the commit log belongs here, "
            "but an older one has its place",
        )

    # --- trimming, cutting

    def correct_min_offset(self, log_min: int) -> None:
        """ConsumeQueue.correctMinOffset."""
        low, high = max(self.files.first // ENTRY_SIZE, self.min_offset), self.max_offset
        # Mostly the first one still exists; that saves the search.
        middle = low
        while low < high:
            self.min_offset = middle
            entry = self.entry(middle)
            if entry is None or entry.size == FILLER_SIZE or entry.physical_offset < log_min:
                low = middle + 1
            else:
                high = middle
            middle = (low + high) // 2
        self.min_offset = low

    def delete_expired_file(self) -> str:
        return self.files.delete_first(self.min_offset * ENTRY_SIZE)

    def truncate(self, max_offset: int) -> None:
        self.files.truncate(max_offset * ENTRY_SIZE)
        self.max_offset = self.next_offset = max_offset
        self.min_offset = min(self.min_offset, max_offset)


class ConsumeQueueKind(QueueKind):
    """Topics that do not say otherwise."""

    __slots__ = ("file_size", "open_files")

    def __init__(self, roots: list[str], file_size: int, open_files: OpenFiles) -> None:
        self.file_size = file_size // ENTRY_SIZE * ENTRY_SIZE
        self.open_files = open_files
        super().__init__("SimpleCQ", roots, ENTRY_SIZE)

    def make(self, topic: str, queue_id: int) -> Queue:
        directory = f"{self.directory_of(topic)}/{queue_id}"
        return ConsumeQueue(topic, queue_id, directory, self.file_size, self.open_files)

    def begin(self, record: Dispatched) -> FoundEntries:
        return FoundConsumeEntries(record)

    def can_hold(self, record: Dispatched) -> bool:
        """Not several messages in one record."""
        return record.sys_flag & _INNER_BATCH == 0
