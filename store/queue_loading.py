"""What a consume queue's files hold when the store is opened."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from trimq.codec.queue_entry import ENTRY_SIZE, parse, parse_all
from trimq.store.errors import StoreDamaged
from trimq.store.files import OpenFiles, resize
from trimq.store.queue_bounds import Bounds, leading_entries
from trimq.store.queue_leftovers import without_leftovers

# Entries in one look for a file's end: more than a page, with its hole behind, has.
BLOCK: Final = 256


def queue_file_names(directory: str, full: int, bounds: Bounds, open_files: OpenFiles) -> list[str]:
    """The names of the files, of `full` bytes each.

    After a crash any may be too short, otherwise only the last.
    """
    mend = bounds.vouched < bounds.log_end
    try:
        names = sorted(name for name in os.listdir(directory) if name.isdigit())
    except FileNotFoundError:
        return []
    short: list[str] = []
    for at, name in enumerate(names):
        path = f"{directory}/{name}"
        length = os.stat(path).st_size
        if length < full and (mend or at == len(names) - 1):
            short.append(path)
        elif length != full:
            raise StoreDamaged(
                Path(path),
                length,
                f"that is its length; mappedFileSizeConsumeQueue says {full}",
            )
    kept = without_leftovers(directory, names, full, bounds.log_min)
    for name in names[: len(names) - len(kept)]:
        open_files.forget(f"{directory}/{name}")
    for path in short:
        if os.path.basename(path) in kept:
            resize(path, full)
    return kept


def valid_entries(fd: int, per_file: int, bounds: Bounds) -> int:
    """How many entries a file holds: they fill it from its start, zeros follow.

    Mostly the end lies in the last block that is no hole; that one is looked at first.
    """
    high = min(per_file, os.lseek(fd, 0, os.SEEK_HOLE) // ENTRY_SIZE + 1)
    low = max(high - BLOCK, 0)
    data = os.pread(fd, (high - low) * ENTRY_SIZE, low * ENTRY_SIZE)
    # Most queues of a large store are short: that many zeros need no look each.
    entries = -(-len(data.rstrip(b"\0")) // ENTRY_SIZE)
    block = parse_all(data[: entries * ENTRY_SIZE])
    if low == 0 or (block and bounds.hold(block[0][0], block[0][1])):
        return low + leading_entries(block, bounds)
    low, high = 0, low
    while low < high:
        middle = (low + high) // 2
        entry = parse(os.pread(fd, ENTRY_SIZE, middle * ENTRY_SIZE))
        if bounds.hold(entry.physical_offset, entry.size):
            low = middle + 1
        else:
            high = middle
    return low


def equal_entries(found: bytes, wanted: bytes) -> int:
    """How many entries the two have in common from their start on."""
    if found == wanted:
        return len(wanted) // ENTRY_SIZE
    low, high = 0, min(len(found), len(wanted)) // ENTRY_SIZE
    while low < high:
        middle = (low + high + 1) // 2
        if found[: middle * ENTRY_SIZE] == wanted[: middle * ENTRY_SIZE]:
            low = middle
        else:
            high = middle - 1
    return low
