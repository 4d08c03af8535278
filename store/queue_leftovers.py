"""What an interrupted deletion leaves of a consume queue: old files, then a hole, then the queue."""

from __future__ import annotations

import os
from pathlib import Path

from trimq.codec.queue_entry import ENTRY_SIZE, parse
from trimq.store.errors import StoreDamaged
from trimq.store.files import remove


def without_leftovers(directory: str, names: list[str], file_size: int, log_min: int) -> list[str]:
    """Names without those before a hole, whose files are removed: all their records are gone.

    StoreDamaged when a record is still there, so that the hole is a loss.
    """
    start = 0
    for at in range(1, len(names)):
        if int(names[at]) != int(names[at - 1]) + file_size:
            if not _is_expired(f"{directory}/{names[at - 1]}", file_size, log_min):
                missing = Path(directory, names[at])
                raise StoreDamaged(missing, 0, "the file before it is missing")
            start = at
    for name in names[:start]:
        remove(f"{directory}/{name}")
    return names[start:]


def _is_expired(path: str, file_size: int, log_min: int) -> bool:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        last = parse(os.pread(fd, ENTRY_SIZE, file_size - ENTRY_SIZE))
    finally:
        os.close(fd)
    return last.size > 0 and last.physical_offset < log_min
