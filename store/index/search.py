"""Searching the index for a key: the rules of IndexService.queryOffset and IndexFile.selectPhyOffset.

The newest message comes first. Only hashes are compared, so a few other messages may be among the
results; clients compare the real keys. A search is given all it needs and touches files only: for a
key that very many messages have it takes long, and belongs in a worker thread.
"""

from __future__ import annotations

import sys
import time
from typing import Final

from trimq.codec.entries.index import FIRST_ENTRY, IndexEntry, IndexHeader
from trimq.store.index.entries import EntryReader, Shape

_STEPS_IN_A_ROW: Final = 1000
_PAUSE_SECONDS: Final = 0.000_5


class Wanted:
    """What is searched for, in store timestamps from `begin` to `end`, both included.

    `steps_left`: how many entries may be read.
    """

    __slots__ = ("begin", "end", "key_hash", "max_count", "steps_left")

    def __init__(self, key_hash: int, max_count: int, begin: int, end: int) -> None:
        self.key_hash = key_hash
        self.max_count = max_count
        self.begin = begin
        self.end = end
        self.steps_left = sys.maxsize


class FileSearch:
    """One file as it was when the search was planned."""

    __slots__ = ("_newest", "_path", "_shape", "_tail", "header")

    def __init__(
        self, path: str, shape: Shape, header: IndexHeader, newest: int, tail: tuple[int, bytes]
    ) -> None:
        self.header = header
        self._path = path
        self._shape = shape
        self._newest = newest
        self._tail = tail

    def covers(self, wanted: Wanted) -> bool:
        """IndexFile.isTimeMatched: whether any moment of the file is searched for."""
        first, last = self.header.begin_timestamp, self.header.end_timestamp
        if wanted.begin < first and wanted.end > last:
            return True
        return first <= wanted.begin <= last or first <= wanted.end <= last

    def run(self, wanted: Wanted, found: list[int]) -> None:
        """Add physical offsets until there are enough."""
        if self.header.count <= FIRST_ENTRY:
            return
        try:
            reader = EntryReader(self._path, self._shape, self._tail)
        except FileNotFoundError:
            # Its messages have expired in the meantime.
            return
        with reader:
            number = self._newest
            if number < 0:
                number = reader.slot(wanted.key_hash % self._shape.slots)
            self._walk(reader, number, wanted, found)

    def _walk(self, reader: EntryReader, number: int, wanted: Wanted, found: list[int]) -> None:
        count = self.header.count
        while 0 < number < count and len(found) < wanted.max_count:
            wanted.steps_left -= 1
            if wanted.steps_left < 0:
                return
            if wanted.steps_left % _STEPS_IN_A_ROW == 0:
                # The event loop needs the interpreter, too.
                time.sleep(_PAUSE_SECONDS)
            entry = reader.entry(number)
            if entry.seconds < 0:
                return
            timestamp = self.header.begin_timestamp + entry.seconds * 1000
            if is_match(entry, timestamp, wanted):
                found.append(entry.physical_offset)
            if timestamp < wanted.begin or entry.previous >= number:
                return
            number = entry.previous


def is_match(entry: IndexEntry, timestamp: int, wanted: Wanted) -> bool:
    return entry.key_hash == wanted.key_hash and wanted.begin <= timestamp <= wanted.end


class IndexSearch:
    """All files, the newest first; `run` may block on the disk."""

    __slots__ = ("_files", "_wanted", "offsets", "updated_offset", "updated_timestamp")

    def __init__(self, wanted: Wanted, files: list[FileSearch]) -> None:
        self.offsets: list[int] = []
        self.updated_timestamp = 0
        """Store timestamp of the last message in the index."""
        self.updated_offset = 0
        """Its physical offset."""
        self._wanted = wanted
        self._files = files

    @property
    def cut_short(self) -> bool:
        """Whether it ended because there was too much to check."""
        return self._wanted.steps_left < 0

    def run(self) -> None:
        """Find physical offsets; they are returned in the order of the log."""
        wanted = self._wanted
        for file in self._files:
            if file.covers(wanted):
                file.run(wanted, self.offsets)
            enough = len(self.offsets) >= wanted.max_count
            if file.header.begin_timestamp < wanted.begin or enough or self.cut_short:
                break
        if self.offsets:
            self.offsets.sort()
            self.updated_timestamp = self._files[0].header.end_timestamp
            self.updated_offset = self._files[0].header.end_physical_offset
