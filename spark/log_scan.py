"""Reading a commit log's files straight from disk, while a broker may write to them.

A file is cut into parts; whoever reads one looks for the first record that begins in it, and stops
behind the last one that does. What was written since the last flush that the store's checkpoint knows
of may be torn if the broker did not end in order: such records are read only with a body that
matches its CRC, and with no zeros where texts end.
"""

from __future__ import annotations

import itertools
import logging
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from trimq.codec.record import MAGIC_BLANK, peek
from trimq.spark.rows import Rows, find_rows
from trimq.spark.store_options import StoreOptions
from trimq.store.checking.log import list_log
from trimq.store.checkpoint import load_checkpoint
from trimq.store.inspecting.records import RecordWalk, find_record
from trimq.store.inspecting.sparse_file import SparseFile

log: Final = logging.getLogger("trimq.spark")

WINDOW: Final = 4 << 20
_HEAD: Final = 8
# A broker's clock may have been set back by as much between two records.
_CLOCK_SLACK: Final = 60_000
_FOREVER: Final = 1 << 62


@dataclass(frozen=True, slots=True)
class LogPart:
    """The records that begin in `start` up to `end` of a file. From `unsure` on, a record's store
    timestamp says that it may be torn.
    """

    path: Path
    base: int
    start: int
    end: int
    unsure: int


def plan(options: StoreOptions) -> list[LogPart]:
    """The parts of all files that may hold what is asked for."""
    files = list_log(options.commit_log)
    firsts = [_first_time(one.path, one.base) for one in files]
    unsure = _unsure_since(options.root)
    parts: list[LogPart] = []
    for number, one in enumerate(files):
        following = firsts[number + 1] if number + 1 < len(files) else None
        first = firsts[number]
        if first is None or first - _CLOCK_SLACK >= options.end:
            continue
        if following is not None and following + _CLOCK_SLACK < options.start:
            continue
        with SparseFile(one.path) as file:
            end = file.data_end()
        count = max(-(-end // options.split_bytes), 1)
        cuts = [end * cut // count for cut in range(count + 1)]
        parts += [
            LogPart(one.path, one.base, low, high, unsure) for low, high in itertools.pairwise(cuts)
        ]
    return parts


def _first_time(path: Path, base: int) -> int | None:
    """The store timestamp of a file's first record; None when there is none yet."""
    try:
        with SparseFile(path, 1 << 16) as file:
            record = next(iter(RecordWalk(file, base)), None)
            if record is None and (found := find_record(file, base, 0)) >= 0:
                record = next(iter(RecordWalk(file, base, found)), None)
    except FileNotFoundError:
        # The broker has deleted it since.
        return None
    return None if record is None else record.store_timestamp


def _unsure_since(root: Path) -> int:
    if not (root / "abort").exists():
        return _FOREVER
    return load_checkpoint(root / "checkpoint").record_timestamp


def scan(part: LogPart, options: StoreOptions) -> Iterator[Rows]:
    """The part's records that are asked for, some at a time."""
    try:
        file = SparseFile(part.path)
    except FileNotFoundError:
        log.warning("%s is gone: the broker has deleted it", part.path)
        return
    with file:
        yield from _Scan(file, part, options).windows()


class _Scan:
    def __init__(self, file: SparseFile, part: LogPart, options: StoreOptions) -> None:
        self._file = file
        self._part = part
        self._wanted = _filter(options)
        self._fd = os.open(part.path, os.O_RDONLY | os.O_CLOEXEC)

    def windows(self) -> Iterator[Rows]:
        part = self._part
        try:
            position = part.start
            if position:
                position = find_record(self._file, part.base, position)
            while 0 <= position < part.end:
                rows, position = self._window(position)
                if rows is not None:
                    rows = self._sound(rows)
                    rows = rows if self._wanted is None else self._wanted(rows)
                    if len(rows):
                        yield rows
        finally:
            os.close(self._fd)

    def _window(self, position: int) -> tuple[Rows | None, int]:
        """What lies at the position, and where to go on."""
        base, end = self._part.base, self._part.end
        window = os.pread(self._fd, min(WINDOW, end - position), position)
        rows, stopped = find_rows(window, 0, len(window), base + position)
        if stopped:
            return rows, position + stopped
        # A record that is longer than the window, or goes on behind the part's end.
        size, magic = self._peek(position)
        if magic == MAGIC_BLANK and position + size == self._file.size:
            return None, self._file.size
        if size > len(window) and position + size <= self._file.size:
            window = os.pread(self._fd, size, position)
            rows, stopped = find_rows(window, 0, len(window), base + position)
            if stopped:
                return rows, position + stopped
        return None, self._behind(position)

    def _peek(self, position: int) -> tuple[int, int]:
        head = os.pread(self._fd, _HEAD, position)
        return peek(head) if len(head) == _HEAD else (0, 0)

    def _behind(self, position: int) -> int:
        """The next record's place; the end of the file where nothing, or a torn tail, is left."""
        file = self._file
        file.forget()
        found = find_record(file, self._part.base, position + 1)
        if found < 0:
            return file.size
        log.warning("%s: bytes %d to %d hold no record", self._part.path, position, found - 1)
        return found

    def _sound(self, rows: Rows) -> Rows:
        """Without records that a crash has left in part."""
        if self._part.unsure == _FOREVER:
            return rows
        kept = rows.sound(self._part.unsure)
        if len(kept) < len(rows):
            log.warning("%s: %d torn records left out", self._part.path, len(rows) - len(kept))
        return kept


Filter = Callable[[Rows], Rows]


def _filter(options: StoreOptions) -> Filter | None:
    """Picks the records of the wanted topics and times; None when all are wanted."""
    topics = frozenset(topic.encode() for topic in options.topics)
    start, end = options.start, options.end
    if not topics and start <= 0 and end >= _FOREVER:
        return None
    return lambda rows: rows.select(start, end, topics or None, None)
