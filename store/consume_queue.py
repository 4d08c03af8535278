"""One consume queue: for every message of a queue an entry of 20 bytes (ConsumeQueue).

Files `consumequeue/<topic>/<queue id>/%020d`, named by the byte position of their first entry;
entry i of a queue is at byte 20 * i. Entries are written behind: they are collected in memory,
where readers see them, and `write_out` brings them to the files. What a crash takes of them is
rebuilt from the commit log.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from trimq.codec.queue_entry import ENTRY_SIZE, QueueEntry, pack, pack_all, parse, parse_all
from trimq.store.errors import StoreDamaged
from trimq.store.files import (
    OpenFiles,
    create_sized,
    first_data,
    make_directories,
    queue_parents,
    remove,
    remove_directory,
    write_fully,
    zero_from,
)
from trimq.store.message import Dispatched
from trimq.store.queue_bounds import FILLER_SIZE, Bounds
from trimq.store.queue_extension import MAX_ADDRESS, QueueExtension
from trimq.store.queue_loading import BLOCK, equal_entries, queue_file_names, valid_entries

FILLER: Final = pack(0, FILLER_SIZE, 0)


class ConsumeQueue:
    """Offsets count entries. `max_offset` is what readers see, `next_offset` includes staged."""

    __slots__ = (
        "_directory",
        "_open_files",
        "_per_file",
        "_read_base",
        "_read_path",
        "_tail",
        "_written",
        "dirty",
        "extension",
        "first_file",
        "max_offset",
        "min_offset",
        "next_offset",
        "queue_id",
        "topic",
    )

    def __init__(
        self, topic: str, queue_id: int, directory: str, per_file: int, open_files: OpenFiles
    ) -> None:
        self.topic = topic
        self.queue_id = queue_id
        self.min_offset = 0
        self.max_offset = 0
        self.next_offset = 0
        self.dirty = False
        # Entry number the first file begins with; -1 while there is no file.
        self.first_file = -1
        # What tags codes that are addresses point to; None while there is nothing of the kind.
        self.extension: QueueExtension | None = None
        self._directory = directory
        self._per_file = per_file
        self._open_files = open_files
        self._written = 0
        self._tail = bytearray()
        self._read_base = -1
        self._read_path = ""

    # --- writing

    def append(self, physical_offset: int, size: int, tags_code: int) -> None:
        self._tail += pack(physical_offset, size, tags_code)
        self.max_offset += 1

    def append_all(self, messages: list[Dispatched], start: int, end: int) -> None:
        """Entries for the messages from `start` up to `end`."""
        if end - start == 1:
            message = messages[start]
            self.append(message.physical_offset, message.size, message.tags_code)
            return
        fields: list[int] = []
        for index in range(start, end):
            message = messages[index]
            fields.append(message.physical_offset)
            fields.append(message.size)
            fields.append(message.tags_code)
        self._tail += pack_all(fields)
        self.max_offset += end - start

    @property
    def unwritten_bytes(self) -> int:
        return len(self._tail)

    def write_out(self) -> None:
        """Write what is still in memory. OSError: try again."""
        if self.extension is not None:
            # Before the entries that point into it.
            self.extension.write_out()
        while self._tail:
            index = self._written % self._per_file
            base = self._written - index
            room = (self._per_file - index) * ENTRY_SIZE
            piece = bytes(self._tail[:room])
            path = self._path(base)
            write_fully(self._fd_for_writing(path, base, index), [piece], index * ENTRY_SIZE)
            self._written += len(piece) // ENTRY_SIZE
            del self._tail[: len(piece)]
            self._open_files.unsynced.add_file(path)

    def _fd_for_writing(self, path: str, base: int, index: int) -> int:
        try:
            fd = self._open_files.get(path)
        except FileNotFoundError:
            make_directories(self._directory)
            fd = self._open_files.add(path, create_sized(Path(path), self._per_file * ENTRY_SIZE))
            self._open_files.unsynced.add_directories(queue_parents(self._directory))
        if self.first_file < 0:
            if index:
                write_fully(fd, [FILLER * index], 0)
            self.first_file = base
        return fd

    # --- reading

    def entries(self, offset: int, count: int) -> bytes | None:
        """Up to `count` entries, no further than the end of one file (ConsumeQueueIterator).

        None when the offset is not in the queue or its file is gone.
        """
        if offset < self.min_offset or offset >= self.max_offset:
            return None
        index = offset % self._per_file
        count = min(count, self._per_file - index, self.max_offset - offset)
        data = b""
        in_files = min(count, self._written - offset)
        if in_files > 0:
            try:
                fd = self._open_files.get(self._path_to_read(offset - index))
            except FileNotFoundError:
                return None
            data = os.pread(fd, in_files * ENTRY_SIZE, index * ENTRY_SIZE)
            if in_files == count:
                return data
        start = max(offset - self._written, 0) * ENTRY_SIZE
        return data + self._tail[start : start + count * ENTRY_SIZE - len(data)]

    def entry(self, offset: int) -> QueueEntry | None:
        data = self.entries(offset, 1)
        return parse(data) if data else None

    def tags_code(self, stored: int) -> int:
        """What stands for an entry's tags code, if that is an address; itself when that is lost."""
        if stored > MAX_ADDRESS or self.extension is None:
            return stored
        found = self.extension.tags_code(stored)
        return stored if found is None else found

    def next_file(self, offset: int) -> int:
        """First offset of the file behind (ConsumeQueue.rollNextFile)."""
        return offset + self._per_file - offset % self._per_file

    def _path_to_read(self, base: int) -> str:
        """The same path again and again, while a file is read."""
        if base != self._read_base:
            self._read_base = base
            self._read_path = self._path(base)
        return self._read_path

    def _path(self, base: int) -> str:
        return f"{self._directory}/{base * ENTRY_SIZE:020d}"

    # --- opening, repairing, deleting

    def load(self, bounds: Bounds, expected: int = -1) -> None:
        """Take up the files with the entries that may be believed; `expected`: probably so many."""
        if 0 < expected < self._per_file and self._is_first_file(expected, bounds):
            self.first_file = 0
            self._written = self.max_offset = self.next_offset = expected
            self.correct_min_offset(bounds.log_min)
            return
        names = queue_file_names(
            self._directory, self._per_file * ENTRY_SIZE, bounds, self._open_files
        )
        if not names:
            return
        self.first_file = int(names[0]) // ENTRY_SIZE
        last = int(names[-1]) // ENTRY_SIZE
        if not self._reaches(expected, last, bounds):
            count = self._valid_entries(last, bounds)
            # A file left without a single valid entry is older than its removal: look before it.
            while count == 0 and last > self.first_file:
                last -= self._per_file
                count = self._valid_entries(last, bounds)
            expected = last + count
        self._written = self.max_offset = self.next_offset = expected
        self.correct_min_offset(bounds.log_min)

    def _is_first_file(self, expected: int, bounds: Bounds) -> bool:
        """Whether the queue begins with offset 0: no need to list its files then."""
        try:
            fd = self._open_files.get(self._path(0))
        except FileNotFoundError:
            return False
        whole = os.fstat(fd).st_size == self._per_file * ENTRY_SIZE
        self.first_file = 0
        return whole and self._reaches(expected, 0, bounds)

    def _reaches(self, expected: int, last: int, bounds: Bounds) -> bool:
        """Whether the entry before `expected` is there and may be believed."""
        before = expected - 1
        base = before - before % self._per_file
        if before < 0 or base < self.first_file or base > last:
            return False
        fd = self._open_files.get(self._path(base))
        entry = parse(os.pread(fd, ENTRY_SIZE, (before - base) * ENTRY_SIZE))
        return bounds.hold(entry.physical_offset, entry.size)

    @property
    def is_new(self) -> bool:
        """Whether it never had an entry: it may begin anywhere."""
        return self.first_file < 0 and not self._tail

    def restore(
        self, first: int, entries: bytes, bounds: Bounds, times: Sequence[int] = ()
    ) -> None:
        """Make these entries the queue's end, from offset `first` on; there must be no gap.

        What the files have of them is kept, what they have behind is removed. `times` are store
        timestamps, for the units of a queue with an extension.
        """
        if first < self.max_offset:
            entry = parse(entries)
            if bounds.hold(entry.physical_offset, entry.size):
                entries = entries[(self.max_offset - first) * ENTRY_SIZE :]
                first = self.max_offset
            elif first == 0:
                # The topic was deleted and made again: the new queue has nothing of the old one.
                self.delete()
            else:
                raise StoreDamaged(
                    Path(self._path(first - first % self._per_file)),
                    first % self._per_file * ENTRY_SIZE,
                    f"the message at {entry.physical_offset} of the commit log belongs here, "
                    "but an older one has its place",
                )
        if self.is_new:
            self.min_offset = self.max_offset = self._written = first
        kept = 0 if self._tail else self._keep(entries)
        self.clear_behind()
        self.max_offset = first + kept
        self._add(entries[kept * ENTRY_SIZE :], times)
        self.next_offset = self.max_offset

    def _add(self, entries: bytes, times: Sequence[int]) -> None:
        """Entries behind the last one; with `times` each gets its unit in the extension."""
        if times and self.extension is not None:
            newest = times[len(times) - len(entries) // ENTRY_SIZE :]
            for (place, size, tags_code), time in zip(parse_all(entries), newest, strict=True):
                self.append(place, size, self.extension.put(tags_code, time))
        else:
            self._tail += entries
            self.max_offset += len(entries) // ENTRY_SIZE

    def place_extension(self) -> None:
        """Make the extension ready for the units of new entries."""
        if self.extension is not None:
            self.extension.go_behind(self._last_address())

    def _last_address(self) -> int | None:
        """The address in the last entry that has one; the units behind it are nobody's."""
        end = self.max_offset
        while end > self.min_offset:
            start = max(self.min_offset, end - BLOCK, end - 1 - (end - 1) % self._per_file)
            for _, _, tags_code in reversed(parse_all(self.entries(start, end - start) or b"")):
                if tags_code <= MAX_ADDRESS:
                    return tags_code
            end = start
        return None

    def _keep(self, entries: bytes) -> int:
        """How many of the entries are in the files already; they count as written from now on."""
        kept = 0
        while kept * ENTRY_SIZE < len(entries) and self.first_file >= 0:
            index = self._written % self._per_file
            path = self._path(self._written - index)
            wanted = entries[kept * ENTRY_SIZE :][: (self._per_file - index) * ENTRY_SIZE]
            try:
                fd = self._open_files.get(path)
            except FileNotFoundError:
                break
            found = os.pread(fd, len(wanted), index * ENTRY_SIZE)
            count = equal_entries(found, wanted)
            if count:
                # Whoever wrote them may not have lived to sync them.
                self._open_files.unsynced.add_file(path)
                self._open_files.unsynced.add_directories(queue_parents(self._directory))
            kept += count
            self._written += count
            if count * ENTRY_SIZE < len(wanted):
                break
        return kept

    def clear_behind(self) -> None:
        """Remove what the files hold behind the entries: it must not look true some day."""
        if self.first_file < 0:
            return
        index = self._written % self._per_file
        base = self._written - index
        behind = os.path.exists(self._path(base + self._per_file))
        try:
            fd = self._open_files.get(self._path(base))
        except FileNotFoundError:
            pass
        else:
            size = self._per_file * ENTRY_SIZE
            behind = behind or first_data(fd, index * ENTRY_SIZE, size) < size
        if behind:
            self._truncate_files(self._written)

    def _valid_entries(self, base: int, bounds: Bounds) -> int:
        return valid_entries(self._open_files.get(self._path(base)), self._per_file, bounds)

    def correct_min_offset(self, log_min: int) -> None:
        """The first entry whose record is still in the commit log (ConsumeQueue.correctMinOffset).

        When there is none, the end of the queue: offsets never start again.
        """
        low, high = max(self.first_file, self.min_offset), self.max_offset
        # Mostly the first one is still there; that spares the search.
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
        """Delete the first file if `min_offset` is behind it; its path, or "" if it stays.

        Never the last one that is on the disk: it says where the queue goes on.
        """
        self._trim_extension()
        following = self.first_file + self._per_file
        if self.first_file < 0 or following > self.min_offset or following >= self._written:
            return ""
        path = self._path(self.first_file)
        self._open_files.forget(path)
        with suppress(FileNotFoundError):
            remove(path)
        self._open_files.unsynced.add_directories([self._directory])
        self.first_file = following
        return path

    def _trim_extension(self) -> None:
        """Units before that of the first entry are nobody's (ConsumeQueueExt.truncateByMinAddress)."""
        if self.extension is not None:
            first = self.entry(self.min_offset)
            if first is not None and first.tags_code <= MAX_ADDRESS:
                self.extension.delete_before(first.tags_code)

    def truncate(self, max_offset: int) -> None:
        """Drop the entries from `max_offset` on, in memory and in the files."""
        if max_offset < self._written:
            self._truncate_files(max_offset)
            self._written = max_offset
            self._tail.clear()
        else:
            if max_offset == self._written:
                self._truncate_files(max_offset)
            del self._tail[(max_offset - self._written) * ENTRY_SIZE :]
        self.max_offset = self.next_offset = max_offset
        self.min_offset = min(self.min_offset, max_offset)

    def _truncate_files(self, max_offset: int) -> None:
        if self.first_file < 0:
            return
        base = max_offset - max_offset % self._per_file
        later = base + self._per_file if base != max_offset or base == self.first_file else base
        while os.path.exists(self._path(later)):
            self._open_files.forget(self._path(later))
            remove(self._path(later))
            self._open_files.unsynced.add_directories([self._directory])
            later += self._per_file
        path = self._path(base)
        if os.path.exists(path):
            # Unsynced, the old entries could come back and be vouched for by a later checkpoint.
            self._open_files.unsynced.add_file(path)
            zero_from(
                self._open_files.get(path),
                (max_offset - base) * ENTRY_SIZE,
                self._per_file * ENTRY_SIZE,
            )

    def delete(self) -> None:
        """Remove files and directory; the queue is then as one that never had an entry."""
        if os.path.isdir(self._directory):
            for name in os.listdir(self._directory):
                path = f"{self._directory}/{name}"
                self._open_files.forget(path)
                remove(path)
            remove_directory(self._directory)
            self._open_files.unsynced.add_directories([os.path.dirname(self._directory)])
        if self.extension is not None:
            self.extension.delete()
        self._tail.clear()
        self.first_file = -1
        self._written = self.min_offset = self.max_offset = self.next_offset = 0
