"""Writing index files to the disk, in a worker thread: given all it needs, it touches files only.

The slots are copied first, so that the table can change again long before the disk has them.

The order makes a crash at any moment harmless. First the entries, after those that the header
counts, and a sync: nothing points to them yet. Then the checkpoint gets the timestamp that the
headers are about to have: a real broker that finds a file beyond it after a crash deletes the file.
Then slots and headers, and a sync. After a crash in between, recovery drops the entries that the
checkpoint's physical offset does not vouch for, and sets slots that point to them back.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from mmap import mmap
from pathlib import Path

from trimq.codec.entries.index import HEADER_SIZE, SLOT_SIZE
from trimq.store import native
from trimq.store.disk.files import (
    create_sized,
    make_durable_directory,
    remove,
    sync_data,
    sync_directory,
    write_fully,
)


class FileWriting:
    """What one file lacks: new entries, changed slots, its header."""

    __slots__ = (
        "_copy",
        "copied",
        "count",
        "entries",
        "entries_position",
        "first_header",
        "header",
        "path",
        "runs",
        "size",
        "slots",
    )

    def __init__(self, path: str, size: int, slots: memoryview[int]) -> None:
        self.path = path
        self.size = size
        self.slots = slots
        """Nobody changes them before they are copied."""
        self.copied = False
        self._copy: mmap | None = None
        self.runs: list[tuple[int, int]] = []
        """First slot and the slot behind, for every run of changed ones."""
        self.entries: list[bytes] = []
        self.entries_position = 0
        self.header = b""
        self.first_header = b""
        """Of a file that is not there yet."""
        self.count = 0
        """How many entries the file has then."""

    def copy_slots(self) -> None:
        """Copy what is to be written of the table, into memory that is returned to the kernel."""
        count = sum(end - first for first, end in self.runs)
        if count:
            self._copy = mmap(-1, count * SLOT_SIZE)
            native.copy_slots(self.slots, self.runs, self._copy)
        self.copied = True

    def write_entries(self) -> None:
        fd = self._create() if self.first_header else self._open()
        try:
            write_fully(fd, self.entries, self.entries_position)
            sync_data(fd)
        finally:
            os.close(fd)

    def _create(self) -> int:
        path = Path(self.path)
        make_durable_directory(path.parent)
        fd = create_sized(path, self.size)
        write_fully(fd, [self.first_header], 0)
        sync_directory(path.parent)
        return fd

    def _open(self) -> int:
        return os.open(self.path, os.O_RDWR | os.O_CLOEXEC)

    def write_slots(self) -> None:
        fd = self._open()
        try:
            if self._copy is not None:
                self._write_copy(fd, self._copy)
            write_fully(fd, [self.header], 0)
            sync_data(fd)
        finally:
            os.close(fd)

    def _write_copy(self, fd: int, copied: mmap) -> None:
        at = 0
        for first, end in self.runs:
            size = (end - first) * SLOT_SIZE
            write_fully(fd, [copied[at : at + size]], HEADER_SIZE + first * SLOT_SIZE)
            at += size
        self._copy = None
        copied.close()


class IndexWriting:
    """What all files lack, the oldest first, and files that are to be removed."""

    def __init__(self, files: list[FileWriting], end_timestamp: int, expired: list[str]) -> None:
        self.done = False
        self.expired = expired
        self._files = files
        self._end_timestamp = end_timestamp

    def copy(self) -> None:
        """Call it before anything that waits for the disk: until then no key is entered the fast way."""
        for file in self._files:
            if not file.copied:
                file.copy_slots()

    def run(self, vouch: Callable[[int], None]) -> None:
        """After `copy`. Blocks on the disk; `vouch` writes the timestamp to the checkpoint. OSError: not done."""
        for file in self._files:
            file.write_entries()
        vouch(self._end_timestamp)
        for file in self._files:
            file.write_slots()
        for path in self.expired:
            with suppress(FileNotFoundError):
                remove(path)
        self.done = True
