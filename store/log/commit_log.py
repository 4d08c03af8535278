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

A `cut` takes back what is behind it in any state, as opening does with what is behind the last whole record.

The log itself is writable, or broken for good: after a failed sync. Then `write` raises and readers go on; only opening
the store again repairs it. What a failed write has left and could not take back is taken back before the next one.

Hot: compiled by mypyc when a compiler is there.
"""

from __future__ import annotations

import errno
import logging
import os
import threading
from collections.abc import Callable

from trimq.codec.records.record import BLANK_SIZE, encode_blank
from trimq.store.disk.files import (
    OpenFiles,
    close_all,
    store_error,
    sync_data,
    write_fully,
)
from trimq.store.disk.system import NOWAIT, UNSUPPORTED, sync_entries
from trimq.store.errors import StoreError, StoreNotWritable
from trimq.store.log.blocks import BlocksAhead
from trimq.store.log.page_cache import MappedFile
from trimq.store.log.paths import LogPaths
from trimq.store.log.segment import Run, Segment
from trimq.store.log.segments import Segments

log = logging.getLogger("trimq.store")


class CommitLog:
    """`written` is the end of what readers may see, `flushed` the end of what survives a power loss."""

    def __init__(
        self, paths: LogPaths, file_size: int, open_files: OpenFiles, hot_bytes: int
    ) -> None:
        self.file_size = file_size
        self.files = Segments(paths, file_size, open_files)
        self.written = 0
        self.flushed = 0
        self._hot_bytes = hot_bytes
        self._opened_at = 0
        self._staged_end = 0
        self._file_end = 0
        self._run = Run(0)
        self._runs: list[Run] = []
        self._new_file = False
        # Whether a failed write has left something behind what is written.
        self._leftover = False
        self._nowait = NOWAIT != 0
        self._broken = ""
        self._flush_lock = threading.Lock()
        self._blocks = BlocksAhead(file_size)

    # --- opening and closing

    def load(self, vouched: int | None) -> None:
        """Find the files (`Segments.load`); `written` is then the end of the last one, until `start_at` says better."""
        self.written = self.files.load(vouched)

    def start_at(self, end: int, durable: int) -> int:
        """Everything from `end` on is not part of the log: remove it and append there.

        What lies between `durable` and `end` is synced by the next `flush`. Blocks on the disk when
        there is something to remove (`Segments.end_at`). Returns how many bytes that was.
        """
        dropped = self.files.end_at(end, min(durable, end))
        self.written = end
        self.flushed = min(durable, end)
        self._new_file = durable < end
        self._opened_at = end
        self._stage_from(end)
        if self.segments:
            self._blocks.begin(self.segments[-1], end)
        return dropped

    # --- cutting while it is open

    def cut(self, end: int, recover: Callable[[], object]) -> None:
        """The log is shorter: what was written from `end` on is no part of it. `recover`, called meanwhile, looks
        where its last whole record ends and ends it there, by `start_at`, as it does when a store is opened.

        Nothing may be staged. Blocks on the disk, and first until a flush that is under way has ended. Whoever
        is being sent bytes that go gets them all the same, or MessagesGone, never others in their place. When it
        fails the log takes nothing more.
        """
        if self._broken:
            raise StoreNotWritable(self._broken)
        with self._flush_lock:
            flushed = self.flushed
            self.written = end
            try:
                recover()
            except BaseException as error:
                self._broken = f"cutting the commit log at {end} failed: {error}"
                raise
            # What was on the disk is there still.
            self.flushed = max(self.flushed, min(flushed, self.written))

    def close(self) -> None:
        self.files.close()

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
            self._clear_leftover()
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
            self._clear_leftover()
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
        self.files.close_synced(self.flushed)
        segment = self.files.add(offset)
        self._blocks.begin(segment, segment.base)
        self._new_file = True
        return segment

    def _take_back(self) -> None:
        """Forget the staged records, and the part of them that has already reached the files."""
        self._stage_from(self.written)
        self._leftover = True
        try:
            self._clear_leftover()
        except OSError as error:
            log.warning("what a failed append left is taken back later: %s", error)

    def _clear_leftover(self) -> None:
        """OSError: it is still there."""
        if self._leftover:
            self.files.take_back(self.written)
            self._leftover = False

    def settle(self) -> None:
        """Nothing is behind what is written, or StoreError."""
        try:
            self._clear_leftover()
        except OSError as error:
            raise store_error(error, "taking back a failed append") from error

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
            segments = list(self.segments)
            # A log that is being closed has none.
            if segments:
                self._blocks.keep(segments[-1], target)
            folders = self._folders_to_sync()
            try:
                for segment in segments:
                    if segment.fd >= 0 and segment.base + self.file_size > self.flushed:
                        sync_data(segment.fd)
                for folder in folders:
                    sync_entries(folder)
            except OSError as error:
                self._broken = f"flushing the commit log failed: {error}"
                raise StoreError(self._broken) from error
            finally:
                close_all(folders)
            self.flushed = target
            return target

    def _folders_to_sync(self) -> list[int]:
        """Descriptors of the folders, when a file is new. StoreError: none is to be had, nothing was synced yet.

        Too few of them for a moment is no damage; only a sync that has failed is.
        """
        if not self._new_file:
            return []
        # Before they are opened: a file that is made from now on is for the next flush.
        self._new_file = False
        try:
            return self.files.paths.open_folders()
        except OSError as error:
            self._new_file = True
            raise store_error(error, "flushing the commit log") from error

    # --- letting go of the oldest files

    @property
    def segments(self) -> list[Segment]:
        return self.files.all

    def oldest_removable(self) -> Segment | None:
        """The first file, unless it is the last one or a flush may still want it."""
        return self.files.oldest_removable(self.flushed)

    def remove_oldest(self, now_millis: int) -> Segment:
        """From now on no reader finds it, and the log begins after it. The file still exists."""
        return self.files.remove_oldest(now_millis)

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
        return self.files.pages.is_resident(
            file, self.files.fd_of(segment), offset - segment.base, size
        )

    def mapped_now(self, offset: int, size: int) -> memoryview | None:
        """What is mapped of the log from there on and can be looked at without waiting for the disk.

        At least these bytes, which the log contains; None if even they would wait. Only C may look at them.
        """
        segment = self.segment_of(offset)
        file = self.files.pages.file(segment.base, segment.path)
        position = offset - segment.base
        if self.is_hot(offset):
            end = min(self.written - segment.base, self.file_size)
        else:
            end = self.files.pages.resident_end(file, self.files.fd_of(segment), position, size)
        return file.view[position:end] if end > 0 else None

    def read(self, offset: int, size: int) -> bytes | None:
        """May block on the disk. None when these bytes are not, or no longer, in the log."""
        if not self.contains(offset, size):
            return None
        segment = self.segment_of(offset)
        return os.pread(self.files.fd_of(segment), size, offset - segment.base)

    def read_now(self, offset: int, size: int) -> bytearray | bytes | None:
        """Like `read`, but None instead of waiting for the disk."""
        if self.is_hot(offset):
            data = self.read(offset, size)
            # Shorter: somebody has cut the file. Who waits for the disk finds that out.
            return None if data is None or len(data) < size else data
        if not self._nowait or not self.contains(offset, size):
            return None
        segment = self.segment_of(offset)
        buffer = bytearray(size)
        try:
            count = os.preadv(self.files.fd_of(segment), [buffer], offset - segment.base, NOWAIT)
        except OSError as error:
            # Mostly it would wait; where the file system does not support the flag, it is not asked again.
            self._nowait = error.errno not in UNSUPPORTED
            return None
        return buffer if count == size else None

    def skip_hole(self, offset: int) -> int:
        """The next offset at or after this one, in the same file, that may hold anything."""
        segment = self.segment_of(offset)
        try:
            found = os.lseek(self.files.fd_of(segment), offset - segment.base, os.SEEK_DATA)
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
        return self.files.at(offset)
