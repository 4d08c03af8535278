"""Copies of a store's folder: files are long and mostly holes, so only what they hold is copied. Blocks."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Container, Iterator
from pathlib import Path
from typing import Final

_PIECE: Final = 1 << 20


def copy_folder(source: Path, target: Path, without: Container[str] = ()) -> None:
    """All of a folder but these names at its top, into another one. OSError."""
    target.mkdir(parents=True, exist_ok=True)
    with os.scandir(source) as entries:
        for entry in entries:
            if entry.name in without:
                continue
            if entry.is_dir():
                copy_folder(Path(entry.path), target / entry.name)
            elif entry.is_file():
                copy_file(entry.path, str(target / entry.name))


def move_away(folder: Path, into: Path, without: Container[str] = ()) -> None:
    """Empty it but for these names at its top. To delete files may take long: they go into a new folder. OSError."""
    into.mkdir(parents=True)
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name not in without:
                os.rename(entry.path, into / entry.name)


def delete(folder: Path) -> None:
    """Whatever can be deleted of it."""
    shutil.rmtree(folder, ignore_errors=True)


def copy_file(source: str, target: str) -> None:
    """With its length, its mode and its holes."""
    with open(source, "rb", buffering=0) as read, open(target, "wb", buffering=0) as written:
        status = os.fstat(read.fileno())
        os.fchmod(written.fileno(), status.st_mode & 0o777)
        os.ftruncate(written.fileno(), status.st_size)
        for position, count in _pieces(read.fileno(), status.st_size):
            os.pwrite(written.fileno(), os.pread(read.fileno(), count, position), position)


def _pieces(fd: int, size: int) -> Iterator[tuple[int, int]]:
    """Where the file has anything but holes: positions, and how many bytes there."""
    end = 0
    while end < size:
        try:
            position = os.lseek(fd, end, os.SEEK_DATA)
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
            # Nothing but a hole up to the end.
            return
        end = min(os.lseek(fd, position, os.SEEK_HOLE), size)
        for piece in range(position, end, _PIECE):
            yield piece, min(_PIECE, end - piece)
