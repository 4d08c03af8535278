"""The hash slots of an index file that is being written, in memory.

A slot holds the number of the newest entry of its keys. Keys hit slots at random, so the slots are
kept in one table and written to the file a page at a time, only those that changed. The table is
anonymous memory that takes room only where it is used; it is not the file.

While a worker thread copies the table, to write it, nothing here changes it: what is entered
meanwhile is kept beside it, and `settle` adds it later. `freeze` settles first, so a table is never
frozen with late slots.

| state    | `enter` goes to | left by                                                          |
|----------|-----------------|------------------------------------------------------------------|
| open     | the table       | `freeze` -> frozen                                               |
| frozen   | `_late`         | `unfreeze` (copied) or `thaw` (written or not) -> settling       |
| settling | `_late`         | `settle`, in steps -> open as soon as nothing is late            |

A page is marked as changed until a `freeze` hands it out; `thaw` marks those again that were not written.

Hot: compiled by mypyc when a compiler is there.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from mmap import mmap
from typing import Final

from trimq.codec.entries.index import HEADER_SIZE, SLOT_SIZE, pack_entries
from trimq.store import native
from trimq.store.native.slots import PAGE_SLOTS, SHIFT, big_endian, seconds_from

# Pages in one read or write: 1 MiB.
PAGES_AT_ONCE: Final = 256
# Slots settled in one step: 1 to 2 ms.
SETTLED_AT_ONCE: Final = 4000


class SlotTable:
    __slots__ = ("_changed", "_frozen", "_late", "_used_before", "count", "values")

    def __init__(self, count: int) -> None:
        self.count = count
        self.values = memoryview(mmap(-1, count * SLOT_SIZE)).cast("i")
        self._changed = bytearray((count + SHIFT - 1) // PAGE_SLOTS + 1)
        # Pages that were loaded, or changed before the last `freeze`: all others hold zeros, if they have not changed.
        self._used_before = bytearray(len(self._changed))
        self._frozen = False
        self._late: dict[int, int] = {}

    # --- entering and finding

    def enter(
        self, hashes: list[int], offsets: list[int], times: list[int], begin: int, number: int
    ) -> tuple[bytes, int]:
        """Give the keys the entries from `number` on: the entries' bytes, and how many slots were free."""
        if not self.waits:
            return native.enter_keys(
                self.values, self._changed, number, hashes, offsets, times, begin
            )
        before: list[int] = []
        for key_hash in hashes:
            slot = key_hash % self.count
            previous = self.entry_of(slot)
            before.append(previous if 0 < previous < number else 0)
            self._late[slot] = number
            number += 1
        entries = pack_entries(hashes, offsets, seconds_from(begin, times), before)
        return entries, before.count(0)

    @property
    def waits(self) -> bool:
        """Whether new entries have to be kept beside the table."""
        return self._frozen or len(self._late) > 0

    def entry_of(self, slot: int) -> int:
        late = self._late.get(slot)
        return self.values[slot] if late is None else late

    # --- writing

    @property
    def unwritten(self) -> bool:
        return len(self._late) > 0 or self._changed.find(1) >= 0

    def freeze(self) -> list[tuple[int, int]]:
        """From now on nobody changes the table; the runs of slots that changed, each 1 MiB at most."""
        while self.settle():
            pass
        runs = [self._slots_of(first, end) for first, end in runs_of(self._changed)]
        self._used_before = self._used_pages()
        self._changed = bytearray(len(self._changed))
        self._frozen = True
        return runs

    def unfreeze(self) -> None:
        """The table may change again: its changes have been copied."""
        self._frozen = False

    def thaw(self, unwritten: list[tuple[int, int]]) -> None:
        """The writing has ended; what was not written is to be written again."""
        for first, end in unwritten:
            for page in range((first + SHIFT) // PAGE_SLOTS, (end - 1 + SHIFT) // PAGE_SLOTS + 1):
                self._changed[page] = 1
        self._frozen = False

    def settle(self, limit: int = SETTLED_AT_ONCE) -> bool:
        """Add some of what came while the table was frozen; True when more is waiting."""
        if self._frozen:
            return False
        late, values, changed = self._late, self.values, self._changed
        for _ in range(min(limit, len(late))):
            slot, number = late.popitem()
            values[slot] = number
            changed[(slot + SHIFT) // PAGE_SLOTS] = 1
        return len(late) > 0

    def _slots_of(self, first_page: int, end_page: int) -> tuple[int, int]:
        return (
            max(first_page * PAGE_SLOTS - SHIFT, 0),
            min(end_page * PAGE_SLOTS - SHIFT, self.count),
        )

    # --- loading

    def load(self, fd: int) -> None:
        """Take up the slots of a file; holes cost nothing."""
        for first, end in self._used(fd):
            data = os.pread(fd, (end - first) * SLOT_SIZE, HEADER_SIZE + first * SLOT_SIZE)
            self.values[first:end] = big_endian(data)
            for page in range((first + SHIFT) // PAGE_SLOTS, (end - 1 + SHIFT) // PAGE_SLOTS + 1):
                self._used_before[page] = 1

    def outside(self, limit: int) -> int | None:
        """An entry that a slot points to, and that is below 0, or `limit` or behind it; None: there is no such slot."""
        for slot in self._outside(limit):
            return self.values[slot]
        return None

    def lead_back(self, limit: int, previous_of: Callable[[int], int]) -> None:
        """Make every slot forget the entries from `limit` on; it gets the newest earlier one."""
        for slot in self._outside(limit):
            older = self.values[slot]
            if older < limit:
                # Damage, which nothing leads back from.
                continue
            while older >= limit:
                older = previous_of(older)
            self.values[slot] = older
            self._changed[(slot + SHIFT) // PAGE_SLOTS] = 1

    def _outside(self, limit: int) -> Iterator[int]:
        for first_page, end_page in runs_of(self._used_pages()):
            first, end = self._slots_of(first_page, end_page)
            for slot in native.slots_outside(self.values[first:end], limit):
                yield first + slot

    def _used_pages(self) -> bytearray:
        """All that may hold anything but zeros: a zero is the mark of an empty slot."""
        used = self._used_before[:]
        for first, end in runs_of(self._changed):
            used[first:end] = self._changed[first:end]
        return used

    def _used(self, fd: int) -> Iterator[tuple[int, int]]:
        """Runs of slots that the file holds, 1 MiB at most."""
        pages = len(self._changed)
        page = 0
        while page < pages:
            try:
                page = os.lseek(fd, page * PAGE_SLOTS * SLOT_SIZE, os.SEEK_DATA) // 4096
            except OSError as error:
                if error.errno != errno.ENXIO:
                    raise
                # Nothing but a hole up to the end.
                return
            if page >= pages:
                return
            hole = os.lseek(fd, page * PAGE_SLOTS * SLOT_SIZE, os.SEEK_HOLE)
            end = min(page + PAGES_AT_ONCE, pages, -(-hole // (PAGE_SLOTS * SLOT_SIZE)))
            yield self._slots_of(page, end)
            page = end


def runs_of(changed: bytearray) -> Iterator[tuple[int, int]]:
    """First page and the page after the last, for every run of changed pages."""
    first = changed.find(1)
    while first >= 0:
        end = changed.find(0, first, first + PAGES_AT_ONCE)
        if end < 0:
            end = min(first + PAGES_AT_ONCE, len(changed))
        yield first, end
        first = changed.find(1, end)
