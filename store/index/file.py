"""One index file (IndexFile): header, hash slots, then the entries of keys in the order of arrival.

Entry n is at `40 + 4 * slots + 20 * n`; entry 0 is never used. A slot holds the newest entry of its
keys, every entry the previous one of the same slot. Files are named after the time they were
created and have their full length, sparse.

A file that still accepts keys keeps its slots in memory, and its entries until they are written. It
is written by `FileWriting` in a worker thread.

| state   | its slots            | new entries wait in | left by                                        |
|---------|----------------------|---------------------|------------------------------------------------|
| taking  | open                 | `_entries`          | `freeze` -> writing, unless it lacks nothing   |
| writing | frozen, `go_on` thaws | `_entries`         | `thaw` -> taking; what was not done comes back |
| done    | not in memory        | none: it is full    | being deleted when all its messages are gone   |

`settle` makes a full file done once it is written; a file found full on the disk is done from the start.

Hot: compiled by mypyc when a compiler is there.
"""

from __future__ import annotations

import copy
from functools import partial
from typing import Final

from trimq.codec.entries.index import (
    FIRST_ENTRY,
    HEADER_SIZE,
    IndexHeader,
    pack_header,
    parse_header,
)
from trimq.codec.errors import CodecError
from trimq.store.index.entries import EntryReader, Shape
from trimq.store.index.search import FileSearch
from trimq.store.index.slots import SlotTable
from trimq.store.index.writing import FileWriting
from trimq.store.messages.message import Dispatched

# Behind every timestamp, so that all seconds are 0.
NO_ORIGIN: Final = 1 << 62


class IndexFile:
    """`header` is what readers see; `written` counts the entries that are in the file."""

    __slots__ = (
        "_entries",
        "_first_header",
        "_on_disk",
        "_shape",
        "_slots",
        "_writing",
        "header",
        "path",
        "written",
    )

    def __init__(self, path: str, shape: Shape) -> None:
        self.path = path
        self.header = IndexHeader()
        self.written = FIRST_ENTRY
        self._shape = shape
        self._slots: SlotTable | None = None
        self._entries: list[bytes] = []
        self._writing: FileWriting | None = None
        self._on_disk = False
        self._first_header = b""

    @classmethod
    def new(cls, path: str, shape: Shape, before: IndexHeader | None) -> IndexFile:
        """A file of which nothing is on the disk yet; it begins where the previous one ended."""
        made = cls(path, shape)
        made._slots = SlotTable(shape.slots)
        if before is not None:
            made.header.begin_timestamp = made.header.end_timestamp = before.end_timestamp
            made.header.begin_physical_offset = before.end_physical_offset
            made.header.end_physical_offset = before.end_physical_offset
        made._first_header = pack_header(made.header)
        return made

    @classmethod
    def found(cls, path: str, shape: Shape) -> IndexFile:
        """A file as it is on the disk."""
        made = cls(path, shape)
        made._on_disk = True
        with open(path, "rb") as file:
            made.header = parse_header(file.read(HEADER_SIZE))
        made.header.count = min(made.header.count, shape.entries)
        made.written = made.header.count
        return made

    @property
    def is_full(self) -> bool:
        return self.header.count >= self._shape.entries

    @property
    def is_written(self) -> bool:
        """Whether the file on the disk has everything."""
        if self._entries or self._writing is not None:
            return False
        return self._slots is None or not self._slots.unwritten

    # --- taking keys

    def open_slots(self, mend: bool) -> None:
        """From now on the file takes keys; `mend`: slots may point to entries that do not count."""
        slots = self._slots = SlotTable(self._shape.slots)
        with EntryReader(self.path, self._shape) as reader:
            slots.load(reader.fd)
            if mend:
                slots.lead_back(self.header.count, partial(previous_of, reader))

    def check_slots(self) -> None:
        """CodecError: one points to no entry."""
        assert self._slots is not None
        entry = self._slots.outside(self.header.count)
        if entry is not None:
            raise CodecError(f"a hash slot points to entry {entry}")

    def put(self, hashes: list[int], owners: list[Dispatched], start: int) -> int:
        """Accept keys from `start` on, while there is room; returns where it stopped."""
        header = self.header
        end = min(len(hashes), start + self._shape.entries - header.count)
        if header.count == FIRST_ENTRY and start < end:
            # Its seconds still count from the end of the previous file; then its own time begins.
            self._enter(hashes[start : start + 1], owners[start : start + 1])
            header.begin_timestamp = header.end_timestamp
            header.begin_physical_offset = header.end_physical_offset
            start += 1
        if start < end:
            self._enter(hashes[start:end], owners[start:end])
        return end

    def _enter(self, hashes: list[int], owners: list[Dispatched]) -> None:
        header = self.header
        slots = self._slots
        assert slots is not None
        begin = header.begin_timestamp if header.begin_timestamp > 0 else NO_ORIGIN
        offsets = [owner.physical_offset for owner in owners]
        times = [owner.store_timestamp for owner in owners]
        entries, free = slots.enter(hashes, offsets, times, begin, header.count)
        self._entries.append(entries)
        header.count += len(hashes)
        header.used_slots += free
        header.end_physical_offset = owners[-1].physical_offset
        header.end_timestamp = owners[-1].store_timestamp

    # --- being written

    def freeze(self) -> FileWriting | None:
        """What the file lacks, for a worker thread; None when it lacks nothing."""
        slots = self._slots
        if slots is None or self.is_written:
            return None
        writing = FileWriting(self.path, self._shape.size, slots.values)
        writing.runs = slots.freeze()
        writing.entries, self._entries = self._entries, []
        writing.entries_position = self._shape.position(self.written)
        writing.header = pack_header(self.header)
        if not self._on_disk:
            writing.first_header = self._first_header
        writing.count = self.header.count
        self._writing = writing
        return writing

    def go_on(self) -> None:
        """While the file is written: once its slots are copied they take keys again."""
        if self._writing is not None and self._writing.copied and self._slots is not None:
            self._slots.unfreeze()
            self._slots.settle()

    def thaw(self, done: bool) -> None:
        """The worker thread has ended; what it did not write to the disk is to be written again."""
        writing = self._writing
        if writing is None or self._slots is None:
            return
        self._writing = None
        if done:
            self.written = writing.count
            self._on_disk = True
            self._slots.thaw([])
        else:
            self._entries = writing.entries + self._entries
            self._slots.thaw(writing.runs)

    def settle(self) -> bool:
        """Enter some of what came while the file was written; True when more is waiting."""
        if self._slots is None:
            return False
        if self._slots.settle():
            return True
        if self.is_full and self.is_written:
            # It takes no more keys.
            self._slots = None
        return False

    # --- reading

    def search(self, key_hash: int) -> FileSearch:
        """All that a search for the key here needs, for a worker thread."""
        newest = -1
        if self._slots is not None:
            newest = self._slots.entry_of(key_hash % self._shape.slots)
        written = [] if self._writing is None else self._writing.entries
        return FileSearch(
            self.path if self._on_disk else "",
            self._shape,
            copy.copy(self.header),
            newest,
            (self.written, b"".join(written + self._entries)),
        )

    @property
    def unwritten_bytes(self) -> int:
        return sum(len(entries) for entries in self._entries)


def previous_of(reader: EntryReader, number: int) -> int:
    """The entry before it in the same slot, 0 when there is none."""
    previous = reader.entry(number).previous
    return previous if 0 < previous < number else 0
