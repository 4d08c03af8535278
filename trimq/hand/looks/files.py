"""Copies of a store's folder: files are long and mostly holes, so only what they hold is copied. Blocks."""

from __future__ import annotations

import os
import shutil
from collections.abc import Container
from pathlib import Path

from trimq.store.inspecting.sparse_file import WINDOW, SparseFile


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
    with SparseFile(Path(source)) as read, open(target, "wb", buffering=0) as written:
        os.fchmod(written.fileno(), os.stat(source).st_mode & 0o777)
        os.ftruncate(written.fileno(), read.size)
        for begin, end in read.runs():
            for position in range(begin, end, WINDOW):
                data = read.fetch(position, min(WINDOW, end - position))
                os.pwrite(written.fileno(), data, position)
