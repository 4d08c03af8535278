"""The files of the commit log: which there are, which of them are open, and where the last one ends.

Every file has its full length from the start; files follow one another without a gap. A file that is written, or not
yet synced, has a descriptor of its own (`Segment.fd`); the others are opened to be read, some at a time.

What is in them, and how safe it is, is for `CommitLog` to know. Everything here runs on its thread; what blocks on the
disk says so.

Hot: compiled by mypyc when a compiler is there.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from trimq.codec.records.record import BLANK_SIZE, encode_blank
from trimq.store.disk.files import (
    OpenFiles,
    create_sized,
    last_data,
    remove,
    resize,
    sync_data,
    sync_directory,
    zero_from,
)
from trimq.store.errors import StoreDamaged, WrongFileSize
from trimq.store.log.page_cache import PageCache
from trimq.store.log.paths import LogPaths
from trimq.store.log.segment import Segment
from trimq.store.log.truncated_file import copy_cut


class Segments:
    """`all`: the files in their order."""

    def __init__(self, paths: LogPaths, file_size: int, open_files: OpenFiles) -> None:
        self.paths = paths
        self.file_size = file_size
        self.all: list[Segment] = []
        self.pages = PageCache(file_size)
        self._open_files = open_files

    # --- opening and closing

    def load(self, vouched: int | None) -> int:
        """Find the files, and return where the last one ends.

        `vouched`: files with bytes after this offset, and the last one, may be too short and get
        their length back; None after a clean stop, when none may be. StoreDamaged: nothing was
        changed.
        """
        self.paths.make()
        self.paths.remove_leftovers()
        files = self.paths.files()
        check_file_size(files, self.file_size)
        short: list[Path] = []
        empty: Path | None = None
        end = 0
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
            if self.all and base != self.all[-1].base + self.file_size:
                raise StoreDamaged(path, 0, "the file before it is missing")
            self.all.append(Segment(base, str(path)))
            end = base + self.file_size
        for path in short:
            resize(path, self.file_size)
        if empty is not None:
            remove(empty)
        return end

    def close(self) -> None:
        for segment in self.all:
            _close(segment)
        self.all.clear()
        self.pages.clear()

    # --- the end of the last file

    def end_at(self, end: int, durable: int) -> int:
        """Remove everything from `end` on, and open the files with bytes behind `durable`, to be synced.

        Blocks on the disk when there is something to remove: if half of it came back with the next power loss, it
        would look like records. Returns how many bytes that was.
        """
        dropped = 0
        while len(self.all) > 1 and self.all[-1].base >= end:
            segment = self.all.pop()
            dropped += self._bytes_behind(segment, 0)
            self._let_go_of(segment)
            remove(segment.path)
            # One by one, from the last: a hole between files would be refused.
            sync_directory(os.path.dirname(segment.path))
        for segment in self.all:
            if segment.fd < 0 and segment.base + self.file_size > durable:
                segment.fd = os.open(segment.path, os.O_RDWR | os.O_CLOEXEC)
        if self.all and end < self.all[-1].base + self.file_size:
            dropped += self._clear(self.all[-1], end)
        return dropped

    def take_back(self, end: int) -> None:
        """What a failed write has left from `end` on. OSError: it is still there, and the next call goes on."""
        while self.all and self.all[-1].base >= end:
            segment = self.all[-1]
            with suppress(FileNotFoundError):
                remove(segment.path)
            self.all.pop()
            _close(segment)
            self._forget(segment)
        if self.all and self.all[-1].base + self.file_size > end:
            segment = self.all[-1]
            zero_from(segment.fd, end - segment.base, self.file_size)

    def _clear(self, segment: Segment, end: int) -> int:
        """Make the file a hole from `end` on, if it is not one."""
        position = end - segment.base
        room = self.file_size - position
        dropped = self._bytes_behind(segment, position)
        if not dropped:
            return 0
        head = os.pread(segment.fd, BLANK_SIZE, position)
        if self._is_read(segment):
            self._replace(segment, position)
        else:
            zero_from(segment.fd, position, self.file_size)
            sync_data(segment.fd)
        # A blank without a file after it does not mean a lost record.
        return 0 if dropped == BLANK_SIZE and head == encode_blank(room) else dropped

    def _bytes_behind(self, segment: Segment, position: int) -> int:
        """From `position` to the last byte that is not zero."""
        end = last_data(self.fd_of(segment), position, self.file_size)
        return end - position

    def _is_read(self, segment: Segment) -> bool:
        """Whether a thread may read the file, or somebody is being sent views of it."""
        self.pages.forget(segment.base)
        return segment.readers > 0 or self.pages.is_viewed(segment.base)

    def _replace(self, segment: Segment, position: int) -> None:
        """A copy that ends there takes the file's place: whoever has the old one open or mapped, keeps it."""
        copy = copy_cut(segment.path, segment.fd, position, self.file_size)
        self._let_go_of(segment, position)
        self.all[-1] = Segment(segment.base, segment.path, copy)

    def _let_go_of(self, segment: Segment, kept: int = 0) -> None:
        """Nobody finds it any more; of its bytes only those before `kept` are the log's."""
        segment.kept = kept
        segment.removed_at = 0
        _close(segment)
        self._forget(segment)

    # --- files that come and go

    def add(self, offset: int) -> Segment:
        """The file with this offset, which is the first behind all others. OSError: the disk is full."""
        base = offset - offset % self.file_size
        path = self.paths.path_for(base, self.file_size)
        segment = Segment(base, str(path), create_sized(path, self.file_size))
        self.all.append(segment)
        return segment

    def close_synced(self, flushed: int) -> None:
        """Close descriptors of files that end at or before this offset."""
        for segment in self.all:
            if segment.base + self.file_size <= flushed:
                _close(segment)

    def oldest_removable(self, flushed: int) -> Segment | None:
        """The first file, unless it is the last one or has bytes behind this offset, for a flush."""
        if len(self.all) > 1:
            segment = self.all[0]
            if segment.base + self.file_size <= flushed:
                return segment
        return None

    def remove_oldest(self, now_millis: int) -> Segment:
        """From now on no reader finds it, and the log begins after it. The file still exists."""
        segment = self.all.pop(0)
        segment.removed_at = now_millis
        _close(segment)
        self._forget(segment)
        return segment

    def _forget(self, segment: Segment) -> None:
        """It is no longer part of the log: close its descriptors and mappings."""
        self._open_files.forget(segment.path)
        self.pages.forget(segment.base)

    # --- finding

    def at(self, offset: int) -> Segment:
        """The file with this offset, which must be in one."""
        return self.all[(offset - self.all[0].base) // self.file_size]

    def fd_of(self, segment: Segment) -> int:
        """A descriptor to read the file by."""
        return segment.fd if segment.fd >= 0 else self._open_files.get(segment.path)


def _close(segment: Segment) -> None:
    if segment.fd >= 0:
        os.close(segment.fd)
        segment.fd = -1


def check_file_size(files: list[Path], file_size: int) -> None:
    """WrongFileSize when whole files were made with another mappedFileSizeCommitLog."""
    if not files:
        return
    length = files[0].stat().st_size
    base = int(files[0].name)
    is_whole = int(files[1].name) == base + length if len(files) > 1 else length > file_size
    if is_whole and length != file_size:
        raise WrongFileSize(files[0], length, file_size)
