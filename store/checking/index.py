"""Records against index entries, both ways, and the chains of every index file (IndexService).

Entries are in the order of the log, so files and log are compared side by side. The slots of one
file at a time are rebuilt in memory (20 MB at the default size) and compared with those in the file.
"""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_left
from collections.abc import Iterator
from operator import mul
from pathlib import Path
from typing import Final

from trimq.codec.entries.index import iter_entries, parse_entry
from trimq.codec.flags import SysFlag
from trimq.codec.java.hashes import string_hash
from trimq.codec.layouts.index import INDEX_HEADER
from trimq.codec.records.properties import find_property
from trimq.codec.records.record import Record
from trimq.store.checking.findings import Findings
from trimq.store.checking.log import NOWHERE, LogWalk
from trimq.store.checking.queues import Misses
from trimq.store.checking.state import StoreState
from trimq.store.inspecting.index import ENTRY_SIZE, HEADER_SIZE, SLOT_SIZE, slot_count
from trimq.store.inspecting.sparse_file import SparseFile

BLOCK: Final = 8192
_MASK: Final = 0xFFFFFFFF
LONGEST: Final = 512
INT_MAX: Final = (1 << 31) - 1

IndexEntry = tuple[int, int, int, int]


def _powers() -> list[list[int]]:
    """For every length the factors of its characters in Java's string hash."""
    factors = [1]
    while len(factors) < LONGEST:
        factors.append(factors[-1] * 31 & _MASK)
    return [factors[length - 1 :: -1] if length else [] for length in range(LONGEST)]


class ExpectedHashes:
    """The hashes of a record's index entries, in the order in which they are written.

    Deliberately computed without store.index.keys: a mistake there must not vouch for itself.
    Java's hash of `topic#key` from that of `topic#`: 31 to the key's length times it, plus the key's.
    """

    __slots__ = ("_factors", "_prefixes")

    def __init__(self) -> None:
        self._factors = _powers()
        self._prefixes: dict[str, int] = {}

    def of(self, record: Record) -> list[int]:
        properties = record.properties
        if record.sys_flag & SysFlag.TRANSACTION_MASK == SysFlag.ROLLBACK or not properties:
            return []
        found: list[int] = []
        prefix = self._prefix(record.topic + "#")
        unique = find_property(properties, b"UNIQ_KEY")
        if unique is not None:
            found.append(self._hash(prefix, unique))
        keys = find_property(properties, b"KEYS")
        if keys is not None:
            found += [self._hash(prefix, key) for key in keys.split(b" ") if key]
        tags = find_property(properties, b"TAGS")
        if tags is not None:
            found.append(self._hash(self._prefix(record.topic + "#T#"), tags))
        return found

    def _prefix(self, text: str) -> int:
        value = self._prefixes.get(text)
        if value is None:
            if len(self._prefixes) >= 100_000:
                self._prefixes.clear()
            value = self._prefixes[text] = string_hash(text) & _MASK
        return value

    def _hash(self, prefix: int, key: bytes) -> int:
        length = len(key)
        if key.isascii() and 0 < length < LONGEST - 1:
            factors = self._factors[length]
            value = prefix * (factors[0] * 31) + sum(map(mul, key, factors))
        else:
            text = key.decode("utf-8", "replace")
            units = len(text.encode("utf-16-be", "surrogatepass")) // 2
            value = prefix * pow(31, units, 1 << 32) + string_hash(text)
        value &= _MASK
        if value > INT_MAX:
            value = (1 << 32) - value
        # The smallest int has no absolute value in Java.
        return 0 if value == 1 << 31 else value


class IndexFileCheck:
    """One file: its entries in order, its chains rebuilt."""

    def __init__(self, path: Path, findings: Findings, chains: bool) -> None:
        self.file = SparseFile(path)
        self.path = path
        self._findings = findings
        head = self.file.read(0, HEADER_SIZE)
        if head is None:
            findings.problem("index file damaged", f"{path} is too short for a header")
            head = bytes(HEADER_SIZE)
        self.header = INDEX_HEADER.parse(head)
        self.slots = slot_count(self.file, self.header)
        self._heads = array("i", bytes(4 * self.slots if chains else 0))
        self._used = 0
        if not self.slots:
            text = f"{path}: header and first entry contradict each other"
            findings.problem("index file damaged", text)

    def entries(self, first: int) -> Iterator[IndexEntry]:
        """From that entry on; the chain of each is checked when all of them are asked for."""
        if not self.slots:
            return
        count = self.header.count
        at = HEADER_SIZE + self.slots * SLOT_SIZE
        chains = len(self._heads) > 0 and first == 1
        while first < count:
            number = min(BLOCK, count - first)
            data = self.file.read(at + first * ENTRY_SIZE, number * ENTRY_SIZE)
            if data is None:
                text = f"{self.path}: the header counts {count - 1} entries, but some are missing"
                self._findings.problem("index file damaged", text)
                return
            for entry in iter_entries(data):
                if chains:
                    self._link(first, entry)
                first += 1
                yield entry
        if chains:
            self._compare_slots()

    def _link(self, number: int, entry: IndexEntry) -> None:
        slot = entry[0] % self.slots
        before = self._heads[slot]
        self._heads[slot] = number
        self._used += not before
        if entry[3] != before:
            text = f"{self.path}: entry {number} points back to {entry[3]}, it should be {before}"
            self._findings.problem("index chain broken", text)

    def _compare_slots(self) -> None:
        block = 1 << 18
        for start in range(0, self.slots, block):
            size = min(block, self.slots - start) * SLOT_SIZE
            found = array("i", self.file.read(HEADER_SIZE + start * SLOT_SIZE, size) or b"")
            if sys.byteorder == "little":
                found.byteswap()
            wanted = self._heads[start : start + block]
            if found != wanted:
                self._report_slots(start, found, wanted)
        if self._used != self.header.used_slots:
            text = (
                f"{self.path}: {self._used} slots in use, the header says {self.header.used_slots}"
            )
            self._findings.problem("index chain broken", text)

    def _report_slots(self, start: int, found: array[int], wanted: array[int]) -> None:
        for at, (is_there, expected) in enumerate(zip(found, wanted, strict=False)):
            if is_there != expected:
                text = f"{self.path}: slot {start + at} holds {is_there}, it should be {expected}"
                self._findings.problem("index chain broken", text)

    def first_behind(self, physical_offset: int) -> int:
        """Number of the first entry for a record at or after the offset."""
        at = HEADER_SIZE + self.slots * SLOT_SIZE

        def is_behind(number: int) -> bool:
            data = self.file.read(at + number * ENTRY_SIZE, ENTRY_SIZE)
            return data is None or parse_entry(data).physical_offset >= physical_offset

        numbers = range(1, max(self.header.count, 1) if self.slots else 1)
        return 1 + bisect_left(numbers, True, key=is_behind)

    def seconds(self, store_timestamp: int) -> int:
        """What an entry says for a record of that time (IndexFile.putKey)."""
        begin: int = self.header.begin_timestamp
        if begin <= 0:
            return 0
        return min(max(store_timestamp - begin, 0) // 1000, INT_MAX)


class IndexChecks:
    """`quick` checks entries from the walk's start on, and no chains."""

    def __init__(
        self, root: Path, walk: LogWalk, state: StoreState, findings: Findings, quick: bool
    ) -> None:
        folder = root / "index"
        names = folder.iterdir() if folder.is_dir() else ()
        self._paths = sorted(path for path in names if path.name.isdigit())
        self._walk = walk
        self._state = state
        self._findings = findings
        self._quick = quick
        self._hashes = ExpectedHashes()
        self._entries = self._all_entries()
        self._file: IndexFileCheck | None = None
        self._next = next(self._entries, None)
        # Records before the first entry were indexed in a file that is gone, or never.
        self._begin = self._first_offset()
        self._unindexed = 0
        self._last_offset = -1
        self._tail = Misses()
        self._inner = Misses()
        self.files = len(self._paths)

    def close(self) -> None:
        if self._file is not None:
            self._file.file.close()

    def _first_offset(self) -> int:
        if not self._paths:
            return 0
        with SparseFile(self._paths[0], 4096) as file:
            head = file.read(0, HEADER_SIZE)
        return int(INDEX_HEADER.parse(head).begin_physical_offset) if head is not None else 0

    def _all_entries(self) -> Iterator[IndexEntry]:
        for path in self._paths:
            self.close()
            self._file = IndexFileCheck(path, self._findings, not self._quick)
            first = self._file.first_behind(self._walk.start) if self._quick else 1
            yield from self._file.entries(first)

    def record(self, record: Record) -> None:
        if not self._paths:
            return
        wanted = self._hashes.of(record)
        offset = record.physical_offset
        while self._next is not None and self._next[1] < offset:
            # Of the previous record, whose keys have been compared.
            if self._next[1] != self._last_offset:
                self._unasked(self._next, NOWHERE)
            self._next = next(self._entries, None)
        self._last_offset = offset
        if not wanted:
            return
        found: list[int] = []
        while self._next is not None and self._next[1] == offset:
            found.append(self._next[0])
            self._check_time(self._next, record)
            self._next = next(self._entries, None)
        # After a crash the last record may be indexed a second time.
        if found == wanted or (found and set(found) == set(wanted)):
            if self._tail.count:
                self._inner.take(self._tail)
        elif not found and offset < self._begin:
            self._unindexed += 1
        else:
            self._differs(record, wanted, found)

    def _differs(self, record: Record, wanted: list[int], found: list[int]) -> None:
        where = f"{record.topic} {record.queue_id} offset {record.queue_offset}"
        where += f", record at {record.physical_offset}"
        if not found:
            self._tail.add(record.physical_offset, where)
            return
        text = f"{where}: the hashes of its keys are {wanted}, those in the index {found}"
        self._findings.problem("index entry wrong or missing", text)

    def _check_time(self, entry: IndexEntry, record: Record) -> None:
        assert self._file is not None
        expected = self._file.seconds(record.store_timestamp)
        if entry[2] != expected:
            text = f"{self._file.path}: record at {entry[1]}: {entry[2]} s, it should be {expected}"
            self._findings.problem("index entry wrong or missing", text)

    def _unasked(self, entry: IndexEntry, log_end: int) -> None:
        if entry[1] < self._walk.start:
            return
        text = f"an index entry points to {entry[1]}"
        if entry[1] < log_end:
            if any(start <= entry[1] < end for start, end in self._walk.damaged):
                self._findings.problem("entry of a lost record", f"{text}, in a damaged region")
            else:
                self._findings.problem(
                    "dangling index entry", f"{text}, where there is no such record"
                )
        elif self._state.closed:
            self._findings.problem("dangling index entry", f"{text}, beyond the log's end")
        elif not self._state.running:
            text += f", the log ends at {self._walk.end}"
            self._findings.note("index entries beyond the log's end", text)

    def finish(self) -> None:
        if not self._paths:
            self._findings.note("no index", "messages cannot be found by key")
            return
        while self._next is not None:
            self._unasked(self._next, self._walk.end)
            self._next = next(self._entries, None)
        if self._unindexed:
            text = f"{self._unindexed} records before {self._begin} are not in any index file"
            self._findings.note("index begins later than the log", text)
        for misses, at_end in ((self._inner, False), (self._tail, True)):
            self._report(misses, at_end)

    def _report(self, misses: Misses, at_end: bool) -> None:
        if not misses.count:
            return
        if at_end and not self._state.closed:
            kind = "index entries not written yet"
            self._findings.note(kind, misses.text, misses.count)
        else:
            kind = "index entry wrong or missing"
            self._findings.problem(kind, f"{misses.text}: not indexed", misses.count)
