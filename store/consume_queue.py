"""One consume queue: for every message of a queue an entry of 20 bytes (ConsumeQueue).

Files `consumequeue/<topic>/<queue id>/%020d`, named by the byte position of their first entry;
entry i of a queue is at byte 20 * i. Entries are written behind: they are collected in memory,
where readers see them, and `write_out` brings them to the files. What a crash takes of them is
rebuilt from the commit log.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from codec.queue_entry import ENTRY_SIZE, QueueEntry, pack, parse, parse_all
from store.errors import StoreDamaged
from store.files import (
    OpenFiles,
    create_sized,
    make_directories,
    remove,
    remove_directory,
    resize,
    write_fully,
    zero_from,
)

# Stands where a queue begins in the middle of a file: "nothing here" (ConsumeQueue.fillPreBlank).
FILLER_SIZE: Final = 0x7FFFFFFF
# Entries in one look for a file's end: more than a page, with its hole behind, has.
BLOCK: Final = 256
FILLER: Final = pack(0, FILLER_SIZE, 0)


class ConsumeQueue:
    """Offsets count entries. `max_offset` is what readers see, `next_offset` includes staged."""

    __slots__ = (
        "_directory",
        "_open_files",
        "_per_file",
        "_tail",
        "_written",
        "dirty",
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
        self._directory = directory
        self._per_file = per_file
        self._open_files = open_files
        self._written = 0
        self._tail = bytearray()

    # --- writing

    def append(self, physical_offset: int, size: int, tags_code: int) -> None:
        self._tail += pack(physical_offset, size, tags_code)
        self.max_offset += 1

    def append_at(self, queue_offset: int, physical_offset: int, size: int, tags_code: int) -> None:
        """Put an entry where its record says; what stood there and behind it is obsolete.

        An empty queue may begin anywhere, a longer one must not get a gap.
        """
        if queue_offset < self.min_offset:
            # The topic was deleted and made again: its new queue has nothing of the old one.
            self.delete()
        if self.first_file < 0 and not self._tail:
            self.min_offset = self.max_offset = self._written = queue_offset
        elif queue_offset < self.max_offset:
            self.truncate(queue_offset)
        self.append(physical_offset, size, tags_code)
        self.next_offset = self.max_offset

    @property
    def unwritten_bytes(self) -> int:
        return len(self._tail)

    def write_out(self) -> None:
        """Write what is still in memory. OSError: try again."""
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
            changed = [*make_directories(self._directory), self._directory]
            fd = self._open_files.add(path, create_sized(Path(path), self._per_file * ENTRY_SIZE))
            self._open_files.unsynced.add_directories(changed)
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
                fd = self._open_files.get(self._path(offset - index))
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

    def next_file(self, offset: int) -> int:
        """First offset of the file behind (ConsumeQueue.rollNextFile)."""
        return offset + self._per_file - offset % self._per_file

    def files(self) -> list[tuple[int, int]]:
        """First offset and number of entries of every file, the one being written included."""
        if self.max_offset == 0 or (self.first_file < 0 and not self._tail):
            return []
        first = self.first_file
        if first < 0:
            first = self._written - self._written % self._per_file
        bases = range(first, self.max_offset, self._per_file)
        return [(base, min(self._per_file, self.max_offset - base)) for base in bases]

    def _path(self, base: int) -> str:
        return f"{self._directory}/{base * ENTRY_SIZE:020d}"

    # --- opening, repairing, deleting

    def load(self, log_min: int, log_end: int) -> None:
        """Take up the files. Entries that point behind the end of the commit log are removed."""
        names = self._names()
        if not names:
            return
        self.first_file = int(names[0]) // ENTRY_SIZE
        last = int(names[-1]) // ENTRY_SIZE
        count = self._valid_entries(last, log_end)
        # A file left without a single valid entry is older than its removal: look before it.
        while count == 0 and last > self.first_file:
            last -= self._per_file
            count = self._valid_entries(last, log_end)
        self._written = self.max_offset = last + count
        if self._has_rest(names):
            self.truncate(self.max_offset)
        self.next_offset = self.max_offset
        self.correct_min_offset(log_min)

    def _names(self) -> list[str]:
        try:
            names = sorted(name for name in os.listdir(self._directory) if name.isdigit())
        except FileNotFoundError:
            return []
        full = self._per_file * ENTRY_SIZE
        for at, name in enumerate(names):
            path = f"{self._directory}/{name}"
            length = os.stat(path).st_size
            if length < full and at == len(names) - 1:
                resize(path, full)
            elif length != full:
                raise StoreDamaged(
                    Path(path),
                    length,
                    f"that is its length; mappedFileSizeConsumeQueue says {full}",
                )
            if at and int(name) != int(names[at - 1]) + full:
                raise StoreDamaged(Path(path), 0, "the file before it is missing")
        return names

    def _valid_entries(self, base: int, log_end: int) -> int:
        """How many entries a file holds: they fill it from its start, zeros follow.

        Mostly the end lies in the last block that is no hole; that one is looked at first.
        """
        fd = self._open_files.get(self._path(base))
        high = min(self._per_file, os.lseek(fd, 0, os.SEEK_HOLE) // ENTRY_SIZE + 1)
        low = max(high - BLOCK, 0)
        data = os.pread(fd, (high - low) * ENTRY_SIZE, low * ENTRY_SIZE)
        # Most queues of a large store are short: that many zeros need no look each.
        entries = -(-len(data.rstrip(b"\0")) // ENTRY_SIZE)
        block = parse_all(data[: entries * ENTRY_SIZE])
        if low == 0 or (block and is_valid(block[0][0], block[0][1], log_end)):
            return low + leading_entries(block, log_end)
        low, high = 0, low
        while low < high:
            middle = (low + high) // 2
            entry = parse(os.pread(fd, ENTRY_SIZE, middle * ENTRY_SIZE))
            if is_valid(entry.physical_offset, entry.size, log_end):
                low = middle + 1
            else:
                high = middle
        return low

    def _has_rest(self, names: list[str]) -> bool:
        """Whether anything stands behind the last valid entry."""
        last_file = int(names[-1]) // ENTRY_SIZE
        index = self.max_offset - last_file
        if index < 0:
            return True
        if index >= self._per_file:
            return False
        fd = self._open_files.get(self._path(last_file))
        return any(os.pread(fd, ENTRY_SIZE, index * ENTRY_SIZE))

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

    def drop_behind(self, log_end: int) -> None:
        """Drop the entries of records that the commit log has lost."""
        low, high = self.min_offset, self.max_offset
        # Mostly the last one is still good; that spares the search.
        middle = high - 1
        while low < high:
            entry = self.entry(middle)
            if entry is not None and is_valid(entry.physical_offset, entry.size, log_end):
                low = middle + 1
            else:
                high = middle
            middle = (low + high) // 2
        if low < self.max_offset:
            self.truncate(low)

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
        self._tail.clear()
        self.first_file = -1
        self._written = self.min_offset = self.max_offset = self.next_offset = 0


def leading_entries(block: list[tuple[int, int, int]], log_end: int) -> int:
    """How many of the entries are valid and in the order of the log, from the first on."""
    before = -1
    for index, (physical_offset, size, _) in enumerate(block):
        if not is_valid(physical_offset, size, log_end):
            return index
        if physical_offset <= before and size != FILLER_SIZE:
            return index
        before = physical_offset if size != FILLER_SIZE else -1
    return len(block)


def is_valid(physical_offset: int, size: int, log_end: int) -> bool:
    """Whether it is a filler or points to a record that lies wholly before the log's end."""
    if size == FILLER_SIZE:
        return physical_offset == 0
    return size > 0 and 0 <= physical_offset <= log_end - size
