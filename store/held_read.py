"""Reading the commit log in a worker thread, while the event loop may delete its files.

A file that is held is not deleted (ReferenceResource.hold): `MessageStore.hold` counts the reader
on the event loop, `read` runs in the thread, `release` is called on the loop again. Deletion waits
for `destroyMapedFileIntervalForcibly` at most; what is read after that is MessagesGone.
"""

from __future__ import annotations

import os

from store.commit_log import Segment
from store.errors import MessagesGone, StoreError
from store.files import store_error


class HeldRead:
    __slots__ = ("_pieces",)

    def __init__(self, pieces: list[tuple[Segment, int, int]]) -> None:
        """`pieces` are (file, position, bytes)."""
        self._pieces = pieces
        for segment, _, _ in pieces:
            segment.readers += 1

    def read(self) -> list[bytes | bytearray]:
        """Blocks on the disk. Opens the files itself: the loop's descriptors may be closed."""
        return [self._read(segment, position, size) for segment, position, size in self._pieces]

    def _read(self, segment: Segment, position: int, size: int) -> bytes:
        try:
            data = read_file(segment.path, position, size)
        except OSError as error:
            if segment.removed_at >= 0 and isinstance(error, FileNotFoundError):
                raise MessagesGone(f"{segment.path} was deleted") from error
            raise store_error(error, f"reading {segment.path}") from error
        if len(data) != size:
            raise StoreError(f"{segment.path} ends before byte {position + size}")
        return data

    def release(self) -> None:
        for segment, _, _ in self._pieces:
            segment.readers -= 1
        self._pieces = []


def read_file(path: str, position: int, size: int) -> bytes:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.pread(fd, size, position)
    finally:
        os.close(fd)
