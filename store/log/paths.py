"""The folders of the commit log, usually one (MultiPathMappedFileQueue).

`storePathCommitLog` may name several, separated by commas, each on its own disk. New files
go to them in turn: the folders sorted by name, file number modulo their count. A folder that
`readOnlyCommitLogStorePaths` names as well gets no new files, nor does one whose disk is fuller than
`diskSpaceCleanForciblyRatio`, unless all are. Files are found in whichever folder they are.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from trimq.store.disk.files import close_all, make_durable_directory, open_directory
from trimq.store.errors import StoreDamaged, StoreError
from trimq.store.log.truncated_file import remove_leftovers

NAME_DIGITS: Final = 20


class LogPaths:
    """Where files are, and where the next one goes."""

    def __init__(self, paths: Iterable[Path], read_only: Iterable[Path] = ()) -> None:
        """StoreError: no file could be made in any of these."""
        self._paths = sorted(set(paths), key=str)
        self._read_only = sorted(set(read_only), key=str)
        self._writable = [path for path in self._paths if path not in self._read_only]
        self.full: frozenset[Path] = frozenset()
        """Folders whose disk is nearly full, as LogCleaning has seen them last."""
        if self._read_only and len(self._paths) == 1:
            raise StoreError(
                f"readOnlyCommitLogStorePaths={_listed(self._read_only)} has no effect beside a single"
                " path: name those paths in storePathCommitLog too, which is then"
                f" {_listed([*self._paths, *self._read_only])}"
            )
        if not self._writable:
            raise StoreError(
                f"storePathCommitLog={_listed(self._paths)}: readOnlyCommitLogStorePaths has every one"
                " of these paths, so there is none for new files; leave one out there"
            )

    @property
    def first(self) -> Path:
        return self._paths[0]

    def make(self) -> None:
        """Read-only folders are not created: a missing one has no files."""
        for path in self._writable:
            make_durable_directory(path)

    def remove_leftovers(self) -> None:
        """Of a cut that a crash has interrupted."""
        for path in self._writable:
            remove_leftovers(path)

    def files(self) -> list[Path]:
        """All files of the log by name. StoreDamaged: two of them have the same."""
        found: dict[str, Path] = {}
        for folder in sorted({*self._paths, *self._read_only}, key=str):
            for name in os.listdir(folder) if folder.is_dir() else ():
                if name.isdigit() and len(name) == NAME_DIGITS:
                    if name in found:
                        raise StoreDamaged(
                            folder / name, 0, f"the same part of the log is in {found[name].parent}"
                        )
                    found[name] = folder / name
        return [found[name] for name in sorted(found)]

    def path_for(self, base: int, file_size: int) -> Path:
        """Where the file that begins at this offset is created."""
        free = [path for path in self._writable if path not in self.full] or self._writable
        return free[base // file_size % len(free)] / f"{base:0{NAME_DIGITS}d}"

    def open_folders(self) -> list[int]:
        """Descriptors of the folders with new files, to be synced and closed. OSError: none of them is open."""
        fds: list[int] = []
        try:
            for path in self._writable:
                fds.append(open_directory(path))
        except OSError:
            close_all(fds)
            raise
        return fds


def parse_paths(text: str) -> tuple[Path, ...]:
    """Folders separated by commas; ValueError for what the real broker would read differently.

    It keeps blanks around a comma, so the second folder of `/a, /b` is not `/b` there.
    """
    words = text.strip().split(",")
    while words and not words[-1]:
        words.pop()
    for word in words:
        if not word or word != word.strip():
            raise ValueError("write the paths with nothing but a comma between them")
    return tuple(map(Path, words))


def _listed(paths: Iterable[Path]) -> str:
    return ",".join(map(str, paths))
