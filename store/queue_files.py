"""The files of one batch consume queue or of a queue's extension, as one row of bytes.

Files of one length, named by the position of their first byte. What is appended is collected in
memory, where readers see it, and `write_out` brings it to the files. Nothing appended crosses files.
"""

from __future__ import annotations

import os
from pathlib import Path

from trimq.store.errors import StoreDamaged
from trimq.store.files import (
    OpenFiles,
    create_sized,
    first_data,
    make_directories,
    queue_parents,
    remove,
    remove_directory,
    resize,
    write_fully,
    zero_from,
)


class QueueFiles:
    """`first` is the position of the first file, -1 while there is none."""

    __slots__ = (
        "_directory",
        "_open_files",
        "_setting",
        "_tail",
        "_written",
        "file_size",
        "first",
    )

    def __init__(self, directory: str, file_size: int, open_files: OpenFiles, setting: str) -> None:
        """`setting` is the key that gives the files' length, for error messages."""
        self.file_size = file_size
        self.first = -1
        self._directory = directory
        self._open_files = open_files
        self._setting = setting
        self._written = 0
        self._tail = bytearray()

    # --- reading

    @property
    def end(self) -> int:
        """The position behind the last byte, written or not."""
        return self._written + len(self._tail)

    @property
    def unwritten_bytes(self) -> int:
        return len(self._tail)

    def read(self, position: int, size: int) -> bytes:
        """Up to `size` bytes of one file; nothing where the file is gone."""
        size = min(size, self.file_size - position % self.file_size, self.end - position)
        in_files = min(size, self._written - position)
        if size <= 0 or (in_files > 0 and position < self.first):
            return b""
        data = b""
        if in_files > 0:
            data = self.read_file(position, in_files)
            if in_files == size or not data:
                return data
        start = max(position - self._written, 0)
        return data + bytes(self._tail[start : start + size - len(data)])

    def read_file(self, position: int, size: int) -> bytes:
        """What the file itself has there, written by us or found."""
        index = position % self.file_size
        try:
            fd = self._open_files.get(self._path(position - index))
        except FileNotFoundError:
            return b""
        return os.pread(fd, min(size, self.file_size - index), index)

    def data_end(self, base: int) -> int:
        """How many bytes of a file come before its first hole."""
        return os.lseek(self._open_files.get(self._path(base)), 0, os.SEEK_HOLE)

    # --- writing

    def append(self, data: bytes) -> None:
        self._tail += data

    def write_out(self) -> None:
        """Write what is still in memory. OSError: try again."""
        while self._tail:
            index = self._written % self.file_size
            base = self._written - index
            piece = bytes(self._tail[: self.file_size - index])
            path = self._path(base)
            write_fully(self._fd_for_writing(path, base), [piece], index)
            self._written += len(piece)
            del self._tail[: len(piece)]
            self._open_files.unsynced.add_file(path)

    def _fd_for_writing(self, path: str, base: int) -> int:
        try:
            fd = self._open_files.get(path)
        except FileNotFoundError:
            make_directories(self._directory)
            fd = self._open_files.add(path, create_sized(Path(path), self.file_size))
            self._open_files.unsynced.add_directories(queue_parents(self._directory))
        if self.first < 0:
            self.first = base
        return fd

    # --- opening, repairing, deleting

    def find(self) -> int:
        """Look for the files; returns the position of the last one, -1 without any."""
        try:
            names = sorted(name for name in os.listdir(self._directory) if name.isdigit())
        except FileNotFoundError:
            return -1
        for at, name in enumerate(names):
            path = f"{self._directory}/{name}"
            length = os.stat(path).st_size
            if length < self.file_size and at == len(names) - 1:
                resize(path, self.file_size)
            elif length != self.file_size:
                raise StoreDamaged(
                    Path(path),
                    length,
                    f"that is its length; {self._setting} says {self.file_size}",
                )
            if at and int(name) != int(names[at - 1]) + self.file_size:
                raise StoreDamaged(Path(path), 0, "the file before it is missing")
        if not names:
            return -1
        self.first = int(names[0])
        self._written = int(names[-1]) + self.file_size
        return int(names[-1])

    def start_at(self, position: int) -> None:
        """Where the first byte goes; for files that are empty."""
        self._written = position
        self._tail.clear()

    def truncate(self, end: int) -> None:
        """Drop everything from `end` on, in memory and in the files."""
        if end > self._written:
            del self._tail[end - self._written :]
            return
        self._tail.clear()
        self._written = end
        if self.first < 0:
            return
        index = end % self.file_size
        base = end - index
        later = base if index == 0 and base > self.first else base + self.file_size
        while os.path.exists(self._path(later)):
            self._remove(self._path(later))
            later += self.file_size
        if base < later and self._holds_data(base, index):
            # Unsynced, the old bytes could come back and be vouched for by a later checkpoint.
            self._open_files.unsynced.add_file(self._path(base))
            zero_from(self._open_files.get(self._path(base)), index, self.file_size)

    def _holds_data(self, base: int, index: int) -> bool:
        try:
            fd = self._open_files.get(self._path(base))
        except FileNotFoundError:
            return False
        return first_data(fd, index, self.file_size) < self.file_size

    def delete_before(self, position: int) -> int:
        """Remove the files that end there or before, never the last one; how many those were."""
        removed = 0
        while self.delete_first(position):
            removed += 1
        return removed

    def delete_first(self, position: int) -> str:
        """Remove the first file if it ends there or before; its path, or "" if it stays.

        Never the last one that is on the disk.
        """
        following = self.first + self.file_size
        if self.first < 0 or following > min(position, self._written - 1):
            return ""
        path = self._path(self.first)
        if os.path.exists(path):
            self._remove(path)
        self.first = following
        return path

    def delete(self) -> None:
        """Remove files and directory; they are then as new."""
        if os.path.isdir(self._directory):
            for name in os.listdir(self._directory):
                self._remove(f"{self._directory}/{name}")
            remove_directory(self._directory)
            self._open_files.unsynced.add_directories([os.path.dirname(self._directory)])
        self.first = -1
        self.start_at(0)

    def _remove(self, path: str) -> None:
        self._open_files.forget(path)
        remove(path)
        self._open_files.unsynced.add_directories([self._directory])

    def _path(self, base: int) -> str:
        return f"{self._directory}/{base:020d}"
