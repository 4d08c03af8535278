"""How full a file system is (UtilAll.getDiskPartitionSpaceUsedPercent)."""

from __future__ import annotations

import os
from pathlib import Path

UNKNOWN = -1.0


def used_share(path: Path) -> float:
    """The used part of what ordinary users may use, in whole percent rounded up, as 0.0 to 1.0.

    What the file system reserves for root does not count. UNKNOWN when there is no such path.
    """
    try:
        disk = os.statvfs(path)
    except OSError:
        return UNKNOWN
    used = disk.f_blocks - disk.f_bfree
    usable = used + disk.f_bavail
    if disk.f_blocks <= 0 or usable <= 0:
        return UNKNOWN
    return -(-used * 100 // usable) / 100
