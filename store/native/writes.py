"""Writing to many files in one go, and removing them. `_writes.c` is its twin, which does so without Python's lock.

Hot: compiled by mypyc when a compiler is there.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Final

from trimq.store.disk.files import create_sized, remove, remove_directory, write_fully

# Why a parent is not removed.
_STAYS: Final = (errno.ENOENT, errno.ENOTEMPTY, errno.EEXIST)


def write_pieces(pieces: list[tuple[str, int, int, bytes, bytes]]) -> tuple[list[bool], int]:
    """Write each piece (path, the file's size, index, data, filling) to its file; a file that is missing is made, with
    its folder and that one's, in its full length and with the filling at its beginning.

    Returns for each piece that is written whether its file is new, and the `errno` that ended it, or 0.
    """
    news: list[bool] = []
    for path, size, index, data, filling in pieces:
        try:
            news.append(_write(path, size, index, data, filling))
        except OSError as error:
            return news, error.errno or errno.EIO
    return news, 0


def _write(path: str, size: int, index: int, data: bytes, filling: bytes) -> bool:
    is_new = False
    try:
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        is_new = True
        fd = create_sized(Path(path), size)
    try:
        if is_new and filling:
            write_fully(fd, [filling], 0)
        write_fully(fd, [data], index)
    finally:
        os.close(fd)
    return is_new


def remove_folders(folders: list[str], parents: list[str]) -> tuple[int, str]:
    """Remove each folder with the files in it, then those parents that are empty. What is gone already is no error.

    Returns the `errno` that ended it and the path that it was about, or 0 and "".
    """
    for folder in folders:
        path = folder
        try:
            for name in os.listdir(folder):
                path = f"{folder}/{name}"
                remove(path)
            path = folder
            remove_directory(folder)
        except FileNotFoundError:
            continue
        except OSError as error:
            return error.errno or errno.EIO, path
    for parent in parents:
        try:
            remove_directory(parent)
        except OSError as error:
            if error.errno not in _STAYS:
                return error.errno or errno.EIO, parent
    return 0, ""
