"""Where things are in an index file, and reading its entries one at a time.

Hot: compiled by mypyc when a compiler is there.
"""

from __future__ import annotations

import os
from typing import Final, Self

from trimq.codec.entries.index import (
    ENTRY_SIZE,
    HEADER_SIZE,
    SLOT_SIZE,
    IndexEntry,
    parse_entry,
    parse_slot,
)

# Entries in one read. Those of a key that many messages have are close together.
BLOCK: Final = 4096 // ENTRY_SIZE


class Shape:
    """How many slots and entries every file has (maxHashSlotNum, maxIndexNum)."""

    __slots__ = ("entries", "entries_at", "size", "slots")

    def __init__(self, slots: int, entries: int) -> None:
        self.slots = slots
        self.entries = entries
        self.entries_at = HEADER_SIZE + slots * SLOT_SIZE
        self.size = self.entries_at + entries * ENTRY_SIZE

    def position(self, number: int) -> int:
        """Where an entry is in the file."""
        return self.entries_at + number * ENTRY_SIZE


class EntryReader:
    """One file, opened for reading: may block on the disk. FileNotFoundError: it was deleted.

    `tail`: the number of the first entry that is not in the file yet, and the bytes of that one and
    all later ones. Without a path there is no file yet, and the tail is everything.
    """

    def __init__(self, path: str, shape: Shape, tail: tuple[int, bytes] = (0, b"")) -> None:
        self._shape = shape
        self._tail_at, self._tail = tail
        self._block = b""
        self._block_at = -1
        self.fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC) if path else -1

    def slot(self, number: int) -> int:
        """The newest entry of a slot, as the file has it."""
        data = os.pread(self.fd, SLOT_SIZE, HEADER_SIZE + number * SLOT_SIZE)
        return parse_slot(data)

    def entry(self, number: int) -> IndexEntry:
        if self._tail and number >= self._tail_at:
            return parse_entry(self._tail, (number - self._tail_at) * ENTRY_SIZE)
        block_at = number - number % BLOCK
        if block_at != self._block_at:
            position = self._shape.position(block_at)
            self._block = os.pread(self.fd, BLOCK * ENTRY_SIZE, position)
            self._block_at = block_at
        return parse_entry(self._block, (number - block_at) * ENTRY_SIZE)

    def close(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
