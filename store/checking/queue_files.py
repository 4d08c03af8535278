"""A consume queue's files for a check: entries by number, through small blocks and few descriptors."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Iterator
from typing import Final

from trimq.codec.entries.queue import ENTRY_SIZE, FILLER_SIZE, fields_at, parse_all

Entry = tuple[int, int, int]

BLOCK: Final = 40 * ENTRY_SIZE
SCAN_BLOCK: Final = 4096 * ENTRY_SIZE
NO_ENTRY: Final = (0, 0, 0)
FILLER: Final = (0, FILLER_SIZE, 0)


class OpenForReading:
    """Descriptors by path, the longest unused closed first; and the blocks read through them."""

    def __init__(self, files: int = 512, blocks: int = 64_000) -> None:
        self._max_files = files
        self._max_blocks = blocks
        self._fds: OrderedDict[str, int] = OrderedDict()
        self._holders: OrderedDict[int, CheckedFiles] = OrderedDict()

    def read(self, path: str, size: int, position: int) -> bytes:
        """Empty when there is no such file."""
        fd = self._fds.get(path)
        if fd is None:
            try:
                fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            except FileNotFoundError:
                return b""
            self._fds[path] = fd
            if len(self._fds) > self._max_files:
                os.close(self._fds.popitem(last=False)[1])
        else:
            self._fds.move_to_end(path)
        return os.pread(fd, size, position)

    def holds(self, files: CheckedFiles) -> None:
        """The queue has a block in memory; the one with the oldest block gives it up."""
        self._holders[id(files)] = files
        self._holders.move_to_end(id(files))
        if len(self._holders) > self._max_blocks:
            self._holders.popitem(last=False)[1].forget()

    def close(self) -> None:
        while self._fds:
            os.close(self._fds.popitem()[1])


class CheckedFiles:
    """`first` and `per_file` are 0 without files."""

    __slots__ = (
        "_block",
        "_block_at",
        "_opened",
        "bases",
        "directory",
        "first",
        "per_file",
        "sizes",
    )

    def __init__(
        self, directory: str, opened: OpenForReading, entry_size: int = ENTRY_SIZE
    ) -> None:
        self.directory = directory
        self._opened = opened
        self._block = b""
        self._block_at = 0
        try:
            names = sorted(name for name in os.listdir(directory) if name.isdigit())
        except FileNotFoundError:
            names = []
        self.sizes = [os.stat(f"{directory}/{name}").st_size for name in names]
        self.bases = [int(name) // entry_size for name in names]
        self.first = self.bases[0] if names else 0
        self.per_file = self.sizes[0] // entry_size if names else 0

    def forget(self) -> None:
        self._block = b""

    def path(self, base: int, entry_size: int = ENTRY_SIZE) -> str:
        return f"{self.directory}/{base * entry_size:020d}"

    def misfits(self, closed: bool) -> Iterator[str]:
        """Files that are missing or do not have the length of the others.

        In a store that is not closed the last one may have just been created; opening repairs it.
        """
        last = len(self.bases) - 1
        for at, (base, size) in enumerate(zip(self.bases, self.sizes, strict=True)):
            new = at == last and size < self.sizes[0] and not closed
            if size != self.sizes[0] and not new:
                yield f"{self.path(base)} has {size} bytes, the first one {self.sizes[0]}"
            if at and base != self.bases[at - 1] + self.per_file:
                yield f"{self.path(self.bases[at - 1] + self.per_file)} is missing"

    def entry(self, number: int) -> Entry:
        """NO_ENTRY where none was written."""
        at = (number - self._block_at) * ENTRY_SIZE
        if not 0 <= at < len(self._block):
            if not self._load(number):
                return NO_ENTRY
            at = 0
        return fields_at(self._block, at)

    def entry_anew(self, number: int) -> Entry:
        """Reads afresh, not from the blocks."""
        self._block = b""
        return self.entry(number)

    def _load(self, number: int) -> bool:
        if not self.per_file or number < self.first:
            return False
        index = (number - self.first) % self.per_file
        size = min(BLOCK, (self.per_file - index) * ENTRY_SIZE)
        data = self._opened.read(self.path(number - index), size, index * ENTRY_SIZE)
        self._block = data[: len(data) // ENTRY_SIZE * ENTRY_SIZE]
        self._block_at = number
        self._opened.holds(self)
        return len(self._block) > 0

    def entries(self, number: int) -> Iterator[tuple[int, Entry]]:
        """Numbers and entries up to the first that was never written."""
        block = BLOCK
        while self.per_file:
            index = (number - self.first) % self.per_file
            # Mostly there are few or none: reading a hole takes memory, so start small.
            size = min(block, (self.per_file - index) * ENTRY_SIZE)
            block = min(2 * block, SCAN_BLOCK)
            data = self._opened.read(self.path(number - index), size, index * ENTRY_SIZE)
            if len(data) < ENTRY_SIZE:
                return
            for entry in parse_all(data):
                if entry == NO_ENTRY:
                    return
                yield number, entry
                number += 1

    def end(self) -> int:
        """The end of the last entry, found by bisection: entries fill the files from the start."""
        low, high = self.first, (self.bases[-1] + self.per_file if self.bases else 0)
        while low < high:
            middle = (low + high) // 2
            if self.entry_anew(middle) == NO_ENTRY:
                high = middle
            else:
                low = middle + 1
        return low

    def first_behind(self, physical_offset: int, end: int) -> int:
        """The first entry whose record lies at or after the offset (correctMinOffset)."""
        low, high = self.first, end
        while low < high:
            middle = (low + high) // 2
            entry = self.entry_anew(middle)
            if entry == FILLER or entry[0] < physical_offset:
                low = middle + 1
            else:
                high = middle
        return low
