"""Inspecting index files: header and entries, or the chain of one key (IndexFile)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from trimq.codec.java.hashes import string_hash
from trimq.codec.layouts.index import INDEX_ENTRY, INDEX_HEADER, INDEX_SLOT
from trimq.store.inspecting.items import End, Item, Reason, Selection, Unreadable
from trimq.store.inspecting.sparse_file import SparseFile

HEADER_SIZE: Final[int] = INDEX_HEADER.sizeof()
SLOT_SIZE: Final[int] = INDEX_SLOT.sizeof()
ENTRY_SIZE: Final[int] = INDEX_ENTRY.sizeof()
# maxHashSlotNum, maxIndexNum.
DEFAULT_SLOTS: Final = 5_000_000
DEFAULT_ENTRIES: Final = 20_000_000


def key_hash(text: str) -> int:
    """IndexFile.indexKeyHashMethod: Java's hash without its sign; the one without a counterpart is 0."""
    value = abs(string_hash(text))
    return 0 if value == 1 << 31 else value


def slot_count(file: SparseFile, header: Any) -> int:
    """How many slots lie before the entries: no field says so, but entry 1 must fit the header.

    0 when none of the likely numbers does.
    """
    room = file.size - HEADER_SIZE
    guesses = [
        DEFAULT_SLOTS,
        room // (SLOT_SIZE + 4 * ENTRY_SIZE),
        (room - DEFAULT_ENTRIES * ENTRY_SIZE) // SLOT_SIZE,
    ]
    for slots in guesses:
        entry = file.read(HEADER_SIZE + slots * SLOT_SIZE + ENTRY_SIZE, ENTRY_SIZE)
        if slots <= 0 or entry is None:
            continue
        parsed = INDEX_ENTRY.parse(entry)
        fits = parsed.physical_offset == header.begin_physical_offset
        if header.count <= 1 or (fits and parsed.previous_entry == 0 and any(entry)):
            return slots
    return 0


def inspect_index(paths: list[Path], selection: Selection) -> Iterator[Item | End]:
    for path in paths:
        with SparseFile(path) as file:
            yield from _Index(file, selection).items()


class _Index:
    def __init__(self, file: SparseFile, selection: Selection) -> None:
        head = file.read(0, HEADER_SIZE)
        if head is None:
            raise Unreadable(f"{file.path} is too short for an index header")
        self._file = file
        self._selection = selection
        self._header = INDEX_HEADER.parse(head)
        self._slots = selection.index_slots or slot_count(file, self._header)
        if not self._slots:
            raise Unreadable(
                f"{file.path}: entry 1 is not where the usual numbers of slots put it; "
                f"give --index-slots (maxHashSlotNum of the broker that wrote it)"
            )

    def items(self) -> Iterator[Item | End]:
        path = self._file.path
        header = {key: value for key, value in self._header.items() if not key.startswith("_")}
        yield Item("index header", path, 0, 0, header | {"slots": self._slots})
        if self._selection.key is not None:
            yield from self._chain(self._selection.key)
        else:
            yield from self._entries()

    def _entries(self) -> Iterator[Item | End]:
        path, selection = self._file.path, self._selection
        first = max(selection.start or 1, 1)
        last = self._header.count - 1
        stop = last if selection.end is None else min(selection.end, last)
        for number in range(first, stop + 1):
            item = self._entry(number)
            if item is None:
                text = f"the header counts {last} entries, the file ends before number {number}"
                yield End(path, self._file.size, Reason.DAMAGE, text)
                return
            if selection.physical_offset in (None, item.fields["physical_offset"]):
                yield item
        position = self._position(stop + 1)
        if stop < last:
            yield End(path, position, Reason.RANGE, f"up to {stop} as asked for")
        else:
            yield End(path, position, Reason.ZEROS, f"the header counts {last} entries")

    def _chain(self, key: str) -> Iterator[Item | End]:
        """The entries that a query for the key looks at; other keys of that hash are among them."""
        path, wanted = self._file.path, key_hash(key)
        at = HEADER_SIZE + wanted % self._slots * SLOT_SIZE
        slot = self._file.read(at, SLOT_SIZE)
        number = INDEX_SLOT.parse(slot) if slot is not None else 0
        newest, before = number, self._header.count
        while 0 < number < before:
            item = self._entry(number)
            if item is None:
                break
            if item.fields["key_hash"] == wanted:
                yield item
            before, number = number, item.fields["previous_entry"]
        text = f"slot {wanted % self._slots} of {key!r} (hash {wanted}), newest entry {newest}"
        if number:
            text += f": the chain breaks at entry {before}, which points to {number}"
        yield End(path, at, Reason.DAMAGE if number else Reason.RANGE, text)

    def _position(self, number: int) -> int:
        return HEADER_SIZE + self._slots * SLOT_SIZE + number * ENTRY_SIZE

    def _entry(self, number: int) -> Item | None:
        position = self._position(number)
        data = self._file.read(position, ENTRY_SIZE)
        if data is None:
            return None
        parsed = INDEX_ENTRY.parse(data)
        fields = {key: value for key, value in parsed.items() if not key.startswith("_")}
        return Item("index entry", self._file.path, position, number, fields)
