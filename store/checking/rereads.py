"""How much of the commit log the next start would read again, and because of whom: store/opening/recovery_points.py,
told from the files of a store at rest.

What lies before the place where a check begins is counted by the entries of its queue, the rest as records go by.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from trimq.codec.entries.batch_queue import BATCH_ENTRY_SIZE, parse_batch_entries
from trimq.codec.entries.timer import parse_delivered_from
from trimq.codec.errors import CodecError
from trimq.codec.java.fastjson import loads
from trimq.codec.names import (
    ELASTIC_MAP_TOPIC,
    REVIVE_GROUP,
    REVIVE_TOPIC_PREFIX,
    TIMER_TOPIC,
    TRANS_GROUP,
    TRANS_HALF_TOPIC,
    TRANS_OP_HALF_TOPIC,
)
from trimq.codec.records.record import Record
from trimq.store.checking.queue_files import CheckedFiles, OpenForReading
from trimq.store.checking.tables import Tables

_LOOK: Final = 1024 * BATCH_ENTRY_SIZE


@dataclass(slots=True)
class Rereading:
    """What a start would read because of one of them."""

    who: str
    position: int
    """The first byte of the log that is read; the log's end if nothing is."""
    size: int = 0


@dataclass(slots=True)
class _OfQueues:
    """Records of some queues, from a queue offset on, and none that lies before `since` in the log."""

    who: str
    first: Callable[[str, int], int | None]
    since: int = 0
    position: int = -1
    size: int = 0

    def add(self, physical_offset: int, size: int) -> None:
        if physical_offset >= self.since:
            if self.position < 0:
                self.position = physical_offset
            self.position = min(self.position, physical_offset)
            self.size += size


class Rereads:
    """Made before the log is gone through, from `start` on, in which a start scans it from `recovery_start` on."""

    def __init__(self, root: Path, tables: Tables, start: int, recovery_start: int) -> None:
        self._root = root
        self._start = start
        self._recovery_start = recovery_start
        self._delivered_from = _delivered_from(root)
        offsets = tables.offsets
        self._of_queues = [
            _OfQueues(
                "consumer offsets",
                _all_of(
                    lambda topic: topic == TIMER_TOPIC or topic.startswith(REVIVE_TOPIC_PREFIX)
                ),
                since=tables.noted_log_end,
            ),
            _OfQueues("half messages", lambda topic, queue: _pending(offsets, topic)),
            _OfQueues("popped messages", lambda topic, queue: _unsettled(offsets, topic, queue)),
            _OfQueues("compaction", _uncopied(root, tables.compacted_topics)),
            _OfQueues("elastic map", _first_of_map(root)),
        ]
        if tables.noted_log_end < 0:
            # No file says so, and nothing is moved once more.
            del self._of_queues[0]
        opened = OpenForReading()
        try:
            for queues in self._of_queues:
                self._count(queues, opened)
        finally:
            opened.close()

    def _count(self, queues: _OfQueues, opened: OpenForReading) -> None:
        for topic, queue_id in _queues(self._root / "consumequeue"):
            first = queues.first(topic, queue_id)
            if first is None:
                continue
            folder = self._root / "consumequeue" / topic / str(queue_id)
            files = CheckedFiles(str(folder), opened)
            begin = max(first, files.first)
            if queues.since > 0:
                begin = max(begin, files.first_behind(queues.since, files.end()))
            for _, (physical_offset, size, _) in files.entries(begin):
                if physical_offset >= self._start:
                    break
                queues.add(physical_offset, size)

    def record(self, record: Record) -> None:
        for queues in self._of_queues:
            first = queues.first(record.topic, record.queue_id)
            if first is not None and record.queue_offset >= first:
                queues.add(record.physical_offset, record.total_size)

    def found(self, log_begin: int, end: int) -> list[Rereading]:
        """Those that take most first. `end`: of the log after that start."""
        scanned = Rereading("consume queues", min(self._recovery_start, end))
        index = Rereading("message index", scanned.position)
        timers = Rereading("timer wheel", min(max(self._delivered_from, log_begin), end))
        if self._delivered_from < 0:
            timers.position = end
        for one in (scanned, index, timers):
            one.size = end - one.position
        queues = [
            Rereading(one.who, one.position if one.size else end, one.size)
            for one in self._of_queues
        ]
        return sorted([scanned, index, timers, *queues], key=lambda one: one.size, reverse=True)


def _queues(folder: Path) -> Iterator[tuple[str, int]]:
    for topic in sorted(folder.iterdir()) if folder.is_dir() else ():
        for queue in sorted(topic.iterdir()) if topic.is_dir() else ():
            if queue.name.isdigit():
                yield topic.name, int(queue.name)


def _all_of(wanted: Callable[[str], bool]) -> Callable[[str, int], int | None]:
    return lambda topic, queue_id: 0 if wanted(topic) else None


def _delivered_from(root: Path) -> int:
    """From where on copies are looked for; 0 if the checkpoint is another's, -1 without a wheel."""
    if not (root / "timerwheel").is_file():
        return -1
    try:
        found = parse_delivered_from((root / "config" / "timercheck").read_bytes())
    except FileNotFoundError:
        found = None
    return 0 if found is None else found


def _unsettled(offsets: dict[str, Any], topic: str, queue_id: int) -> int | None:
    """Offsets are those of the last record that is settled."""
    if not topic.startswith(REVIVE_TOPIC_PREFIX):
        return None
    queues = offsets.get(f"{topic}@{REVIVE_GROUP}")
    offset = queues.get(str(queue_id), -1) if isinstance(queues, dict) else -1
    return offset + 1 if isinstance(offset, int) else 0


def _pending(offsets: dict[str, Any], topic: str) -> int | None:
    """Offsets are those of the first half that is pending, and of the first op that is needed."""
    if topic not in (TRANS_HALF_TOPIC, TRANS_OP_HALF_TOPIC):
        return None
    queues = offsets.get(f"{topic}@{TRANS_GROUP}")
    offset = queues.get("0", 0) if isinstance(queues, dict) else 0
    return offset if isinstance(offset, int) else 0


def _uncopied(root: Path, topics: frozenset[str]) -> Callable[[str, int], int | None]:
    known: dict[tuple[str, int], int] = {}

    def first(topic: str, queue_id: int) -> int | None:
        if topic not in topics:
            return None
        where = (topic, queue_id)
        if where not in known:
            known[where] = _copied_to(root / "compaction" / "compactionCq" / topic / str(queue_id))
        return known[where]

    return first


def _copied_to(folder: Path) -> int:
    """The queue offset behind the last message that is in files of its own."""
    end = 0
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if not path.name.isdigit():
            continue
        with path.open("rb") as file:
            while data := file.read(_LOOK):
                entries = [entry for entry in parse_batch_entries(data) if entry.size > 0]
                if not entries:
                    break
                end = max(end, entries[-1].end_offset)
    return end


def _first_of_map(root: Path) -> Callable[[str, int], int | None]:
    try:
        kept = loads((root / "config" / "elasticMap.json").read_bytes())
    except (FileNotFoundError, CodecError):
        kept = None
    begin = kept.get("begin") if isinstance(kept, dict) else None
    first = begin if isinstance(begin, int) else 0
    return lambda topic, queue_id: first if topic == ELASTIC_MAP_TOPIC else None
