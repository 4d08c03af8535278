"""The disk's own speed: one file, blocks of 1 MiB, nothing else. What the store is measured against."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Final, NamedTuple

MIB: Final = 1 << 20


class DiskSpeed(NamedTuple):
    """MB/s; `written` is until the kernel has it, `synced` until the disk has it."""

    written: float
    synced: float
    read_cached: float
    read_cold: float


def measure(folder: Path, mib: int) -> DiskSpeed:
    path = folder / "disk"
    block = os.urandom(MIB)
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o644)
    try:
        # Of full length from the start, like a commit-log file.
        os.ftruncate(fd, mib * MIB)
        began = time.perf_counter()
        for at in range(mib):
            os.pwrite(fd, block, at * MIB)
        written = time.perf_counter() - began
        os.fdatasync(fd)
        synced = time.perf_counter() - began
        cached = _read(fd, mib)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        cold = _read(fd, mib)
    finally:
        os.close(fd)
        path.unlink()
    megabytes = mib * MIB / 1e6
    return DiskSpeed(*(megabytes / seconds for seconds in (written, synced, cached, cold)))


def _read(fd: int, mib: int) -> float:
    buffer = bytearray(MIB)
    began = time.perf_counter()
    for at in range(mib):
        os.preadv(fd, [buffer], at * MIB)
    return time.perf_counter() - began
