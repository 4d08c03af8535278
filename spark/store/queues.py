"""Consume queues of a store as ways to its records: counted, cut into shares, and read record by record.

An entry of a queue names where one record lies in the commit log. Consume queues have one entry for each
queue offset, batch consume queues one for each record; both are filled from the front, in the order of the log, and
entries whose records have been deleted stay at the front for a while.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from trimq.codec.entries.batch_queue import BATCH_ENTRY_SIZE
from trimq.codec.entries.queue import ENTRY_SIZE, FILLER_SIZE, place_at
from trimq.spark.store.files import Files, is_local
from trimq.spark.store.options import Store, StoreOptions
from trimq.store.inspecting.sparse_file import SparseFile

log: Final = logging.getLogger("trimq.spark")

KINDS: Final = {"consumequeue": ENTRY_SIZE, "batchconsumequeue": BATCH_ENTRY_SIZE}
# What is read around an entry that is searched for: reading a hole takes memory, a request takes
# time.
_NEAR_WINDOW: Final = 40 * ENTRY_SIZE
_FAR_WINDOW: Final = 4096 * ENTRY_SIZE
_ENTRIES: Final = 50_000


@dataclass(frozen=True, slots=True)
class QueueRange:
    """Entries of one queue, counted from its first file's first one: from `start` on, before `end`."""

    folder: str
    entry_size: int
    start: int
    end: int


class QueueLook:
    """The files of one queue, opened when they are needed."""

    def __init__(self, folder: str, entry_size: int, files: Files) -> None:
        self.folder = folder
        self.entry_size = entry_size
        self._files = files
        sizes = [one for one in files.sizes(folder) if one[1] >= entry_size]
        self._bases = [int(name) // entry_size for name, _ in sizes]
        self._names = [name for name, _ in sizes]
        self._per_file = sizes[0][1] // entry_size if sizes else 0
        self._window = _NEAR_WINDOW if is_local(folder) else _FAR_WINDOW
        self._open: tuple[str, SparseFile] | None = None

    def close(self) -> None:
        if self._open is not None:
            self._open[1].close()
            self._open = None

    def count(self, low: int, high: int) -> QueueRange:
        """The entries whose records begin at or after the offset `low`, and before `high`."""
        first = self._bases[0] if self._bases else 0
        last = self._bases[-1] + self._per_file if self._bases else 0
        end = self._search(first, last, high)
        return QueueRange(self.folder, self.entry_size, self._search(first, end, low), end)

    def _search(self, low: int, high: int, offset: int) -> int:
        """The first entry whose record begins at or after the offset, or that is not written."""
        while low < high:
            middle = (low + high) // 2
            place, size = self._head(middle)
            if size > 0 and (place < offset or is_filler(place, size)):
                low = middle + 1
            else:
                high = middle
        return low

    def _head(self, number: int) -> tuple[int, int]:
        """Place and size of the record that an entry names; zeros where none was written."""
        data = self.read(number, 1)
        return place_at(data) if data else (0, 0)

    def read(self, number: int, count: int) -> bytes:
        """This many entries, or those up to the end of the file; empty if it has none."""
        file = self._file(number)
        if file is None:
            return b""
        at = (number - self._bases[0]) % self._per_file * self.entry_size
        size = min(count * self.entry_size, file.size - at)
        return (file.read(at, size) if size > 0 else None) or b""

    def _file(self, number: int) -> SparseFile | None:
        base = number - (number - self._bases[0]) % self._per_file
        if base not in self._bases:
            return None
        name = self._names[self._bases.index(base)]
        if self._open is not None and self._open[0] == name:
            return self._open[1]
        self.close()
        try:
            self._open = name, self._files.open(f"{self.folder}/{name}", self._window)
        except FileNotFoundError:
            return None
        return self._open[1]


def is_filler(place: int, size: int) -> bool:
    """Whether an entry is a filler, at the front of a queue that begins in the middle of a file."""
    return place == 0 and size == FILLER_SIZE


def has_queue_files(store: Store, files: Files) -> bool:
    """Whether there are queues that can be read: not those in a RocksDB."""
    folder = f"{store.root}/consumequeue"
    return files.is_folder(folder) and not files.exists(f"{folder}/CURRENT")


def queue_folders(store: Store, options: StoreOptions, kind: str) -> list[str]:
    """KIND/TOPIC/QUEUE of the wanted topics and queues, by topic and number."""
    files, root = options.files, f"{store.root}/{kind}"
    topics = sorted(options.topics) if options.topics else files.names(root)
    found: list[str] = []
    for topic in topics:
        names = files.names(f"{root}/{topic}") if _is_name(topic) else []
        numbers = sorted(int(name) for name in names if name.isdigit())
        found += [
            f"{root}/{topic}/{number}"
            for number in numbers
            if options.queue_ids is None or number in options.queue_ids
        ]
    return found


def counted(store: Store, options: StoreOptions, low: int, high: int) -> list[QueueRange] | None:
    """The entries of the wanted topics' records in this part of the log; None when a topic has no queue.

    If a topic was deleted, the log may still have messages of it that no queue names.
    """
    found: list[QueueRange] = []
    for topic in sorted(options.topics):
        one = _of_topic(store, options, topic, low, high)
        if one is None:
            return None
        found += one
    return found


def _of_topic(
    store: Store, options: StoreOptions, topic: str, low: int, high: int
) -> list[QueueRange] | None:
    known, ranges = False, []
    for kind, entry_size in KINDS.items():
        root = f"{store.root}/{kind}/{topic}"
        for name in options.files.names(root) if _is_name(topic) else []:
            if not name.isdigit():
                continue
            known = True
            if options.queue_ids is not None and int(name) not in options.queue_ids:
                continue
            look = QueueLook(f"{root}/{name}", entry_size, options.files)
            try:
                one = look.count(low, high)
            finally:
                look.close()
            if one.start < one.end:
                ranges.append(one)
    return ranges if known else None


def _is_name(topic: str) -> bool:
    """Whether it can be a folder's name: one with a slash would lead elsewhere."""
    return topic not in ("", ".", "..") and "/" not in topic


def shares(ranges: Iterable[QueueRange], most: int) -> list[list[QueueRange]]:
    """The ranges in shares of at most this many entries; long ones are split, short ones are joined."""
    found: list[list[QueueRange]] = []
    room = 0
    for one in ranges:
        start = one.start
        while start < one.end:
            if room == 0:
                found.append([])
                room = most
            end = min(start + room, one.end)
            found[-1].append(QueueRange(one.folder, one.entry_size, start, end))
            room -= end - start
            start = end
    return found


def places(ranges: Iterable[QueueRange], files: Files) -> Iterator[tuple[int, int]]:
    """Where the records that the entries name are, and how long they are."""
    for one in ranges:
        look = QueueLook(one.folder, one.entry_size, files)
        try:
            number = one.start
            while number < one.end:
                data = look.read(number, min(_ENTRIES, one.end - number))
                if not data:
                    log.warning("%s: entries from %d on are gone", one.folder, number)
                    break
                for at in range(0, len(data) - one.entry_size + 1, one.entry_size):
                    place, size = place_at(data, at)
                    if size > 0 and not is_filler(place, size):
                        yield place, size
                number += len(data) // one.entry_size
        finally:
            look.close()
