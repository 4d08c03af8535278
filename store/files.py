"""Plain file operations under the store: whole writes, sparse files, a bounded set of open files.

Writing goes through `pwritev` and never through a mapping: on a full disk a store to a sparse
mapping kills the process, where `pwritev` raises ENOSPC.
"""

from __future__ import annotations

import errno
import os
from collections import OrderedDict
from pathlib import Path

from store.errors import DiskFull, StoreError

# Linux takes at most this many buffers in one vectored write (IOV_MAX).
MAX_BUFFERS = 1024
FULL = (errno.ENOSPC, errno.EDQUOT)


def write_fully(fd: int, chunks: list[bytes], position: int) -> None:
    """Write all chunks one behind the other; one system call unless the kernel cuts it short."""
    pending: list[bytes | memoryview] = list(chunks)
    while pending:
        written = os.pwritev(fd, pending[:MAX_BUFFERS], position)
        if written == 0:
            raise OSError(errno.EIO, "nothing could be written")
        position += written
        pending = drop_bytes(pending, written)


def drop_bytes(chunks: list[bytes | memoryview], count: int) -> list[bytes | memoryview]:
    """What is left of the chunks behind their first `count` bytes."""
    for index, chunk in enumerate(chunks):
        if count < len(chunk):
            rest = chunks[index:]
            if count:
                rest[0] = memoryview(chunk)[count:]
            return rest
        count -= len(chunk)
    return []


def create_sized(path: Path, size: int) -> int:
    """A new file of full length, all holes; returns a descriptor for reading and writing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        os.ftruncate(fd, size)
    except OSError:
        os.close(fd)
        raise
    return fd


def zero_from(fd: int, position: int, size: int) -> None:
    """Make everything behind `position` a hole again, keeping the file's full length.

    Old bytes there would come back as records once the log has grown up to their boundary.
    """
    os.ftruncate(fd, position)
    os.ftruncate(fd, size)


def sync_directory(path: Path) -> None:
    """A new file survives a power loss only when its directory entry does."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def store_error(error: OSError, doing: str) -> StoreError:
    """The store's own error for a failed system call."""
    if error.errno in FULL:
        return DiskFull(f"no room on the disk while {doing}: {error}")
    return StoreError(f"the disk failed while {doing}: {error}")


class OpenFiles:
    """Descriptors by path, the longest unused closed first. For one thread only."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._fds: OrderedDict[str, int] = OrderedDict()

    def get(self, path: str) -> int:
        """A descriptor for reading and writing; FileNotFoundError when there is no such file."""
        fd = self._fds.get(path)
        if fd is not None:
            self._fds.move_to_end(path)
            return fd
        return self.add(path, os.open(path, os.O_RDWR | os.O_CLOEXEC))

    def add(self, path: str, fd: int) -> int:
        self._fds[path] = fd
        if len(self._fds) > self._limit:
            os.close(self._fds.popitem(last=False)[1])
        return fd

    def forget(self, path: str) -> None:
        fd = self._fds.pop(path, None)
        if fd is not None:
            os.close(fd)

    def close(self) -> None:
        while self._fds:
            os.close(self._fds.popitem()[1])

    def __len__(self) -> int:
        return len(self._fds)
