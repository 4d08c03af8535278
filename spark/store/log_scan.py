"""Reading a commit log's files straight from disk, while a broker may write to them.

A file is cut into parts; the reader of a part looks for the first record that begins in it, and
stops after the last one that does. What was written since the last flush that the store's
checkpoint knows of may be torn if the broker did not end cleanly: such records are read only if
their body matches its CRC, and if there are no zeros where texts end.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import repeat
from typing import Final

from trimq.codec.entries.checkpoint import parse_checkpoint
from trimq.codec.records.record import MAGIC_BLANK, peek
from trimq.spark.records.rows import Rows
from trimq.spark.records.scan import find_rows
from trimq.spark.store.files import Files, LogFile, is_local
from trimq.spark.store.options import Store, StoreOptions
from trimq.store.inspecting.records import RecordWalk, find_record
from trimq.store.inspecting.sparse_file import SparseFile

log: Final = logging.getLogger("trimq.spark")

WINDOW: Final = 4 << 20
# A remote file system needs time for each request.
_FAR_WINDOW: Final = 16 << 20
FOREVER: Final = 1 << 62
_HEAD: Final = 8
# A broker's clock may have been set back by this much between two records.
_CLOCK_SLACK: Final = 60_000
# Files examined at once, and how many a broker creates before it writes to them.
_LOOKS: Final = 8
_EARLY: Final = 3
# A time that no bound includes.
_UNKNOWN: Final = 1 << 40


@dataclass(frozen=True, slots=True)
class LogPart:
    """The records that begin in `start` up to `end` of a file. From `unsure` on, a record's store
    timestamp says that it may be torn.
    """

    path: str
    base: int
    start: int
    end: int
    unsure: int
    broker_name: str | None


@dataclass(frozen=True, slots=True)
class LogExtent:
    """A file that may hold what is asked for, up to `end`, after which nothing is written."""

    path: str
    base: int
    end: int


def log_extents(store: Store, options: StoreOptions) -> list[LogExtent]:
    """The files of a store's log that may hold what is asked for, by the times of their first records."""
    files = options.files.log_files(store.commit_logs)
    _tell_gaps(files)
    looked_into = _looked_into(files, options)
    firsts: list[int | None] = [_UNKNOWN] * (len(files) - len(looked_into))
    with ThreadPoolExecutor(_LOOKS) as pool:
        firsts += pool.map(_first_time, looked_into, repeat(options.files))
    extents: list[LogExtent] = []
    for number, one in enumerate(files):
        following = firsts[number + 1] if number + 1 < len(files) else None
        first = firsts[number]
        if first is None or first - _CLOCK_SLACK >= options.end:
            continue
        if following is not None and following + _CLOCK_SLACK < options.start:
            continue
        try:
            extents.append(LogExtent(one.path, one.base, options.files.data_end(one)))
        except FileNotFoundError:
            continue
    return extents


def _looked_into(files: list[LogFile], options: StoreOptions) -> list[LogFile]:
    """The files whose first record matters: without times, those at the end, which may have none yet."""
    timed = options.start > 0 or options.end < FOREVER
    return files if timed else files[-_EARLY:]


def _tell_gaps(files: list[LogFile]) -> None:
    for before, one in itertools.pairwise(files):
        if before.size and one.base != before.base + before.size:
            log.warning(
                "%s ends at %d and the next file is %s: if the log has more folders, name them all in"
                " option storePathCommitLog",
                before.path,
                before.base + before.size,
                one.path,
            )


def log_parts(
    extents: list[LogExtent], since: int, store: Store, options: StoreOptions
) -> list[LogPart]:
    """The records that begin at or after the offset `since`, cut into shares."""
    unsure = unsure_since(store, options.files)
    parts: list[LogPart] = []
    for one in extents:
        first = max(since - one.base, 0)
        if first >= one.end:
            continue
        count = max(-(-(one.end - first) // options.split_bytes), 1)
        cuts = [first + (one.end - first) * cut // count for cut in range(count + 1)]
        parts += [
            LogPart(one.path, one.base, low, high, unsure, store.broker_name)
            for low, high in itertools.pairwise(cuts)
        ]
    return parts


def _first_time(one: LogFile, files: Files) -> int | None:
    """The store timestamp of a file's first record; None when there is none yet."""
    try:
        with files.open(one.path, 1 << 16) as file:
            record = next(iter(RecordWalk(file, one.base)), None)
            if record is None and (found := find_record(file, one.base, 0)) >= 0:
                record = next(iter(RecordWalk(file, one.base, found)), None)
    except FileNotFoundError:
        # The broker has deleted it since.
        return None
    return None if record is None else record.store_timestamp


def unsure_since(store: Store, files: Files) -> int:
    """The store timestamp from which on records may be torn."""
    if not files.exists(f"{store.root}/abort"):
        return FOREVER
    return parse_checkpoint(files.read(f"{store.root}/checkpoint")).record_timestamp


def scan(part: LogPart, options: StoreOptions) -> Iterator[Rows]:
    """The part's records that are asked for, some at a time."""
    try:
        file = options.files.open(part.path)
    except FileNotFoundError:
        log.warning("%s is gone: the broker has deleted it", part.path)
        return
    with file:
        for rows in _Scan(file, part).windows():
            chosen = select(sound(rows, part.unsure, part.path), options)
            if len(chosen):
                yield chosen


def sound(rows: Rows, unsure: int, where: str) -> Rows:
    """Without records that a crash has left incomplete."""
    if unsure == FOREVER:
        return rows
    kept = rows.sound(unsure)
    if len(kept) < len(rows):
        log.warning("%s: %d torn records left out", where, len(rows) - len(kept))
    return kept


def select(rows: Rows, options: StoreOptions) -> Rows:
    """The records of the wanted topics, queues and times."""
    topics = frozenset(topic.encode() for topic in options.topics) or None
    start, end, queue_ids = options.start, options.end, options.queue_ids
    if topics is None and queue_ids is None and start <= 0 and end >= FOREVER:
        return rows
    return rows.select(start, end, topics, queue_ids)


class _Scan:
    def __init__(self, file: SparseFile, part: LogPart) -> None:
        self._file = file
        self._part = part
        self._window_size = WINDOW if is_local(part.path) else _FAR_WINDOW

    def windows(self) -> Iterator[Rows]:
        part = self._part
        position = part.start
        if position:
            position = find_record(self._file, part.base, position)
        while 0 <= position < part.end:
            rows, position = self._window(position)
            if rows is not None:
                yield rows

    def _window(self, position: int) -> tuple[Rows | None, int]:
        """What is at the position, and where to continue."""
        file, base, end = self._file, self._part.base, self._part.end
        window = file.fetch(position, min(self._window_size, end - position))
        rows, stopped = find_rows(window, 0, len(window), base + position)
        if stopped:
            return rows, position + stopped
        # A record that is longer than the window, or continues beyond the part's end.
        size, magic = self._peek(position)
        if magic == MAGIC_BLANK and position + size == file.size:
            return None, file.size
        if size > len(window) and position + size <= file.size:
            window = file.fetch(position, size)
            rows, stopped = find_rows(window, 0, len(window), base + position)
            if stopped:
                return rows, position + stopped
        return None, self._behind(position)

    def _peek(self, position: int) -> tuple[int, int]:
        head = self._file.fetch(position, _HEAD)
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
