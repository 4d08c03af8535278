"""Plain file operations under the store: whole writes, sparse files, a bounded set of open files.

Writing goes through `pwritev` and never through a mapping: on a full disk a store to a sparse
mapping kills the process, where `pwritev` raises ENOSPC. Everything in the store that changes or
syncs a file uses these functions, so that what a power loss may destroy is visible in one place.

Hot: compiled by mypyc when a compiler is there.
"""

from __future__ import annotations

import errno
import os
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from trimq.store.disk import system
from trimq.store.errors import DiskFull, StoreError

# Linux takes at most this many buffers in one vectored write (IOV_MAX).
MAX_BUFFERS = 1024
BLOCK = 4096
# What a disk writes as a whole.
SECTOR = 512
ZERO_SECTOR = bytes(SECTOR)
CHUNK = 1 << 20
FULL = (errno.ENOSPC, errno.EDQUOT)


def write_fully(fd: int, chunks: Sequence[bytes | memoryview], position: int) -> None:
    """Write all chunks one after another; one system call unless the kernel cuts it short."""
    pending: list[bytes | memoryview] = list(chunks)
    while pending:
        written = system.write_at(fd, pending[:MAX_BUFFERS], position)
        if written == 0:
            raise OSError(errno.EIO, "nothing could be written")
        position += written
        pending = drop_bytes(pending, written)


def drop_bytes(chunks: list[bytes | memoryview], count: int) -> list[bytes | memoryview]:
    """What is left of the chunks after their first `count` bytes."""
    for index, chunk in enumerate(chunks):
        if count < len(chunk):
            rest = chunks[index:]
            if count:
                rest[0] = memoryview(chunk)[count:]
            return rest
        count -= len(chunk)
    return []


def make_directories(path: str) -> list[str]:
    """Make a directory and its parents; returns those that got a new entry, to be synced."""
    if os.path.isdir(path):
        return []
    parent = os.path.dirname(os.path.abspath(path))
    changed = make_directories(parent)
    with suppress(FileExistsError):
        os.mkdir(path)
    return [*changed, parent]


def make_durable_directory(path: Path) -> None:
    """A directory that a power loss leaves where it is. Blocks on the disk."""
    for directory in make_directories(str(path)):
        sync_directory(directory)


def queue_parents(directory: str) -> list[str]:
    """The directories that have to be synced for a new file of a queue: its own up to the store's."""
    topic = os.path.dirname(directory)
    queues = os.path.dirname(topic)
    return [directory, topic, queues, os.path.dirname(queues)]


def create(path: Path | str) -> int:
    """A file, created if it does not exist; returns a descriptor for reading and writing."""
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)


def create_sized(path: Path, size: int) -> int:
    """A new file of full length, all holes; returns a descriptor for reading and writing."""
    make_directories(str(path.parent))
    fd = create(path)
    try:
        os.ftruncate(fd, size)
    except OSError:
        os.close(fd)
        raise
    return fd


def zero_from(fd: int, position: int, size: int) -> None:
    """Make everything after `position` a hole again, keeping the file's full length.

    Old bytes there would come back as records once the log has grown up to their boundary.
    """
    os.ftruncate(fd, position)
    os.ftruncate(fd, size)


def first_data(fd: int, position: int, size: int) -> int:
    """Position of the first byte that is not zero, from `position` on; `size` when there is none."""
    while position < size:
        # A block is read as a whole: holes begin and end at block boundaries.
        count = BLOCK - position % BLOCK
        data = os.pread(fd, min(count, size - position), position)
        rest = data.lstrip(b"\0")
        if rest:
            return position + len(data) - len(rest)
        position += count
        try:
            position = os.lseek(fd, position, os.SEEK_DATA)
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
            # ENXIO: nothing but a hole up to the end.
            return size
    return size


def last_data(fd: int, position: int, size: int) -> int:
    """The end of the last byte that is not zero, from `position` on; `position` when all are zero."""
    end = position
    found = first_data(fd, position, size)
    while found < size:
        data = os.pread(fd, min(CHUNK, size - found), found)
        kept = len(data.rstrip(b"\0"))
        end = found + kept if kept else end
        if not data:
            break
        found = first_data(fd, found + len(data), size)
    return end


def set_length(fd: int, size: int) -> None:
    os.ftruncate(fd, size)


def resize(path: Path | str, size: int) -> None:
    os.truncate(path, size)


def remove(path: Path | str) -> None:
    os.unlink(path)


def remove_directory(path: Path | str) -> None:
    os.rmdir(path)


def rename(source: Path, target: Path) -> None:
    """Rename in one step; the old `target` is gone."""
    os.replace(source, target)


def sync_data(fd: int) -> None:
    """Blocks until the file's bytes and length are on the disk."""
    system.sync(fd)


def sync_file(path: Path | str) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        sync_data(fd)
    finally:
        os.close(fd)


def _create_private(path: Path, mode: int) -> int:
    """A new file of ours with this mode: whatever had the name is gone, links too."""
    path.unlink(missing_ok=True)
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(path, flags, 0o600)
    os.fchmod(fd, mode)
    return fd


def replace_file(path: Path, data: bytes, mode: int | None = None) -> None:
    """Write to a new file, sync, rename over: the file has the old content or the new one, whatever
    happens.

    With a `mode`, nobody whom it shuts out can ever read the data.
    """
    beside = path.with_name(path.name + ".tmp")
    fd = create(beside) if mode is None else _create_private(beside, mode)
    try:
        os.ftruncate(fd, 0)
        write_fully(fd, [data], 0)
        sync_data(fd)
    finally:
        os.close(fd)
    rename(beside, path)


def open_directory(path: Path | str) -> int:
    """A descriptor to sync its entries by."""
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)


def close_all(fds: list[int]) -> None:
    for fd in fds:
        os.close(fd)


def sync_directory(path: Path | str) -> None:
    """A new file survives a power loss only when its directory entry does."""
    fd = open_directory(path)
    try:
        system.sync_entries(fd)
    finally:
        os.close(fd)


def sync_file_system(path: str) -> None:
    """Blocks until the whole file system of `path` is on the disk (syncfs(2), ENOSYS without it).

    Python has no name for it, and `os.sync` does not report failed writes.
    """
    # Few stores ever need it, so it is not loaded at the start.
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    if not hasattr(libc, "syncfs"):
        raise OSError(errno.ENOSYS, "no syncfs on this system")
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        if libc.syncfs(fd) != 0:
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code))
    finally:
        os.close(fd)


def store_error(error: OSError, doing: str) -> StoreError:
    """The store's own error for a failed system call."""
    if error.errno in FULL:
        return DiskFull(f"no room on the disk while {doing}: {error}")
    return StoreError(f"the disk failed while {doing}: {error}")


class Unsynced:
    """Files that were changed, and directories whose entries were, since the last checkpoint."""

    def __init__(self) -> None:
        self._files: set[str] = set()
        self._directories: set[str] = set()

    def add_file(self, path: str) -> None:
        self._files.add(path)

    def add_files(self, paths: Iterable[str]) -> None:
        self._files.update(paths)

    def add_directories(self, paths: Iterable[str]) -> None:
        self._directories.update(paths)

    def take(self) -> tuple[set[str], set[str]]:
        """Files and directories, some of them gone by now; the next checkpoint starts from nothing."""
        taken = self._files, self._directories
        self._files, self._directories = set(), set()
        return taken


class OpenFiles:
    """Descriptors by path, the longest unused closed first. For one thread only."""

    def __init__(self, limit: int) -> None:
        self.unsynced = Unsynced()
        self._limit = limit
        self._fds: OrderedDict[str, int] = OrderedDict()

    def get(self, path: str) -> int:
        """A descriptor for reading and writing; FileNotFoundError when there is no such file."""
        fd = self._fds.get(path)
        if fd is not None:
            self._fds.move_to_end(path)
            return fd
        return self.add(path, self._open(path))

    def _open(self, path: str) -> int:
        """Where descriptors are short, those kept here are the first to be given back."""
        while True:
            try:
                return os.open(path, os.O_RDWR | os.O_CLOEXEC)
            except OSError as error:
                if error.errno not in system.NO_DESCRIPTORS or not self._fds:
                    raise
            os.close(self._fds.popitem(last=False)[1])

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
