"""Copies of a store's folder: files are long and mostly holes, so only what they hold is copied. Blocks.

On many disks a folder takes as long to make as ten files. So a copy has none: its files are numbered, and a list says
what they are. What a store gets back is put into the folders that it has.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Container, Iterator
from itertools import count
from pathlib import Path
from typing import Final

from trimq.store.inspecting.sparse_file import WINDOW, SparseFile

_LIST: Final = "files.json"


def keep(source: Path, target: Path, without: Container[str] = ()) -> None:
    """All of a folder but these names at its top, in a new folder. OSError."""
    target.mkdir(parents=True)
    folders: list[str] = []
    names: list[str] = []
    for name, is_folder in _walk(source, "", without):
        if is_folder:
            folders.append(name)
        else:
            copy_file(source / name, target / str(len(names)))
            names.append(name)
    (target / _LIST).write_text(json.dumps({"folders": folders, "files": names}))


def bring_back(kept: Path, folder: Path, gone: Path, without: Container[str] = ()) -> None:
    """The folder is as it was kept, but for these names at its top; what it had is in `gone`, a new one. OSError."""
    listed = json.loads((kept / _LIST).read_text())
    gone.mkdir(parents=True)
    _clear(folder, "", set(listed["folders"]), without, (gone / str(number) for number in count()))
    for name in listed["folders"]:
        (folder / name).mkdir(exist_ok=True)
    for number, name in enumerate(listed["files"]):
        copy_file(kept / str(number), folder / name)


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


def copy_file(source: Path, target: Path) -> None:
    """With its length, its mode and its holes."""
    with SparseFile(source) as read, open(target, "wb", buffering=0) as written:
        os.fchmod(written.fileno(), os.stat(source).st_mode & 0o777)
        os.ftruncate(written.fileno(), read.size)
        for begin, end in read.runs():
            for position in range(begin, end, WINDOW):
                data = read.fetch(position, min(WINDOW, end - position))
                os.pwrite(written.fileno(), data, position)


def _walk(root: Path, within: str, without: Container[str]) -> Iterator[tuple[str, bool]]:
    """What is below it, from the root on, and whether it is a folder; a folder before what is in it."""
    with os.scandir(root / within) as entries:
        for entry in entries:
            name = os.path.join(within, entry.name)
            if entry.name in without:
                continue
            if entry.is_dir():
                yield name, True
                yield from _walk(root, name, ())
            elif entry.is_file():
                yield name, False


def _clear(
    root: Path, within: str, stay: set[str], without: Container[str], places: Iterator[Path]
) -> None:
    """Only these folders stay, empty. Everything else goes to one of the places."""
    with os.scandir(root / within) as entries:
        for entry in list(entries):
            name = os.path.join(within, entry.name)
            if entry.name in without:
                continue
            if name in stay and entry.is_dir(follow_symlinks=False):
                _clear(root, name, stay, (), places)
            else:
                os.rename(entry.path, next(places))
