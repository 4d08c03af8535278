"""What a queue's files hold when the store is opened."""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from trimq.store.disk.files import OpenFiles, remove, resize
from trimq.store.disk.quarantine import is_damage
from trimq.store.errors import StoreDamaged

# Entries read at once to find a file's end: more than fit into a page, so the hole after it is
# seen.
BLOCK: Final = 256


@contextmanager
def unreadable_is_damage(directory: str) -> Iterator[None]:
    """StoreDamaged with what to do, where a file of a queue is none, or the system will never read it."""
    try:
        yield
    except OSError as error:
        if not is_damage(error):
            raise
        path = Path(error.filename or directory)
        raise StoreDamaged(path, 0, f"{error.strerror}: {_made_anew(str(path.parent))}") from error


def _made_anew(directory: str) -> str:
    return (
        f"stop, move {directory} and the store's file checkpoint away, and start; the queue is made anew from the"
        " commit log"
    )


def find_files(
    directory: str,
    file_size: int,
    setting: str,
    open_files: OpenFiles,
    mend: bool,
    is_expired: Callable[[str], bool] | None,
) -> list[int]:
    """The positions of the files, of `file_size` bytes each; `setting` is the key for that size.

    After a crash (`mend`) any may be too short, otherwise only the last.
    """
    try:
        names = sorted(name for name in os.listdir(directory) if name.isdigit())
    except FileNotFoundError:
        return []
    short: list[str] = []
    for at, name in enumerate(names):
        path = f"{directory}/{name}"
        length = os.stat(path).st_size
        if length < file_size and (mend or at == len(names) - 1):
            short.append(name)
        elif length != file_size:
            raise StoreDamaged(
                Path(path),
                length,
                f"that is its length; {setting} says {file_size}. If that has not changed: "
                + _made_anew(directory),
            )
    kept = names[_leftovers(directory, names, file_size, is_expired) :]
    for name in names[: len(names) - len(kept)]:
        open_files.forget(f"{directory}/{name}")
        remove(f"{directory}/{name}")
    for name in short:
        if name in kept:
            resize(f"{directory}/{name}", file_size)
    return [int(name) for name in kept]


def _leftovers(
    directory: str, names: list[str], file_size: int, is_expired: Callable[[str], bool] | None
) -> int:
    """How many files an interrupted deletion left: old ones, then a hole, then the queue.

    StoreDamaged if one of their records still exists, so that the hole is a loss.
    """
    start = 0
    for at in range(1, len(names)):
        if int(names[at]) != int(names[at - 1]) + file_size:
            if is_expired is None or not is_expired(f"{directory}/{names[at - 1]}"):
                raise StoreDamaged(Path(directory, names[at]), 0, "the file before it is missing")
            start = at
    return start


def bytes_at(path: str, position: int, size: int) -> bytes:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.pread(fd, size, position)
    finally:
        os.close(fd)


def valid_entries(fd: int, per_file: int, entry_size: int, leading: Callable[[bytes], int]) -> int:
    """How many entries a file holds: they fill it from its start, zeros follow.

    `leading` says how many of several are valid, from the first on. Mostly the end is in the last
    block that is not a hole; that one is checked first.
    """
    high = min(per_file, os.lseek(fd, 0, os.SEEK_HOLE) // entry_size + 1)
    low = max(high - BLOCK, 0)
    data = os.pread(fd, (high - low) * entry_size, low * entry_size)
    # Most queues of a large store are short: that many zeros need not be checked one by one.
    entries = -(-len(data.rstrip(b"\0")) // entry_size)
    count = leading(data[: entries * entry_size])
    if low == 0 or count:
        return low + count
    return bisect_left(
        range(low),
        True,
        key=lambda at: not leading(os.pread(fd, entry_size, at * entry_size)),
    )


def equal_bytes(found: bytes, wanted: bytes, unit: int) -> int:
    """How many bytes the two have in common at their start, in whole units."""
    if found == wanted:
        return len(wanted)
    low, high = 0, min(len(found), len(wanted)) // unit
    while low < high:
        middle = (low + high + 1) // 2
        if found[: middle * unit] == wanted[: middle * unit]:
            low = middle
        else:
            high = middle - 1
    return low * unit
