"""One file, opened for reading only, read through a window; holes are skipped, not read."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Self

WINDOW: Final = 1024 * 1024


class SparseFile:
    """`buffer` is what was read last; `locate` says where in it some bytes are."""

    def __init__(self, path: Path, window: int = WINDOW) -> None:
        self.path = path
        self._fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self.size = os.fstat(self._fd).st_size
        self.buffer = b""
        self._buffer_at = 0
        self._window = window

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        os.close(self._fd)

    def locate(self, position: int, size: int) -> int:
        """Where in `buffer` these bytes are; -1 when the file does not have them all."""
        at = position - self._buffer_at
        if at >= 0 and at + size <= len(self.buffer):
            return at
        if position < 0 or position + size > self.size:
            return -1
        data = self.fetch(position, max(size, self._window))
        if len(data) < size:
            return -1
        self.buffer = data
        self._buffer_at = position
        return 0

    def read(self, position: int, size: int) -> bytes | None:
        at = self.locate(position, size)
        return None if at < 0 else self.buffer[at : at + size]

    def fetch(self, position: int, size: int) -> bytes:
        """Straight from the file, past the window; fewer at its end."""
        return os.pread(self._fd, size, position)

    def forget(self) -> None:
        """Read the window again: a running broker may have changed it."""
        self.buffer = b""

    def skip_hole(self, position: int) -> int:
        """The next position that may hold anything but zeros; the file's size when none does."""
        if position >= self.size:
            return self.size
        try:
            return os.lseek(self._fd, position, os.SEEK_DATA)
        except OSError as error:
            # ENXIO: nothing but a hole up to the end. EINVAL: the file system does not support
            # holes.
            if error.errno == errno.ENXIO:
                return self.size
            if error.errno == errno.EINVAL:
                return position
            raise

    def data_end(self) -> int:
        """Where the hole at the file's end begins, if it has one."""
        return max((end for _, end in self.runs()), default=0)

    def runs(self) -> Iterator[tuple[int, int]]:
        """Where the file holds anything but holes: the begin and the end of each run."""
        begin = self.skip_hole(0)
        while begin < self.size:
            end = self._hole(begin)
            yield begin, end
            begin = self.skip_hole(end)

    def _hole(self, position: int) -> int:
        try:
            return os.lseek(self._fd, position, os.SEEK_HOLE)
        except OSError as error:
            if error.errno == errno.EINVAL:
                return self.size
            raise

    def skip_zeros(self, position: int) -> int:
        """The first byte at or after the position that is not zero; the size when there is none."""
        while position < self.size:
            position = self.skip_hole(position)
            data = self.fetch(position, self._window)
            if not data:
                break
            rest = data.lstrip(b"\0")
            if rest:
                return position + len(data) - len(rest)
            position += len(data)
        return self.size
