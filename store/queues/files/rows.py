"""The files of one queue, or of its extension, as one row of bytes.

Files of one length, named by the position of their first byte. What is appended is collected in
memory, where readers see it, and `write_out` brings it to the files. Nothing appended crosses files.

Hot: compiled by mypyc when a compiler is there.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from trimq.store.disk.files import (
    OpenFiles,
    create_sized,
    first_data,
    make_directories,
    queue_parents,
    remove,
    write_fully,
    zero_from,
)
from trimq.store.queues.files.loading import equal_bytes, find_files
from trimq.store.queues.files.removal import Removal
from trimq.store.queues.files.writing import Piece, Writing


class QueueFiles:
    """`first` is the position of the first file, -1 while there is none.

    `end` is the position after the last byte: up to `written` they are in the files, after it in
    memory.
    """

    __slots__ = (
        "_directory",
        "_filler",
        "_open_files",
        "_read_base",
        "_read_path",
        "_setting",
        "_tail",
        "_taken",
        "_writing",
        "file_size",
        "first",
        "written",
    )

    def __init__(
        self,
        directory: str,
        file_size: int,
        open_files: OpenFiles,
        setting: str,
        filler: bytes = b"",
    ) -> None:
        """`setting` is the key that gives the files' length, for error messages.

        `filler`: repeated, it fills the first file up to where the row begins in the middle of it.
        """
        self.file_size = file_size
        self.first = -1
        self.written = 0
        self._directory = directory
        self._open_files = open_files
        self._setting = setting
        self._filler = filler
        self._tail = bytearray()
        # What a thread is writing, or will be, and with what else.
        self._taken: list[Piece] | None = None
        self._writing: Writing | None = None
        self._read_base = -1
        self._read_path = ""

    # --- reading

    @property
    def end(self) -> int:
        return self.written + len(self._tail)

    @property
    def unwritten_bytes(self) -> int:
        return len(self._tail)

    @property
    def is_empty(self) -> bool:
        """Whether there is no file, and nothing for one."""
        return self.first < 0 and not self._tail

    def read(self, position: int, size: int) -> bytes:
        """Up to `size` bytes of one file; nothing if the file is gone."""
        room = self.file_size - position % self.file_size
        size = min(size, room)
        in_files = self.written - position
        room = in_files + len(self._tail)
        size = min(size, room)
        if size <= 0:
            return b""
        if in_files <= 0:
            return bytes(self._tail[-in_files : size - in_files])
        if position < self.first:
            return b""
        if in_files >= size:
            return self.read_file(position, size)
        data = self.read_file(position, in_files)
        if not data:
            return data
        return data + self._tail[: size - len(data)]

    def read_file(self, position: int, size: int) -> bytes:
        """What the file itself has there, written by us or found."""
        index = position % self.file_size
        base = position - index
        if base != self._read_base:
            # It is the same path again and again while a file is read.
            self._read_base = base
            self._read_path = self.path(base)
        try:
            fd = self._open_files.get(self._read_path)
        except FileNotFoundError:
            return b""
        return os.pread(fd, min(size, self.file_size - index), index)

    def path(self, base: int) -> str:
        """The path of the file that begins there."""
        return f"{self._directory}/{base:020d}"

    def path_of(self, position: int) -> str:
        """Of the file that has this byte."""
        return self.path(position - position % self.file_size)

    def descriptor(self, base: int) -> int:
        """Of a file that is there."""
        return self._open_files.get(self.path(base))

    # --- writing

    def append(self, data: bytes) -> None:
        self._tail += data

    def write_out(self) -> None:
        """Write what is still in memory. OSError: try again."""
        while self._tail:
            index = self.written % self.file_size
            base = self.written - index
            piece = bytes(self._tail[: self.file_size - index])
            path = self.path(base)
            write_fully(self._fd_for_writing(path, base, index), [piece], index)
            self.written += len(piece)
            del self._tail[: len(piece)]
            self._open_files.unsynced.add_file(path)

    def begin_writing(self, writing: Writing) -> None:
        """Let it write what is in memory now, which stays there until `end_writing`."""
        if not self._tail or self._taken is not None:
            return
        pieces: list[Piece] = []
        at = 0
        while at < len(self._tail):
            position = self.written + at
            index = position % self.file_size
            data = bytes(self._tail[at : at + self.file_size - index])
            path = self.path(position - index)
            # Before it is written: the checkpoint after a failure syncs it, too.
            self._open_files.unsynced.add_file(path)
            filling = b""
            if index and self._filler and self.first < 0:
                filling = self._filler * (index // len(self._filler))
            piece = Piece(path, self.file_size, position, data, filling)
            pieces.append(piece)
            writing.add(piece)
            at += len(data)
        self._taken = pieces
        self._writing = writing

    def end_writing(self) -> bool:
        """What has been written of what was taken need not be in memory any more. Whether that was all of it."""
        pieces, self._taken, self._writing = self._taken or [], None, None
        for piece in pieces:
            if piece.is_new:
                self._open_files.unsynced.add_directories(queue_parents(self._directory))
            if not piece.is_done:
                return False
            # Else `write_out` has written it meanwhile, as there was too much in memory.
            if piece.position == self.written:
                if self.first < 0:
                    self.first = piece.position - piece.index
                self.written += len(piece.data)
                del self._tail[: len(piece.data)]
        return True

    def take_back(self) -> None:
        """Before the files are changed in any other way than by `write_out`: no thread writes them any more."""
        if self._writing is not None:
            self._writing.take_back(self._taken or [])
            self.end_writing()

    def _fd_for_writing(self, path: str, base: int, index: int) -> int:
        try:
            fd = self._open_files.get(path)
        except FileNotFoundError:
            make_directories(self._directory)
            # Before it is made: it may be there, and its descriptor not.
            self._open_files.unsynced.add_directories(queue_parents(self._directory))
            fd = self._open_files.add(path, create_sized(Path(path), self.file_size))
        if self.first < 0:
            if index and self._filler:
                write_fully(fd, [self._filler * (index // len(self._filler))], 0)
            self.first = base
        return fd

    # --- opening and repairing

    def find(self, mend: bool = False, is_expired: Callable[[str], bool] | None = None) -> int:
        """Find the files; returns the position of the last one, -1 without any.

        The last one may be too short, any with `mend`. Files before a hole are removed if
        `is_expired` says so for the path of the last of them; StoreDamaged otherwise.
        """
        bases = find_files(
            self._directory, self.file_size, self._setting, self._open_files, mend, is_expired
        )
        if not bases:
            return -1
        self.first = bases[0]
        self.written = bases[-1] + self.file_size
        return bases[-1]

    def is_whole(self, base: int) -> bool:
        """Whether the file exists, in its full length."""
        try:
            fd = self.descriptor(base)
        except FileNotFoundError:
            return False
        return os.fstat(fd).st_size == self.file_size

    def take_up(self, first: int, end: int) -> None:
        """The files begin at `first` and their content ends at `end`: no need to look."""
        self.first = first
        self.start_at(end)

    def start_at(self, position: int) -> None:
        """Where the next byte goes; nothing is in memory then."""
        self.take_back()
        self.written = position
        self._tail.clear()

    def keep(self, data: bytes, unit: int) -> int:
        """How many bytes of `data` the files already have, in whole units.

        They count as written from now on. Call it while nothing is in memory.
        """
        self.take_back()
        kept = 0
        while kept < len(data) and self.first >= 0:
            index = self.written % self.file_size
            path = self.path(self.written - index)
            wanted = data[kept : kept + self.file_size - index]
            try:
                fd = self._open_files.get(path)
            except FileNotFoundError:
                break
            count = equal_bytes(os.pread(fd, len(wanted), index), wanted, unit)
            if count:
                # Whoever wrote them may not have lived to sync them.
                self._open_files.unsynced.add_file(path)
                self._open_files.unsynced.add_directories(queue_parents(self._directory))
            kept += count
            self.written += count
            if count < len(wanted):
                break
        return kept

    # --- cutting and deleting

    def truncate(self, end: int) -> None:
        """Drop everything from `end` on, in memory and in the files."""
        self.take_back()
        if end > self.written:
            del self._tail[end - self.written :]
            return
        self.start_at(end)
        self.clear_behind()

    def clear_behind(self) -> None:
        """Remove what the files hold after what is written: it must not look valid some day."""
        self.take_back()
        if self.first < 0:
            return
        index = self.written % self.file_size
        base = self.written - index
        later = base if index == 0 and base > self.first else base + self.file_size
        while os.path.exists(self.path(later)):
            self._remove(self.path(later))
            later += self.file_size
        if base < later and self._holds_data(base, index):
            # Unsynced, the old bytes could come back and be vouched for by a later checkpoint.
            self._open_files.unsynced.add_file(self.path(base))
            zero_from(self.descriptor(base), index, self.file_size)

    def _holds_data(self, base: int, index: int) -> bool:
        try:
            fd = self.descriptor(base)
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
        if self.first < 0 or following > min(position, self.written - 1):
            return ""
        path = self.path(self.first)
        if os.path.exists(path):
            self._remove(path)
        self.first = following
        return path

    def delete(self) -> None:
        """Remove files and directory; they are then as new."""
        self.take_back()
        self._close_files()
        removal = Removal(self._directory, [])
        removal.add(self._directory)
        removal.finish(self._open_files.unsynced)
        self._begin_anew()

    def leave(self, removal: Removal) -> None:
        """The same, but that what is on the disk is for `removal`."""
        if self._writing is not None:
            self._writing.drop(self._taken or [])
            removal.wait_for(self._writing)
            self._taken = self._writing = None
        self._close_files()
        removal.add(self._directory)
        self._begin_anew()

    def _close_files(self) -> None:
        if self.first >= 0:
            for base in range(self.first, self.written + 1, self.file_size):
                self._open_files.forget(self.path(base))

    def _begin_anew(self) -> None:
        self.first = -1
        self.start_at(0)

    def _remove(self, path: str) -> None:
        self._open_files.forget(path)
        remove(path)
        self._open_files.unsynced.add_directories([self._directory])
