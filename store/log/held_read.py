"""Reading the commit log in a worker thread, while the event loop may delete its files.

A file that is held is not deleted (ReferenceResource.hold): `ColdReads.hold` counts the reader
on the event loop, `read` runs in the thread, `release` is called on the loop again. Deletion waits
for `destroyMapedFileIntervalForcibly` at most; what is read after that is MessagesGone.
"""

from __future__ import annotations

import os
from collections import deque
from pathlib import Path
from typing import Final

from trimq.store.disk.files import store_error
from trimq.store.disk.system import fetch_ahead
from trimq.store.errors import MessagesGone, StoreError
from trimq.store.log.commit_log import CommitLog
from trimq.store.log.segment import Segment

# Between the messages of one queue are those of the others; the disk reads in larger pieces anyway.
_LARGEST_GAP: Final = 64 * 1024
_LARGEST_SPAN: Final = 1024 * 1024
_AHEAD: Final = 2 * 1024 * 1024
# This many backlogs may be read side by side.
_REMEMBERED: Final = 64


class ColdReads:
    """Where the last reads from the disk ended: a reader that continues there reads a backlog."""

    def __init__(self) -> None:
        self._ends: deque[int] = deque(maxlen=_REMEMBERED)

    def go_on(self, start: int, end: int) -> bool:
        """Whether a read of these physical offsets continues one of the last."""
        # Between two reads from the disk lies what was fetched ahead.
        found = any(before <= start <= before + 2 * _AHEAD for before in self._ends)
        self._ends.append(end)
        return found

    def hold(self, log: CommitLog, extents: list[tuple[int, int]]) -> HeldRead:
        """Keep the files of the extents, (physical offset, bytes); MessagesGone without them."""
        for offset, size in extents:
            if not log.contains(offset, size):
                raise MessagesGone(f"{size} bytes at {offset} are not in the log any more")
        segments = [log.segment_of(offset) for offset, _ in extents]
        pieces = [
            (segment, offset - segment.base, size)
            for segment, (offset, size) in zip(segments, extents, strict=True)
        ]
        ahead = bool(extents) and self.go_on(extents[0][0], sum(extents[-1]))
        return HeldRead(pieces, ahead)


class HeldRead:
    __slots__ = ("ahead", "pieces")

    def __init__(self, pieces: list[tuple[Segment, int, int]], ahead: bool = False) -> None:
        """`pieces` are (file, position, bytes); `ahead`: let the kernel fetch what follows, too."""
        # How many bytes of what follows.
        self.ahead = _AHEAD if ahead else 0
        self.pieces = pieces
        for segment, _, _ in pieces:
            segment.readers += 1

    def read(self) -> list[bytes | bytearray]:
        """Blocks on the disk. Opens the files itself: the loop's descriptors may be closed."""
        buffers: list[bytes | bytearray] = []
        index = 0
        while index < len(self.pieces):
            segment, start, _ = self.pieces[index]
            end, after = self._span(index)
            data = self._read(segment, start, end - start)
            for _, position, size in self.pieces[index:after]:
                buffers.append(data[position - start : position - start + size])
            index = after
        return buffers

    def _span(self, index: int) -> tuple[int, int]:
        """What is read in one piece from there on: its end, and the first piece after it."""
        segment, start, size = self.pieces[index]
        end = start + size
        for after in range(index + 1, len(self.pieces)):
            other, position, size = self.pieces[after]
            near = (
                end <= position <= end + _LARGEST_GAP and position + size - start <= _LARGEST_SPAN
            )
            if other is not segment or not near:
                return end, after
            end = position + size
        return end, len(self.pieces)

    def _read(self, segment: Segment, position: int, size: int) -> bytes:
        try:
            data = read_file(segment.path, position, size, self.ahead)
        except OSError as error:
            if segment.removed_at >= 0 and isinstance(error, FileNotFoundError):
                raise MessagesGone(f"{segment.path} was deleted") from error
            raise store_error(error, f"reading {segment.path}") from error
        check_kept(segment, position + size)
        if len(data) != size:
            raise StoreError(f"{segment.path} ends before byte {position + size}")
        return data

    def release(self) -> None:
        for segment, _, _ in self.pieces:
            segment.readers -= 1
        self.pieces = []


def check_kept(segment: Segment, end: int) -> None:
    """After the file was opened or read: MessagesGone if these bytes, up to a position, were cut off meanwhile."""
    if end > segment.kept:
        raise MessagesGone(f"{segment.path} was cut at byte {segment.kept}")


def read_file(path: Path | str, position: int, size: int, ahead: int = 0) -> bytes:
    """The bytes; the kernel starts to fetch this many more after them."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        if ahead:
            fetch_ahead(fd, position, size + ahead)
        return os.pread(fd, size, position)
    finally:
        os.close(fd)
