"""What operating systems do differently, and what stands in for missing calls.

Linux has everything. macOS has no fdatasync, no reads that do not wait, and a different kind of
lock; Windows has no fcntl, and TriMQ's store does not run there.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import sys
from typing import Final

try:
    import fcntl
except ImportError:
    raise ImportError(
        "TriMQ's servers and store run on Linux and macOS; on Windows, run them in WSL"
    ) from None

_LINUX: Final = sys.platform.startswith("linux")
# macOS: the only way to get data onto the disk and not just into the disk's own memory.
_FULL_SYNC: Final = getattr(fcntl, "F_FULLFSYNC", None)
# The flag of a read that does not wait for the disk; 0 where there is none.
NOWAIT: Final[int] = getattr(os, "RWF_NOWAIT", 0) if hasattr(os, "preadv") else 0
# What says that there is no such call or flag here; anything else may be otherwise a moment later.
UNSUPPORTED: Final = frozenset(
    {errno.EOPNOTSUPP, errno.ENOTSUP, errno.EINVAL, errno.ENOSYS, errno.ENOTTY}
)
# What a system that has too little of something says, for now.
NO_DESCRIPTORS: Final = frozenset({errno.EMFILE, errno.ENFILE})
# BSD and macOS: what `flock` locks, `fcntl` sees as locked, even in the same process.
LOCKS_MEET: Final = not _LINUX
# struct flock for files of any size, in the order of its fields.
_LINUX_LOCK: Final = ("@hhqqi", ("type", "whence", "start", "length", "process"))
_BSD_LOCK: Final = ("@qqihh", ("start", "length", "process", "type", "whence"))
_FREEBSD_LOCK: Final = ("@qqihhi", (*_BSD_LOCK[1], "system"))
# File systems on which choosing blocks beforehand was measured: ext4 (with ext2 and ext3, which refuse). On tmpfs
# such blocks would be memory, and the call takes as long as filling them.
_CHOOSING: Final = frozenset({0xEF53})
# struct statfs is smaller; its first field, the kind of the file system, is a long.
_STATFS_SIZE: Final = 256
_KEEP_SIZE: Final = 1
# How many times what is chosen must be free.
_ROOM: Final = 16


def sync(fd: int) -> None:
    """Blocks until the file's bytes and length are on the disk."""
    if _FULL_SYNC is not None:
        try:
            fcntl.fcntl(fd, _FULL_SYNC)
        except OSError:
            # Not every file system on macOS supports it.
            os.fsync(fd)
    elif hasattr(os, "fdatasync"):
        os.fdatasync(fd)
    else:
        os.fsync(fd)


def sync_entries(fd: int) -> None:
    """The same for an open directory."""
    if _FULL_SYNC is not None:
        sync(fd)
    else:
        os.fsync(fd)


def write_at(fd: int, chunks: list[bytes | memoryview], position: int) -> int:
    """One system call; how many bytes it wrote."""
    if hasattr(os, "pwritev"):
        return os.pwritev(fd, chunks, position)
    return os.pwrite(fd, b"".join(chunks), position)


def fetch_ahead(fd: int, position: int, size: int) -> None:
    """Let the kernel fetch these bytes from the disk; without such a call they are read when needed."""
    if hasattr(os, "posix_fadvise"):
        os.posix_fadvise(fd, position, size, os.POSIX_FADV_WILLNEED)


def residency() -> ctypes._NamedFuncPointer | None:
    """`mincore`, which tells which pages of a mapping are in memory. Elsewhere its bits mean something else."""
    return _linux_call("mincore", ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)


def _linux_call(name: str, *arguments: type) -> ctypes._NamedFuncPointer | None:
    """A function of Linux's C library that Python does not have."""
    found = getattr(ctypes.CDLL(None, use_errno=True), name, None) if _LINUX else None
    if found is not None:
        found.argtypes = arguments
    return found


_FALLOCATE: Final = _linux_call(
    "fallocate", ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64
)
_FSTATFS: Final = _linux_call("fstatfs", ctypes.c_int, ctypes.c_void_p)


def choose_blocks(fd: int, position: int, size: int) -> bool:
    """Let the file system choose blocks for these bytes of a file, whose holes stay zeros and whose length stays too.

    False: not on this file system, or the disk has little room; where there are too few blocks, the call takes those
    that there are. Python's `posix_fallocate` is another call: where a file system has none it writes into each block,
    and so into what others write.
    """
    if _FALLOCATE is None or _FSTATFS is None:
        return False
    disk = os.fstatvfs(fd)
    if disk.f_bavail * disk.f_frsize < _ROOM * size:
        return False
    told = ctypes.create_string_buffer(_STATFS_SIZE)
    if _FSTATFS(fd, told) != 0 or ctypes.c_ulong.from_buffer(told).value not in _CHOOSING:
        return False
    return bool(_FALLOCATE(fd, _KEEP_SIZE, position, size) == 0)


def lock_layout(platform: str) -> tuple[str, tuple[str, ...]]:
    """struct flock of the system with this `sys.platform`."""
    if platform.startswith("freebsd"):
        return _FREEBSD_LOCK
    return _LINUX_LOCK if platform.startswith("linux") else _BSD_LOCK


def lock_holder(fd: int) -> int | None:
    """The process that has a lock on the file's first byte; 0 if the system does not say, None if
    nobody has.

    Asks the kernel, and takes no lock.
    """
    form, fields = lock_layout(sys.platform)
    layout = struct.Struct(form)
    asked = dict.fromkeys(fields, 0) | {"type": fcntl.F_WRLCK, "whence": os.SEEK_SET, "length": 1}
    packed = layout.pack(*(asked[name] for name in fields))
    answer = dict(zip(fields, layout.unpack(fcntl.fcntl(fd, fcntl.F_GETLK, packed)), strict=True))
    return None if answer["type"] == fcntl.F_UNLCK else max(answer["process"], 0)


def lock_alone(fd: int, folder: int) -> None:
    """Lock a file against other processes and other parts of this one. OSError when it is taken.

    Java locks the first byte by fcntl, so a real broker and we see each other. Such a lock belongs to
    a process as a whole; the flock beside it keeps two stores of one process apart. Where the two
    kinds interfere, flock takes the `folder`, an open directory.
    """
    fcntl.flock(folder if LOCKS_MEET else fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 0)
