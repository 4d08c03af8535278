"""The timer log: one record of 52 bytes for each message on the wheel, in files `timerlog/%020d` (TimerLog).

A record names the message's place in the commit log and the record before it in the same slot. Files
have one full length; when a record and a blank no longer fit, a blank ends the file.

Appending only adds to memory and cannot fail; `write` brings it to the files. What is in memory only
counts as not yet entered when the process is killed: it is read from its queue again.

`sync` and `read_blocking` are for worker threads; everything else runs on the loop's thread.

Hot: compiled by mypyc when a compiler is there.
"""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Final

from trimq.codec.entries.timer import (
    BLANK_SIZE,
    RECORD_SIZE,
    TimerRecord,
    pack_timer_blank,
    parse_timer_record,
)
from trimq.store.disk.files import (
    OpenFiles,
    create_sized,
    remove,
    resize,
    store_error,
    sync_directory,
    sync_file,
    write_fully,
    zero_from,
)
from trimq.store.disk.system import NOWAIT, UNSUPPORTED
from trimq.store.errors import StoreDamaged

log = logging.getLogger("trimq.store")

_OPEN_FILES: Final = 8
# What this process appended last is certainly in the page cache.
_HOT_BYTES: Final = 8 * 1024 * 1024
_DIGITS: Final = 20


class TimerLog:
    """`end` is where the next record goes, `written` how far the files have it. Positions are bytes."""

    def __init__(self, directory: Path, file_size: int) -> None:
        """`file_size` is mappedFileSizeTimerLog; files that are there keep theirs."""
        self.directory = directory
        self.file_size = file_size
        self.end = 0
        self.written = 0
        self.deleted_files = 0
        self._bases: list[int] = []
        self._runs: list[tuple[int, bytearray]] = []
        self._files = OpenFiles(_OPEN_FILES)
        self._unsynced: set[int] = set()
        self._new_file = False
        self._opened_at = 0
        self._nowait = NOWAIT != 0

    # --- opening and closing

    def load(self) -> None:
        """Find the files; `end` is then behind the last of them, until `start_at` says better.

        StoreDamaged: they do not follow each other.
        """
        if not self.directory.is_dir():
            if os.path.lexists(self.directory):
                raise StoreDamaged(self.directory, 0, "it is no folder")
            return
        paths = sorted(
            path
            for path in self.directory.iterdir()
            if path.name.isdigit() and len(path.name) == _DIGITS
        )
        if not paths:
            return
        # One that a killed process was about to make has no length yet.
        if paths[0].stat().st_size >= RECORD_SIZE + BLANK_SIZE:
            self.file_size = paths[0].stat().st_size
        for path in paths:
            base = int(path.name)
            if base % self.file_size or (self._bases and base != self._bases[-1] + self.file_size):
                raise StoreDamaged(path, 0, "the timer log's file before it is missing")
            if path.stat().st_size != self.file_size:
                if path is not paths[-1] or not path.is_file():
                    raise StoreDamaged(path, path.stat().st_size, "that is its length")
                resize(path, self.file_size)
            self._bases.append(base)
        self.written = self.end = self._bases[-1] + self.file_size

    def start_at(self, end: int) -> None:
        """Everything from `end` on is not part of the log. Blocks."""
        while self._bases and self._bases[-1] >= end and self._bases[-1] > 0:
            base = self._bases.pop()
            self._files.forget(self._path(base))
            remove(self._path(base))
        if self._bases and end < self._bases[-1] + self.file_size:
            fd = self._files.get(self._path(self._bases[-1]))
            zero_from(fd, end - self._bases[-1], self.file_size)
            self._unsynced.add(self._bases[-1])
        self.written = self.end = self._opened_at = end

    def close(self) -> None:
        self._files.close()

    @property
    def begin(self) -> int:
        """Position of the first record there is."""
        return self._bases[0] if self._bases else self.end

    def _path(self, base: int) -> str:
        return str(self.directory / f"{base:020d}")

    def base_of(self, position: int) -> int:
        return position - position % self.file_size

    # --- appending

    def append(self, record: bytes) -> int:
        """Where it is now."""
        room = self.file_size - self.end % self.file_size
        if not self._runs:
            self._runs.append((self.end, bytearray()))
        if room < RECORD_SIZE + BLANK_SIZE:
            self._runs[-1][1].extend(pack_timer_blank(room))
            self.end += room
            self._runs.append((self.end, bytearray()))
        position = self.end
        self._runs[-1][1].extend(record)
        self.end += len(record)
        return position

    @property
    def unwritten(self) -> int:
        """Bytes that are in memory only."""
        return self.end - self.written

    def write(self) -> None:
        """Bring what was appended to the files. StoreError: it stays, for the next call."""
        try:
            for start, data in self._runs:
                if data:
                    base = self.base_of(start)
                    write_fully(self._file(base), [bytes(data)], start - base)
                    self._unsynced.add(base)
        except OSError as error:
            raise store_error(error, "appending to the timer log") from error
        self._runs = []
        self.written = self.end

    def _file(self, base: int) -> int:
        path = self._path(base)
        if base in self._bases:
            return self._files.get(path)
        fd = self._files.add(path, create_sized(Path(path), self.file_size))
        self._bases.append(base)
        self._new_file = True
        return fd

    # --- flushing

    def take_unsynced(self) -> tuple[list[str], bool]:
        """What `sync_files` has to sync: files, and whether their directory changed."""
        taken = [self._path(base) for base in sorted(self._unsynced)], self._new_file
        self._unsynced = set()
        self._new_file = False
        return taken

    def not_synced(self, taken: tuple[list[str], bool]) -> None:
        """They are synced with the next ones."""
        self._unsynced.update(int(Path(path).name) for path in taken[0])
        self._new_file = self._new_file or taken[1]

    def sync_files(self, taken: tuple[list[str], bool]) -> None:
        """Blocks until they are on the disk (worker thread). StoreError."""
        try:
            for path in taken[0]:
                sync_file(path)
            if taken[1]:
                sync_directory(self.directory)
                sync_directory(self.directory.parent)
        except FileNotFoundError:
            # Deleted with the messages that it was about.
            return
        except OSError as error:
            raise store_error(error, "flushing the timer log") from error

    # --- reading

    def contains(self, position: int) -> bool:
        """Whether a whole record may be there."""
        return (
            bool(self._bases)
            and self._bases[0] <= position
            and position + RECORD_SIZE <= self.written
            and position % self.file_size + RECORD_SIZE <= self.file_size
        )

    def read_now(self, position: int, size: int) -> bytes | None:
        """Bytes of one file; None when that would wait for the disk."""
        base = self.base_of(position)
        if position >= max(self._opened_at, self.written - _HOT_BYTES):
            return os.pread(self._files.get(self._path(base)), size, position - base)
        if not self._nowait:
            return None
        buffer = bytearray(size)
        try:
            fd = self._files.get(self._path(base))
            count = os.preadv(fd, [buffer], position - base, NOWAIT)
        except OSError as error:
            # Mostly it would wait; where the file system does not support the flag, it is not asked again.
            self._nowait = error.errno not in UNSUPPORTED
            return None
        return bytes(buffer) if count == size else None

    def read_blocking(self, position: int, size: int) -> bytes:
        """The same, however long it takes (worker thread). Empty when the file is gone."""
        base = self.base_of(position)
        try:
            fd = os.open(self._path(base), os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return b""
        try:
            return os.pread(fd, size, position - base)
        finally:
            os.close(fd)

    def record(self, position: int) -> TimerRecord | None:
        """Blocks, if it is not in memory."""
        if not self.contains(position):
            return None
        data = self.read_blocking(position, RECORD_SIZE)
        return parse_timer_record(data) if len(data) == RECORD_SIZE else None

    def last_unit(self) -> int:
        """Where in a full file its last record is (TimerLog.getOffsetForLastUnit)."""
        return (self.file_size - RECORD_SIZE - BLANK_SIZE) // RECORD_SIZE * RECORD_SIZE

    def before(self, position: int) -> int:
        """Where the record before that position is; -1 when there is none."""
        base = self.base_of(position)
        if position > base:
            # Behind a full file's last record is its blank.
            at = min(position - base - RECORD_SIZE, self.last_unit())
            return base + at if at >= 0 and base in self._bases else -1
        return (
            base - self.file_size + self.last_unit() if base - self.file_size in self._bases else -1
        )

    # --- letting go

    def delete_before(self, min_physical_offset: int) -> list[str]:
        """Delete the files whose records are all about messages that are gone; never the last one.

        As CleanTimerLogService does, by the last record of each file.
        """
        deleted = []
        while len(self._bases) > 1:
            base = self._bases[0]
            if base + self.last_unit() + RECORD_SIZE > self.written:
                break
            last = self.record(base + self.last_unit())
            if last is None or last.physical_offset >= min_physical_offset:
                break
            self._bases.pop(0)
            self._unsynced.discard(base)
            self._files.forget(self._path(base))
            try:
                remove(self._path(base))
            except OSError as error:
                raise store_error(error, f"deleting {self._path(base)}") from error
            self.deleted_files += 1
            log.info("timer-log file deleted path=%s", self._path(base))
            deleted.append(self._path(base))
        return deleted
