"""Where parts put their servers' stores: in memory, where that is large.

Stores are large files of which little is written, and a disk that several servers write to lets all of them wait.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Final

SHARED: Final = Path("/dev/shm")
PREFIX: Final = "trimq-parts-"
# Room for the stores of the parts that run at a time, and for the JVMs beside them.
NEEDED: Final = 12 << 30


def _own() -> Path:
    return SHARED / f"{PREFIX}{os.getpid()}"


def folder(name: str) -> Path | None:
    """A part's own, which it makes anew; None: the disk is the better place."""
    if not os.access(SHARED, os.W_OK) or shutil.disk_usage(SHARED).free < NEEDED:
        return None
    if _available() < NEEDED:
        return None
    _own().mkdir(mode=0o700, exist_ok=True)
    return _own() / name


def _available() -> int:
    """Bytes of memory that can be had, the page cache included."""
    meminfo = Path("/proc/meminfo")
    if not meminfo.exists():
        return 0
    (line,) = (one for one in meminfo.read_text().splitlines() if one.startswith("MemAvailable:"))
    return int(line.split()[1]) << 10


def clear(name: str) -> None:
    """After a part that passed: of others the stores are left to look at, until another run begins."""
    shutil.rmtree(_own() / name, ignore_errors=True)


def clear_after_others() -> None:
    """What runs have left that are over."""
    for old in SHARED.glob(f"{PREFIX}*") if SHARED.is_dir() else ():
        if not is_running(old):
            shutil.rmtree(old, ignore_errors=True)


def is_running(folder: Path) -> bool:
    """Whether the process is there that a folder is named after, behind its last `-`."""
    try:
        os.kill(int(folder.name.rpartition("-")[2]), 0)
    except ProcessLookupError:
        return False
    except (PermissionError, ValueError):
        pass
    return True
