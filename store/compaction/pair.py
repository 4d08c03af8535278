"""One file of a compacted log, and the file of entries that belongs to it.

Both have the name and the fixed length that RocketMQ gives them. Records lie one behind the other from the
file's beginning; the entry after the last one of a full file says so.

| state   | the log's file                    | the entries' file                |
|---------|-----------------------------------|----------------------------------|
| open    | records, then zeros               | entries, then zeros              |
| full    | records, a blank up to the end    | entries, an end entry, zeros     |

A record is written before its entry: what has no entry is written over.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from trimq.codec.entries.batch_queue import (
    BATCH_ENTRY_SIZE,
    END_ENTRY,
    BatchQueueEntry,
    pack_batch_entry,
    parse_batch_entries,
)
from trimq.codec.records.fields import HEAD_SIZE, at_offset, queue_offset_at, size_at
from trimq.codec.records.record import BLANK_SIZE, encode_blank
from trimq.store.disk.files import create_sized, sync_file, write_fully, zero_from
from trimq.store.log.held_read import read_file

_LOOK: Final = 1024
# More entries than are written between two syncs, by far.
_UNSURE: Final = 64 * 1024
_CHUNK: Final = 1 << 20


class Sizes(NamedTuple):
    """Bytes in a file of each kind (CompactionLog.getCompactionLogSize)."""

    log: int
    entries: int

    @classmethod
    def of_settings(cls, log: int, entries: int) -> Sizes:
        """As RocketMQ rounds compactionMappedFileSize and compactionCqMappedFileSize."""
        entries = entries // BATCH_ENTRY_SIZE * BATCH_ENTRY_SIZE
        count, rest = divmod(log, entries)
        if count < 5:
            return cls(entries * 5, entries)
        return cls((count if 0 < rest < entries >> 1 else count + 1) * entries, entries)


class Kept(NamedTuple):
    """A record on its way into a compacted log."""

    queue_offset: int
    record: bytes
    tags_code: int
    store_timestamp: int


class Pair:
    """`first` and `last` are queue offsets, -1 without an entry; `end` is where in the file the next record goes."""

    def __init__(self, folders: tuple[Path, Path], base: int, sizes: Sizes) -> None:
        self.base = base
        self.paths = (folders[0] / f"{base:020d}", folders[1] / f"{base:020d}")
        self.first = -1
        self.last = -1
        self.end = 0
        self._sizes = sizes
        self._count = 0
        self._full = False
        self._changed = False

    @property
    def end_offset(self) -> int:
        """The physical offset behind its last record."""
        return self.base + self.end

    # --- writing

    def create(self) -> None:
        for path, size in zip(self.paths, self._sizes, strict=True):
            os.close(create_sized(path, size))
        self._changed = True

    def append(self, records: list[Kept]) -> int:
        """As many of them as there is room for; how many those were. OSError: none of them counts."""
        chunks: list[bytes] = []
        entries: list[bytes] = []
        end, count = self.end, self._count
        for kept in records:
            size = len(kept.record)
            # The last entry of a file says that it is full, and a blank needs its room, too.
            has_no_entry = (count + 1) * BATCH_ENTRY_SIZE >= self._sizes.entries
            if self._full or has_no_entry or size + BLANK_SIZE > self._sizes.log - end:
                self._full = True
                break
            place = self.base + end
            chunks += at_offset(kept.record, place)
            entry = BatchQueueEntry(
                place, size, kept.tags_code, kept.store_timestamp, kept.queue_offset, 1
            )
            entries.append(pack_batch_entry(entry))
            end += size
            count += 1
        if entries:
            self._write(chunks, entries)
            taken = records[: len(entries)]
            self.first = taken[0].queue_offset if self.first < 0 else self.first
            self.last = taken[-1].queue_offset
            self.end, self._count = end, count
        return len(entries)

    def _write(self, chunks: list[bytes], entries: list[bytes]) -> None:
        self._changed = True
        _write(self.paths[0], chunks, self.end)
        _write(self.paths[1], entries, self._count * BATCH_ENTRY_SIZE)

    def cut(self, offset: int) -> None:
        """Without what it has from this queue offset on."""
        index = bisect_left(range(self._count), offset, key=lambda at: self._entry(at).base_offset)
        if index < self._count:
            self._take_up(index)
            self._full = False
            self._cut()

    def finish(self) -> None:
        """It is full: nothing will be added."""
        self._changed = True
        room = self._sizes.log - self.end
        if room >= BLANK_SIZE:
            _write(self.paths[0], [encode_blank(room)], self.end)
        if (self._count + 1) * BATCH_ENTRY_SIZE <= self._sizes.entries:
            _write(self.paths[1], [END_ENTRY], self._count * BATCH_ENTRY_SIZE)
        self._full = True

    def sync(self) -> None:
        """What was written survives a power loss."""
        if self._changed:
            self._changed = False
            try:
                for path in self.paths:
                    sync_file(path)
            except OSError:
                self._changed = True
                raise

    # --- reading

    def entries(self, offset: int, most: int) -> list[BatchQueueEntry]:
        """From the first one on whose queue offset is not below `offset`."""
        index = bisect_left(range(self._count), offset, key=lambda at: self._entry(at).base_offset)
        count = min(most, self._count - index)
        data = read_file(self.paths[1], index * BATCH_ENTRY_SIZE, count * BATCH_ENTRY_SIZE)
        return parse_batch_entries(data)

    def last_before(self, offset: int) -> BatchQueueEntry | None:
        """The last entry whose queue offset is below `offset`."""
        index = bisect_left(range(self._count), offset, key=lambda at: self._entry(at).base_offset)
        return self._entry(index - 1) if index else None

    @property
    def last_stored(self) -> int:
        """The store timestamp of its last message; 0 without any."""
        return self._entry(self._count - 1).store_timestamp if self._count else 0

    def read(self, entries: list[BatchQueueEntry]) -> list[bytes]:
        """The records of some entries that follow each other."""
        return [kept.record for kept in self._kept(entries)]

    def records(self) -> Iterator[Kept]:
        """All of them, in order."""
        index = 0
        while index < self._count:
            count = min(_LOOK, self._count - index)
            data = read_file(self.paths[1], index * BATCH_ENTRY_SIZE, count * BATCH_ENTRY_SIZE)
            entries = parse_batch_entries(data)
            yield from self._kept(entries)
            index += len(entries)

    def _kept(self, entries: list[BatchQueueEntry]) -> Iterator[Kept]:
        """A piece of the file at a time; records touch each other."""
        begin = 0
        while begin < len(entries):
            start = entries[begin].physical_offset
            end = begin + 1
            while end < len(entries) and entries[end].physical_offset - start < _CHUNK:
                end += 1
            last = entries[end - 1]
            data = read_file(
                self.paths[0], start - self.base, last.physical_offset + last.size - start
            )
            for entry in entries[begin:end]:
                at = entry.physical_offset - start
                record = data[at : at + entry.size]
                yield Kept(entry.base_offset, record, entry.tags_code, entry.store_timestamp)
            begin = end

    # --- opening

    def load(self, is_last: bool) -> None:
        """Find its entries. In the last file of a queue, those that a power loss has left without a record go."""
        count = self._valid_entries()
        if is_last:
            count = self._sound_entries(self._unbroken_entries(count))
        self._take_up(count)
        if is_last and not self._ends_there():
            self._cut()

    def _take_up(self, count: int) -> None:
        self._count = count
        if not count:
            self.first = self.last = -1
            self.end = 0
        else:
            first, last = self._entry(0), self._entry(count - 1)
            self.first, self.last = first.base_offset, last.base_offset
            self.end = last.physical_offset + last.size - self.base

    def _valid_entries(self) -> int:
        """How many there are, if they are one behind the other."""
        most = self._sizes.entries // BATCH_ENTRY_SIZE
        return bisect_left(range(most), True, key=lambda at: not self._is_valid(self._entry(at)))

    def _unbroken_entries(self, count: int) -> int:
        """Up to the first one that is missing among the last: the disk had not got it yet."""
        index = max(count - _UNSURE, 0)
        while index < count:
            size = min(_LOOK, count - index) * BATCH_ENTRY_SIZE
            for entry in parse_batch_entries(
                read_file(self.paths[1], index * BATCH_ENTRY_SIZE, size)
            ):
                if not self._is_valid(entry):
                    return index
                index += 1
        return count

    def _is_valid(self, entry: BatchQueueEntry) -> bool:
        place = entry.physical_offset - self.base
        return (
            entry.size > 0
            and entry.count > 0
            and entry.base_offset >= 0
            and 0 <= place <= self._sizes.log - entry.size
        )

    def _sound_entries(self, count: int) -> int:
        """Without those at the end whose record was not written when the power failed."""
        while count:
            entry = self._entry(count - 1)
            head = read_file(self.paths[0], entry.physical_offset - self.base, HEAD_SIZE)
            if (
                len(head) == HEAD_SIZE
                and size_at(head) == entry.size
                and queue_offset_at(head) == entry.base_offset
            ):
                return count
            count -= 1
        return 0

    def _entry(self, index: int) -> BatchQueueEntry:
        data = read_file(self.paths[1], index * BATCH_ENTRY_SIZE, BATCH_ENTRY_SIZE)
        return parse_batch_entries(data)[0]

    def _ends_there(self) -> bool:
        """Whether nothing follows the last entry but what belongs there; an end entry makes it full."""
        at = self._count * BATCH_ENTRY_SIZE
        data = read_file(self.paths[1], at, BATCH_ENTRY_SIZE)
        self._full = data == END_ENTRY or len(data) < BATCH_ENTRY_SIZE
        return self._full or not any(data)

    def _cut(self) -> None:
        fd = os.open(self.paths[1], os.O_RDWR | os.O_CLOEXEC)
        try:
            zero_from(fd, self._count * BATCH_ENTRY_SIZE, self._sizes.entries)
        finally:
            os.close(fd)
        self._changed = True


def _write(path: Path, chunks: list[bytes], position: int) -> None:
    fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        write_fully(fd, chunks, position)
    finally:
        os.close(fd)
