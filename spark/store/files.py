"""The file systems in which stores lie: the local one, and those that fsspec knows (HDFS, S3, archives, ...).

A location is text: a local path, or a URL as fsspec takes it. Local files are read with pread, as
everywhere in TriMQ; others through an fsspec handle that caches nothing, since we have our own
windows.
"""

from __future__ import annotations

import glob
import json
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from trimq.spark.errors import SparkSourceError, WrongOption
from trimq.store.checking.log import list_log
from trimq.store.inspecting.kinds import NAME_DIGITS
from trimq.store.inspecting.sparse_file import WINDOW, SparseFile

_LOCAL: Final = ("file://", "file:")
_URL: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


@dataclass(frozen=True, slots=True)
class LogFile:
    """A file of a commit log; `base` is the offset of its first byte."""

    base: int
    path: str
    size: int


@dataclass(frozen=True, slots=True)
class Files:
    """How files are reached. `settings`: what fsspec is told about its file system, as JSON."""

    settings: str = ""

    def names(self, folder: str) -> list[str]:
        """What is in a folder, sorted; nothing if it is not one."""
        if is_local(folder):
            try:
                return sorted(os.listdir(folder))
            except (FileNotFoundError, NotADirectoryError):
                return []
        return sorted(name for name, _ in self._listed(folder))

    def is_folder(self, location: str) -> bool:
        if is_local(location):
            return os.path.isdir(location)
        system, path = self._system(location)
        return bool(system.isdir(path))

    def exists(self, location: str) -> bool:
        if is_local(location):
            return os.path.exists(location)
        system, path = self._system(location)
        return bool(system.exists(path))

    def sizes(self, folder: str) -> list[tuple[str, int]]:
        """Names that are numbers and the sizes of those files, sorted; nothing if it is not a folder."""
        if not is_local(folder):
            return sorted(one for one in self._listed(folder) if one[0].isdigit())
        found = []
        for name in self.names(folder):
            if name.isdigit():
                try:
                    found.append((name, os.stat(f"{folder}/{name}").st_size))
                except FileNotFoundError:
                    # A running broker deletes files.
                    continue
        return found

    def matching(self, pattern: str) -> list[str]:
        """The locations that match a pattern with *, ? or [...], sorted."""
        if is_local(pattern):
            return sorted(glob.glob(pattern))
        system, path = self._system(pattern)
        return sorted(str(system.unstrip_protocol(one)) for one in system.glob(path))

    def open(self, location: str, window: int = WINDOW) -> SparseFile:
        """FileNotFoundError when it does not exist."""
        if is_local(location):
            return SparseFile(Path(location), window)
        return FarFile(location, *self._system(location), window)

    def data_end(self, one: LogFile) -> int:
        """Where the hole at the end of a file begins; elsewhere nothing is known about holes. FileNotFoundError."""
        if not is_local(one.path):
            return one.size
        with self.open(one.path) as file:
            return file.data_end()

    def read(self, location: str) -> bytes:
        """A small file; empty if it does not exist."""
        try:
            with self.open(location) as file:
                return file.fetch(0, file.size)
        except FileNotFoundError:
            return b""

    def log_files(self, folders: Iterable[str]) -> list[LogFile]:
        """The files of a commit log in order, from all folders that it has."""
        near = [Path(folder) for folder in folders if is_local(folder)]
        found = [LogFile(one.base, str(one.path), one.size) for one in list_log(*near)]
        found += [
            LogFile(int(name), f"{folder}/{name}", size)
            for folder in folders
            if not is_local(folder)
            for name, size in self.sizes(folder)
            if len(name) == NAME_DIGITS
        ]
        return sorted(found, key=lambda one: one.base)

    def _listed(self, folder: str) -> list[tuple[str, int]]:
        system, path = self._system(folder)
        # Otherwise listings are cached, and a broker adds files.
        system.invalidate_cache()
        try:
            found = system.ls(path, detail=True)
        except (FileNotFoundError, NotADirectoryError):
            return []
        return [
            (one["name"].rstrip("/").rpartition("/")[2], one["size"] or 0)
            for one in found
            # An object store lists the folder itself, too.
            if one["name"].strip("/") != path.strip("/")
        ]

    def _system(self, location: str) -> tuple[Any, str]:
        """fsspec's file system, and what the location is called in it."""
        try:
            from fsspec.core import url_to_fs
        except ImportError:
            raise SparkSourceError(
                f"{location} is not a local path, and fsspec, which knows other file systems, is not"
                " installed: pip install fsspec"
            ) from None
        try:
            system, path = url_to_fs(location, **json.loads(self.settings or "{}"))
        except (ImportError, ValueError, TypeError, FileNotFoundError) as error:
            raise SparkSourceError(f"{location} cannot be reached: {error}") from None
        return system, path


class FarFile(SparseFile):
    """A file of another file system; the part not written yet is zeros there, not a hole."""

    def __init__(self, location: str, system: Any, path: str, window: int) -> None:
        self.path = Path(location)
        # Some file systems close their files when nobody holds them any more.
        self._system = system
        self.size = int(system.info(path)["size"])
        self._handle = system.open(path, "rb", cache_type="none")
        self.buffer = b""
        self._buffer_at = 0
        self._window = window

    def close(self) -> None:
        self._handle.close()

    def fetch(self, position: int, size: int) -> bytes:
        size = min(size, self.size - position)
        if size <= 0:
            return b""
        self._handle.seek(position)
        return bytes(self._handle.read(size))

    def skip_hole(self, position: int) -> int:
        return min(position, self.size)

    def data_end(self) -> int:
        return self.size


def is_local(location: str) -> bool:
    return _URL.match(location) is None


def location_of(text: str) -> str:
    """A path as people and Spark write it: `file:` in front means the local one."""
    for prefix in _LOCAL:
        if text.startswith(prefix):
            text = text.removeprefix(prefix)
            break
    return text.rstrip("/") if len(text) > 1 and not text.endswith("://") else text


def settings_of(text: str) -> str:
    """WrongOption: not the JSON object that it must be."""
    try:
        given = json.loads(text)
    except ValueError:
        given = None
    if not isinstance(given, dict):
        raise WrongOption(
            "option 'storageOptions' must be a JSON object with what fsspec's file system takes, such as"
            ' {"endpoint_url": "http://127.0.0.1:9000"}'
        )
    return text
