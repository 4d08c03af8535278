"""The commit log: every message of every topic in the order of arrival (CommitLog).

Files of one full length, named by the physical offset of their first byte. A record never
crosses files: when it and a blank of 8 bytes no longer fit, the rest of the file is declared
blank and the record goes to the next file.

Appending has two steps. `place` and `add` put records into the staging list, `write` brings all of
them to the files with one system call per file and makes them visible; when that fails, none of
them has happened. Everything here runs on one thread, except `flush`.

What may happen to a record's bytes (`flushed` <= `written` <= end of what is staged, always):

| state   | where it lies             | who sees it     | ends by                                            |
|---------|---------------------------|-----------------|----------------------------------------------------|
| staged  | the list of `Run`s        | nobody          | `write` -> written; `discard`, failing -> forgotten |
| written | page cache, below `written` | readers, kill -9 | `flush` -> flushed                               |
| flushed | disk, below `flushed`     | and power losses | `remove_oldest`, with its whole file              |

The log itself is writable, or broken for good: after a failed sync, or a failed write that could not
be taken back. Then `write` raises and readers go on; only opening the store again repairs it.

Hot: compiled by mypyc when a compiler is there.
"""

from __future__ import annotations

import errno
import os
import threading
from pathlib import Path

from trimq.codec.records.record import BLANK_SIZE, encode_blank
from trimq.store.disk.files import (
    OpenFiles,
    create_sized,
    last_data,
    remove,
    resize,
    store_error,
    sync_data,
    sync_directory,
    write_fully,
    zero_from,
)
from trimq.store.disk.system import NOWAIT
from trimq.store.errors import StoreDamaged, StoreError, StoreNotWritable, WrongFileSize
from trimq.store.log.page_cache import MappedFile, PageCache
from trimq.store.log.paths import LogPaths
from trimq.store.log.segment import Run, Segment


class CommitLog:
    """`written` is the end of what readers may see, `flushed` the end of what survives a power loss."""

    def __init__(
        self, paths: LogPaths, file_size: int, open_files: OpenFiles, hot_bytes: int
    ) -> None:
        self.paths = paths
        self.file_size = file_size
        self.segments: list[Segment] = []
        self.written = 0
        self.flushed = 0
        self.pages = PageCache(file_size)
        self._open_files = open_files
        self._hot_bytes = hot_bytes
        self._opened_at = 0
        self._staged_end = 0
        self._file_end = 0
        self._run = Run(0)
        self._runs: list[Run] = []
        self._new_file = False
        self._nowait = NOWAIT != 0
        self._broken = ""
        self._flush_lock = threading.Lock()

    # --- opening and closing

    def load(self, vouched: int | None) -> None:
        """Find the files; `written` is then the end of the last one, until `start_at` says better.

        `vouched`: files with bytes after this offset, and the last one, may be too short and get
        their length back; None after a clean stop, when none may be. StoreDamaged: nothing was
        changed.
        """
        self.paths.make()
        files = self.paths.files()
        check_file_size(files, self.file_size)
        short: list[Path] = []
        empty: Path | None = None
        for path in files:
            base = int(path.name)
            length = path.stat().st_size
            last = path is files[-1]
            if length == 0 and last and (vouched is None or len(files) > 1):
                empty = path
                break
            if length != self.file_size:
                excused = vouched is not None and (last or base + self.file_size > vouched)
                if not excused or length > self.file_size:
                    raise StoreDamaged(
                        path,
                        length,
                        f"that is its length; mappedFileSizeCommitLog says {self.file_size}",
                    )
                short.append(path)
            if self.segments and base != self.segments[-1].base + self.file_size:
                raise StoreDamaged(path, 0, "the file before it is missing")
            self.segments.append(Segment(base, str(path)))
            self.written = base + self.file_size
        for path in short:
            resize(path, self.file_size)
        if empty is not None:
            remove(empty)

    def start_at(self, end: int, durable: int) -> int:
        """Everything from `end` on is not part of the log: remove it and append there.

        What lies between `durable` and `end` is synced by the next `flush`. Blocks on the disk when
        there is something to remove: if half of it came back with the next power loss, it would
        look like records. Returns how many bytes that was.
        """
        dropped = 0
        while len(self.segments) > 1 and self.segments[-1].base >= end:
            segment = self.segments.pop()
            dropped += self._bytes_behind(segment, 0)
            self._forget(segment)
            remove(segment.path)
            # One by one, from the last: a hole between files would be refused.
            sync_directory(os.path.dirname(segment.path))
        for segment in self.segments:
            if segment.base + self.file_size > min(durable, end):
                segment.fd = os.open(segment.path, os.O_RDWR | os.O_CLOEXEC)
        if self.segments and end < self.segments[-1].base + self.file_size:
            dropped += self._clear(self.segments[-1], end)
        self.written = end
        self.flushed = min(durable, end)
        self._new_file = durable < end
        self._opened_at = end
        self._stage_from(end)
        return dropped

    def _clear(self, segment: Segment, end: int) -> int:
        """Make the file a hole from `end` on, if it is not one."""
        position = end - segment.base
        room = self.file_size - position
        dropped = self._bytes_behind(segment, position)
        if not dropped:
            return 0
        head = os.pread(segment.fd, BLANK_SIZE, position)
        zero_from(segment.fd, position, self.file_size)
        sync_data(segment.fd)
        # A blank without a file after it does not mean a lost record.
        return 0 if dropped == BLANK_SIZE and head == encode_blank(room) else dropped

    def _bytes_behind(self, segment: Segment, position: int) -> int:
        """From `position` to the last byte that is not zero."""
        end = last_data(self._fd_of(segment), position, self.file_size)
        return end - position

    def close(self) -> None:
        for segment in self.segments:
            if segment.fd >= 0:
                os.close(segment.fd)
                segment.fd = -1
        self.segments.clear()
        self.pages.clear()

    # --- appending

    @property
    def writable(self) -> bool:
        return not self._broken

    def fits(self, size: int) -> bool:
        """Whether records of that size together fit into one file at all."""
        return size + BLANK_SIZE <= self.file_size

    def place(self, size: int) -> int:
        """The physical offset for the next `size` bytes, which must lie in one file."""
        if size + BLANK_SIZE > self._file_end - self._staged_end:
            return self._file_end
        return self._staged_end

    def add(self, position: int, record: bytes) -> None:
        """Stage a record where `place` said, or after the one staged last."""
        if position != self._staged_end:
            self._roll()
        self._run.chunks.append(record)
        self._staged_end = position + len(record)

    def _roll(self) -> None:
        """Declare the rest of the file blank and continue in the next one."""
        room = self._file_end - self._staged_end
        if room >= BLANK_SIZE:
            self._run.chunks.append(encode_blank(room))
        self._run = Run(self._file_end)
        self._runs.append(self._run)
        self._file_end += self.file_size

    def discard(self) -> None:
        """Forget what is staged."""
        self._stage_from(self.written)

    def _stage_from(self, position: int) -> None:
        self._staged_end = position
        self._file_end = position - position % self.file_size + self.file_size
        self._run = Run(position)
        self._runs = [self._run]

    def write(self) -> None:
        """Write the staged records to the files. Raises StoreError, and then none of them is kept."""
        if self._broken:
            self._stage_from(self.written)
            raise StoreNotWritable(self._broken)
        try:
            for run in self._runs:
                if run.chunks:
                    segment = self._segment_to_write(run.start)
                    write_fully(segment.fd, run.chunks, run.start - segment.base)
        except OSError as error:
            self._take_back()
            raise store_error(error, "appending to the commit log") from error
        self.written = self._staged_end
        if len(self._runs) == 1:
            self._run.start = self.written
            self._run.chunks.clear()
        else:
            self._stage_from(self.written)

    def append_copy(self, chunks: list[bytes | memoryview], size: int) -> None:
        """Append bytes of another broker's log as they are, `size` in all and within one file.

        They need not be whole records. Nothing may be staged. StoreError: none of them is kept.
        """
        if self._broken:
            raise StoreNotWritable(self._broken)
        if size > self.room():
            raise StoreError(f"{size} bytes at {self.written} do not fit into one file")
        try:
            segment = self._segment_to_write(self.written)
            write_fully(segment.fd, chunks, self.written - segment.base)
        except OSError as error:
            self._take_back()
            raise store_error(error, "appending to the commit log") from error
        self.written += size
        self._stage_from(self.written)

    def room(self) -> int:
        """How many bytes of the file that is appended to are left."""
        return self.file_size - self.written % self.file_size

    def _segment_to_write(self, offset: int) -> Segment:
        if self.segments:
            segment = self.segments[-1]
            if offset < segment.base + self.file_size:
                return segment
        self._close_synced()
        base = offset - offset % self.file_size
        path = self.paths.path_for(base, self.file_size)
        segment = Segment(base, str(path), create_sized(path, self.file_size))
        self.segments.append(segment)
        self._new_file = True
        return segment

    def _close_synced(self) -> None:
        for segment in self.segments:
            if segment.fd >= 0 and segment.base + self.file_size <= self.flushed:
                os.close(segment.fd)
                segment.fd = -1

    def _take_back(self) -> None:
        """Forget the staged records, and the part of them that has already reached the files."""
        end = self.written
        self._stage_from(end)
        try:
            while self.segments and self.segments[-1].base >= end:
                segment = self.segments.pop()
                os.close(segment.fd)
                self._forget(segment)
                remove(segment.path)
            if self.segments and self.segments[-1].base + self.file_size > end:
                segment = self.segments[-1]
                zero_from(segment.fd, end - segment.base, self.file_size)
        except OSError as error:
            self._broken = f"a failed append could not be taken back: {error}"

    # --- flushing (worker thread)

    def flush(self) -> int:
        """Blocks until what is written now is on the disk; returns that offset.

        After a failed sync the kernel may have dropped the pages and call the next one a
        success, so the log accepts nothing more until the store is opened again.
        """
        with self._flush_lock:
            target = self.written
            if target <= self.flushed:
                return self.flushed
            try:
                for segment in list(self.segments):
                    if segment.fd >= 0 and segment.base + self.file_size > self.flushed:
                        sync_data(segment.fd)
                if self._new_file:
                    self._new_file = False
                    self.paths.sync()
            except OSError as error:
                self._broken = f"flushing the commit log failed: {error}"
                raise StoreError(self._broken) from error
            self.flushed = target
            return target

    # --- letting go of the oldest files

    def oldest_removable(self) -> Segment | None:
        """The first file, unless it is the last one or a flush may still want it."""
        if len(self.segments) > 1:
            segment = self.segments[0]
            if segment.base + self.file_size <= self.flushed:
                return segment
        return None

    def remove_oldest(self, now_millis: int) -> Segment:
        """From now on no reader finds it, and the log begins after it. The file still exists."""
        segment = self.segments.pop(0)
        segment.removed_at = now_millis
        if segment.fd >= 0:
            os.close(segment.fd)
            segment.fd = -1
        self._forget(segment)
        return segment

    def _forget(self, segment: Segment) -> None:
        """It is no longer part of the log: close its descriptors and mappings."""
        self._open_files.forget(segment.path)
        self.pages.forget(segment.base)

    # --- reading

    @property
    def min_offset(self) -> int:
        """First byte of the first file; -1 without files (MappedFileQueue.getMinOffset)."""
        return self.segments[0].base if self.segments else -1

    def next_file(self, offset: int) -> int:
        """First byte of the file after the one with `offset` (CommitLog.rollNextFile)."""
        return offset - offset % self.file_size + self.file_size

    def contains(self, offset: int, size: int) -> bool:
        """Whether these bytes are all there, in one file."""
        if not self.segments or offset < self.segments[0].base or offset + size > self.written:
            return False
        return size >= 0 and offset % self.file_size + size <= self.file_size

    def is_hot(self, offset: int) -> bool:
        """Appended by this process, and recent enough to be certainly in the page cache."""
        return offset >= self._opened_at and offset >= self.written - self._hot_bytes

    def can_send(self, segment: Segment, file: MappedFile, offset: int, size: int) -> bool:
        """Whether these bytes, all in that file, can be sent without waiting for the disk."""
        if self.is_hot(offset):
            return True
        return self.pages.is_resident(file, self._fd_of(segment), offset - segment.base, size)

    def read(self, offset: int, size: int) -> bytes | None:
        """May block on the disk. None when these bytes are not, or no longer, in the log."""
        if not self.contains(offset, size):
            return None
        segment = self.segment_of(offset)
        return os.pread(self._fd_of(segment), size, offset - segment.base)

    def read_now(self, offset: int, size: int) -> bytearray | bytes | None:
        """Like `read`, but None instead of waiting for the disk."""
        if self.is_hot(offset):
            return self.read(offset, size)
        if not self._nowait or not self.contains(offset, size):
            return None
        segment = self.segment_of(offset)
        buffer = bytearray(size)
        try:
            count = os.preadv(self._fd_of(segment), [buffer], offset - segment.base, NOWAIT)
        except BlockingIOError:
            return None
        except OSError:
            # The file system does not support the flag.
            self._nowait = False
            return None
        return buffer if count == size else None

    def skip_hole(self, offset: int) -> int:
        """The next offset at or after this one, in the same file, that may hold anything."""
        segment = self.segment_of(offset)
        try:
            found = os.lseek(self._fd_of(segment), offset - segment.base, os.SEEK_DATA)
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
            # ENXIO: nothing but a hole up to the end.
            return segment.base + self.file_size
        return segment.base + found

    def path_of(self, offset: int) -> tuple[str, int]:
        """File and position of an offset, for a worker thread that reads by itself."""
        segment = self.segment_of(offset)
        return segment.path, offset - segment.base

    def segment_of(self, offset: int) -> Segment:
        """The file with this offset; ask `contains` first."""
        return self.segments[(offset - self.segments[0].base) // self.file_size]

    def _fd_of(self, segment: Segment) -> int:
        return segment.fd if segment.fd >= 0 else self._open_files.get(segment.path)


def check_file_size(files: list[Path], file_size: int) -> None:
    """WrongFileSize when whole files were made with another mappedFileSizeCommitLog."""
    if not files:
        return
    length = files[0].stat().st_size
    base = int(files[0].name)
    is_whole = int(files[1].name) == base + length if len(files) > 1 else length > file_size
    if is_whole and length != file_size:
        raise WrongFileSize(files[0], length, file_size)
