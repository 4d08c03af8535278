"""The commit log's pages as they are in the kernel's page cache, without copying them.

A file that is read is mapped, and what is sent of it is a view: the kernel copies from the page cache
to the socket. Views are for sending only. A page that the disk cannot deliver raises EFAULT in a
system call, but a signal that ends the process if Python itself reads the bytes.

Private mappings, because ctypes wants a writable one; nothing ever writes to them.

Hot: compiled by mypyc when a compiler is there.
"""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import weakref
from collections import OrderedDict
from typing import Final

from trimq.store.disk.system import NOWAIT, UNSUPPORTED, residency

_PAGE: Final = mmap.PAGESIZE
# Address space only: a file of the log has 1 GiB.
_MOST_FILES: Final = 16
_mincore: Final = residency()
_FLAGS: Final = mmap.MAP_PRIVATE | getattr(mmap, "MAP_NORESERVE", 0)
# The largest piece that is asked about at once; more is read from the disk.
_MOST_BYTES: Final = 16 * 1024 * 1024
# What is asked about along with it, and how often the answer is used.
_LOOK_AHEAD: Final = 256 * 1024
_USES: Final = 64
# A page is in the cache from the moment that the disk is asked for it. Whether it has come, only a
# read tells: one byte for each piece of this size, because the disk fills them in order except for
# its last few requests.
_PROBE: Final = 16 * 1024
# What has come is remembered in pieces of this many bytes, until one of their pages leaves the
# cache.
_CHUNK: Final = 64 * 1024


class MappedFile:
    """One file, from its first byte to its last. Unmapped when nobody has a view any more."""

    __slots__ = ("address", "filled", "mapping", "view")

    def __init__(self, fd: int, size: int) -> None:
        try:
            mapping = mmap.mmap(fd, size, flags=_FLAGS, prot=mmap.PROT_READ | mmap.PROT_WRITE)
        except ValueError as error:
            # Somebody has cut it short behind the broker's back.
            raise OSError(errno.EIO, str(error)) from error
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(mapping))
        self.mapping = weakref.ref(mapping)
        self.view = memoryview(mapping).toreadonly()
        # A byte for each chunk: whether it has come from the disk as a whole.
        self.filled = bytearray((size + _CHUNK - 1) // _CHUNK)

    def forget_filled(self, begin: int, end: int) -> None:
        """Some of these bytes may have left the cache, and come back empty."""
        first, behind = begin // _CHUNK, (end + _CHUNK - 1) // _CHUNK
        self.filled[first:behind] = bytes(behind - first)


class PageCache:
    """The mapped files of a log, the least recently used go first. For one thread."""

    def __init__(self, file_size: int) -> None:
        self._file_size = file_size
        self._files: OrderedDict[int, MappedFile] = OrderedDict()
        # Those that were mapped, by their first offset: as long as there are views of them.
        self._mapped: dict[int, list[weakref.ref[mmap.mmap]]] = {}
        self._states = ctypes.create_string_buffer((_MOST_BYTES + 2 * _CHUNK) // _PAGE)
        self._seen = memoryview(self._states).cast("B")
        self._known_file: MappedFile | None = None
        self._known_from = 0
        self._known_to = 0
        self._uses_left = 0
        self._probed = [bytearray(1)]
        self._nowait = NOWAIT != 0

    def file(self, base: int, path: str) -> MappedFile:
        """The file with this first offset. OSError when it cannot be opened or mapped."""
        found = self._files.get(base)
        if found is not None:
            self._files.move_to_end(base)
            return found
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            found = self._files[base] = MappedFile(fd, self._file_size)
        finally:
            os.close(fd)
        self._mapped[base] = [*self._still_mapped(base), found.mapping]
        if len(self._files) > _MOST_FILES:
            self._files.popitem(last=False)
        return found

    def is_resident(self, file: MappedFile, fd: int, position: int, size: int) -> bool:
        """Whether these bytes of the file, open as `fd`, can be sent without waiting for the disk."""
        return self.resident_end(file, fd, position, size) > 0

    def resident_end(self, file: MappedFile, fd: int, position: int, size: int) -> int:
        """How far from `position` on that is so, at least these bytes; 0: not even they.

        A reader of a backlog asks for what follows next, so the answer for that is remembered for a
        while.
        """
        end = position + size
        if (
            file is self._known_file
            and self._known_from <= position
            and end <= self._known_to
            and self._uses_left > 0
        ):
            self._uses_left -= 1
            return self._known_to
        if _mincore is None or size > _MOST_BYTES:
            return 0
        first = position - position % _CHUNK
        asked = max(end - first, _LOOK_AHEAD) + _CHUNK - 1
        length = min(asked - asked % _CHUNK, self._file_size - first)
        if _mincore(file.address + first, length, self._states):
            return 0
        # The lowest bit of a page's byte says so; the others are reserved, and zero so far.
        states = bytes(self._seen[: (length + _PAGE - 1) // _PAGE])
        missing = states.find(b"\0", (position - first) // _PAGE)
        known = first + length
        if missing >= 0:
            known = first + missing * _PAGE
            file.forget_filled(known, first + length)
        if end > known:
            return 0
        if states.find(b"\0", 0, (position - first) // _PAGE) >= 0:
            file.forget_filled(first, position)
            first = position - position % _PAGE
        known = self._filled(file, fd, first, known)
        if end > known:
            return 0
        self._known_file, self._known_from, self._known_to = file, first, known
        self._uses_left = _USES
        return known

    def _filled(self, file: MappedFile, fd: int, first: int, end: int) -> int:
        """How far these pages, all of them in the cache, have come from the disk."""
        behind = (end + _CHUNK - 1) // _CHUNK
        chunk = file.filled.find(b"\0", first // _CHUNK, behind)
        while chunk >= 0:
            begin = max(chunk * _CHUNK, first)
            chunk_end = min((chunk + 1) * _CHUNK, end)
            came = self._came(fd, begin, chunk_end)
            if came < chunk_end:
                return came
            if begin == chunk * _CHUNK and chunk_end in (begin + _CHUNK, self._file_size):
                file.filled[chunk] = 1
            chunk = file.filled.find(b"\0", chunk + 1, behind)
        return end

    def _came(self, fd: int, begin: int, end: int) -> int:
        """How far the disk has filled these bytes, determined by sample reads that do not wait."""
        while self._nowait and begin < end:
            behind = min(begin + _PROBE, end)
            try:
                os.preadv(fd, self._probed, behind - 1, NOWAIT)
            except BlockingIOError:
                return begin
            except OSError as error:
                if error.errno not in UNSUPPORTED:
                    return begin
                # The file system does not support the flag.
                self._nowait = False
            begin = behind
        return end

    def forget(self, base: int) -> None:
        """The file with this first offset is no longer part of the log, or another one is in its place."""
        self._files.pop(base, None)
        self._known_file = None
        if not self._still_mapped(base):
            self._mapped.pop(base, None)

    def is_viewed(self, base: int) -> bool:
        """Whether anybody still has views of a file that was forgotten: of a reply on its way, mostly."""
        return len(self._still_mapped(base)) > 0

    def _still_mapped(self, base: int) -> list[weakref.ref[mmap.mmap]]:
        return [mapping for mapping in self._mapped.get(base, ()) if mapping() is not None]

    def clear(self) -> None:
        self._files.clear()
        self._mapped.clear()
        self._known_file = None
