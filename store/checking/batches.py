"""Records against the entries of batch consume queues (BatchConsumeQueue), both ways.

Such an entry stands for a whole batch, so entries are not found by offset; both sides are in the
order of the log and are compared side by side.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from trimq.codec.entries.batch_queue import BATCH_ENTRY_SIZE, BatchEntryFields, batch_fields_at
from trimq.codec.entries.queue import FILLER_SIZE
from trimq.codec.records.properties import find_property
from trimq.codec.records.property_keys import INNER_BASE, INNER_NUM
from trimq.codec.records.record import Record
from trimq.store.checking.findings import Findings
from trimq.store.checking.log import NOWHERE, LogWalk
from trimq.store.checking.queue_files import CheckedFiles, OpenForReading
from trimq.store.checking.queues import Misses
from trimq.store.checking.state import StoreState
from trimq.store.messages.tags import TagCodes

_BASE: Final = INNER_BASE.encode()
_NUMBER: Final = INNER_NUM.encode()

NONE: Final[BatchEntryFields] = (0, 0, 0, 0, 0, 0, 0, 0)


class BatchFiles:
    """The entries of one queue, one after another."""

    __slots__ = ("_files", "_opened", "at")

    def __init__(self, directory: str, opened: OpenForReading) -> None:
        self._files = CheckedFiles(directory, opened, BATCH_ENTRY_SIZE)
        self._opened = opened
        self.at = self._files.first
        """Number of the next entry."""

    def misfits(self, closed: bool) -> Iterator[str]:
        return self._files.misfits(closed)

    def next(self) -> BatchEntryFields:
        """NONE after the last one."""
        files = self._files
        if not files.per_file:
            return NONE
        index = (self.at - files.first) % files.per_file
        path = files.path(self.at - index, BATCH_ENTRY_SIZE)
        data = self._opened.read(path, BATCH_ENTRY_SIZE, index * BATCH_ENTRY_SIZE)
        if len(data) < BATCH_ENTRY_SIZE:
            return NONE
        return batch_fields_at(data)


class BatchQueue:
    __slots__ = ("end", "files", "missing", "name", "next_base")

    def __init__(self, name: str, files: BatchFiles) -> None:
        self.name = name
        self.files = files
        self.next_base = -1
        self.end = 0
        self.missing = Misses()


class BatchChecks:
    def __init__(
        self,
        root: Path,
        walk: LogWalk,
        state: StoreState,
        tags: TagCodes,
        findings: Findings,
        declared: frozenset[str],
    ) -> None:
        """`declared`: topics that are batch topics by their configuration, with a queue or not."""
        self._directory = root / "batchconsumequeue"
        self._walk = walk
        self._state = state
        self._tags = tags
        self._findings = findings
        self._opened = OpenForReading(files=64)
        self._queues: dict[tuple[str, int], BatchQueue] = {}
        self.topics = declared | {path.name for path in _folders(self._directory)}
        self.to_rebuild = 0

    def close(self) -> None:
        self._opened.close()

    def record(self, record: Record) -> None:
        """A record of one of `topics`: a batch, or one message that counts as a batch of one."""
        base, count = _place(record)
        queue = self._queue(record.topic, record.queue_id)
        where = f"{queue.name} offset {base}, record at {record.physical_offset}"
        self._order(queue, base, where)
        queue.next_base = queue.end = base + count
        entry = queue.files.next()
        while entry != NONE and entry[0] < record.physical_offset:
            self._unasked(queue, entry, NOWHERE)
            queue.files.at += 1
            entry = queue.files.next()
        if entry[0] != record.physical_offset or entry == NONE:
            queue.missing.add(record.physical_offset, where)
            return
        queue.files.at += 1
        code = self._tags.code(record.topic, record.properties, record.store_timestamp)
        expected = (record.total_size, code, record.store_timestamp, base, count)
        if entry[1:6] != expected:
            text = f"{where}: size, tags code, time, base, count are {entry[1:6]}, not {expected}"
            self._findings.problem("wrong batch entry", text)

    def _order(self, queue: BatchQueue, base: int, where: str) -> None:
        if queue.next_base in (-1, base):
            return
        if base > queue.next_base:
            text = f"{where}: the previous batch ends at {queue.next_base}"
            self._findings.problem("gap in a queue", text, base - queue.next_base)
            return
        self._findings.note("queue of a topic that was created again", where)
        queue.missing.clear()

    def _queue(self, topic: str, queue_id: int) -> BatchQueue:
        queue = self._queues.get((topic, queue_id))
        if queue is None:
            files = BatchFiles(f"{self._directory}/{topic}/{queue_id}", self._opened)
            queue = self._queues[topic, queue_id] = BatchQueue(f"{topic} {queue_id}", files)
            for misfit in files.misfits(self._state.closed):
                self._findings.problem("queue file missing or of another length", misfit)
        return queue

    def _unasked(self, queue: BatchQueue, entry: BatchEntryFields, log_end: int) -> None:
        queue.end = max(queue.end, entry[4] + entry[5])
        if entry[0] < self._walk.start or entry[1] == FILLER_SIZE:
            return
        where = f"{queue.name} offset {entry[4]} points to {entry[0]}"
        if entry[0] + entry[1] <= log_end:
            text = f"{where}, where there is no such record"
            self._findings.problem("dangling entry", text)
        elif self._state.closed:
            text = f"{where}, the log ends at {self._walk.end}"
            self._findings.problem("entry beyond the log's end", text)

    def finish(self) -> None:
        for topic in _folders(self._directory):
            for folder in _folders(topic):
                if folder.name.isdigit():
                    self._queue(topic.name, int(folder.name))
        for queue in self._queues.values():
            while (entry := queue.files.next()) != NONE:
                self._unasked(queue, entry, self._walk.end)
                queue.files.at += 1
            missing = queue.missing
            if not missing.count:
                continue
            self.to_rebuild += missing.last > self._state.durable
            if self._state.repaired(missing.begin):
                kind = (
                    "entries not written yet"
                    if self._state.running
                    else "entries that recovery writes"
                )
                self._findings.note(kind, missing.text, missing.count)
            else:
                self._findings.problem("missing entry", missing.text, missing.count)

    def bounds(self, topic: str, queue_id: int) -> tuple[int, int] | None:
        """From 0 to the end of the last batch; None when nothing of the queue exists."""
        queue = self._queues.get((topic, queue_id))
        return None if queue is None else (0, queue.end)


def _place(record: Record) -> tuple[int, int]:
    """Queue offset of the first message, and how many there are (CommitLog.setBatchSizeIfNeeded)."""
    base = find_property(record.properties, _BASE)
    count = find_property(record.properties, _NUMBER)
    if base is None or count is None or not (base.isdigit() and count.isdigit()):
        return record.queue_offset, 1
    return int(base), int(count)


def _folders(path: Path) -> list[Path]:
    if not path.is_dir():
        return []
    return sorted(Path(entry.path) for entry in os.scandir(path) if entry.is_dir())
