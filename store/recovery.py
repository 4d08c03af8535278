"""Opening a store: find the end of the commit log and bring the consume queues up to it.

The checkpoint names a record whose queue entry, and every one before, is on disk. From there on
the log is scanned, so the work grows with what came after, not with the store. After a clean stop
that is next to nothing. After a crash entries of later records are believed only when they equal
what the scan finds; the others are written anew or dropped (`store/queue_bounds.py`).

A queue that turns out to be further behind than the checkpoint says is rebuilt in a second
scan that starts at its last entry. Without any consume queue, or with a checkpoint that names no
record, the whole log is scanned.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

from trimq.codec.queue_entry import ENTRY_SIZE, pack, parse
from trimq.store.batch_recovery import BatchRecovery
from trimq.store.checkpoint import Checkpoint
from trimq.store.commit_log import CommitLog
from trimq.store.consume_queues import ConsumeQueues, Row
from trimq.store.errors import StoreDamaged
from trimq.store.index_recovery import IndexRecovery
from trimq.store.message import Dispatched
from trimq.store.queue_bounds import Bounds
from trimq.store.scan import LogScanner, record_behind
from trimq.store.tags import TagCodes

# Entries collected before they are brought to their queues: some 100 MB of memory.
COLLECTED: Final = 2_000_000
# Prepared and rolled-back messages are no consumer's business (CommitLogDispatcher).
_TRANSACTION: Final = 0xC
_COMMIT: Final = 0x8
_INNER_BATCH: Final = 0x80


class RecoveryReport:
    """What opening the store found and did."""

    __slots__ = (
        "clean",
        "cut",
        "dropped",
        "end",
        "entries",
        "last_record",
        "last_timestamp",
        "records",
        "start",
    )

    def __init__(self, clean: bool) -> None:
        self.clean = clean
        """The store had been closed in order."""
        self.cut = False
        """The log ends before the checkpoint says it did: somebody shortened it."""
        self.dropped = 0
        """Bytes behind the log's end that were no whole record, or lay behind something torn."""
        self.start = 0
        """Physical offset where the scan began."""
        self.end = 0
        """Physical offset where the log ends."""
        self.records = 0
        """Records scanned."""
        self.entries = 0
        """Consume-queue entries compared or written anew."""
        self.last_record = -1
        """Physical offset of the last record, -1 when none was scanned."""
        self.last_timestamp = 0
        """Its store timestamp."""

    def __repr__(self) -> str:
        how = "clean" if self.clean else "aborted"
        return (
            f"RecoveryReport({how}, {self.start}..{self.end}, {self.records} records, "
            f"{self.entries} entries)"
        )


class Collected:
    """Entries of one queue in a row, as the scan found them; `times` for extensions only."""

    __slots__ = ("entries", "first", "next", "times")

    def __init__(self, first: int) -> None:
        self.first = first
        self.next = first
        self.entries = bytearray()
        self.times = array("q")

    def row(self) -> Row:
        return self.first, bytes(self.entries), self.times


class Recovery:
    def __init__(
        self,
        log: CommitLog,
        queues: ConsumeQueues,
        index: IndexRecovery,
        checkpoint: Checkpoint,
        tags: TagCodes,
    ) -> None:
        self._log = log
        self._queues = queues
        self._index = index
        # RocketMQ writes 0 when it has nothing to say; -1 is behind no record.
        self._durable = checkpoint.queue_physical_offset or -1
        # Without that, a power loss may have taken the log and left consume queues.
        self._vouches = self._durable > 0 or checkpoint.record_timestamp > 0
        self._tags = tags
        self._collected: dict[tuple[str, int], Collected] = {}
        self._count = 0
        self._behind: dict[tuple[str, int], int] = {}
        self._left: dict[tuple[str, int], Collected] = {}
        self._gone: set[tuple[str, int]] = set()
        self._batches = BatchRecovery(log, queues, tags)

    def run(
        self, clean: bool, batch_topics: frozenset[str], begin: Callable[[bool], None]
    ) -> RecoveryReport:
        """`batch_topics` are known to have batch queues; those of others are found.

        `begin` is called before the first change, with whether the checkpoint is wrong.
        """
        report = RecoveryReport(clean)
        log = self._log
        files_end = log.written
        self._queues.open(batch_topics)
        self._index.load(clean)
        if not log.segments:
            if clean or self._vouches:
                self._refuse_without_log()
            begin(False)
            self._index.end(0)
            log.start_at(0, 0)
            self._queues.believe(Bounds(0, 0, -1), unchecked=True)
            return report
        after = self._believed()
        report.start = max(after, log.min_offset)
        self._index.begin(report.start, self._tags, partial(begin, after < 0 < self._durable))
        self._believe(report, after, files_end)
        self._scan(report, after, files_end, begin)
        report.cut = report.end <= self._durable
        self._refuse_damage(report, files_end)
        begin(after < 0 < self._durable)
        # A killed process may have left records in the page cache only.
        report.dropped = log.start_at(report.end, report.end if clean else report.start)
        self._believe(report, after, report.end)
        report.entries += self._settle(report)
        self._index.end(report.end)
        self._catch_up(report)
        report.entries += self._batches.catch_up(report.end)
        return report

    def _refuse_without_log(self) -> None:
        if self._queues.topics():
            raise StoreDamaged(
                self._log.paths.first,
                0,
                "no commit log, but consume queues: bring it back, or remove `consumequeue` too",
            )

    def _believed(self) -> int:
        """The record that the checkpoint vouches for, if it is there; -1: scan everything."""
        if not self._queues.topics() or self._durable < self._log.min_offset:
            return -1
        scanner = LogScanner(self._log, self._durable, self._log.written, self._tags)
        return self._durable if next(iter(scanner), None) is not None else -1

    def _believe(self, report: RecoveryReport, after: int, end: int) -> None:
        first = self._log.min_offset
        if report.clean and not report.cut:
            self._queues.believe(Bounds(first, end), unchecked=False)
        else:
            vouched = after if after >= 0 else first - 1
            self._queues.believe(Bounds(first, end, vouched), unchecked=True)

    def _scan(
        self, report: RecoveryReport, after: int, end: int, begin: Callable[[bool], None]
    ) -> None:
        scanner = LogScanner(self._log, report.start, end, self._tags)
        record: Dispatched | None = None
        for record in scanner:
            report.records += 1
            self._index.add(record)
            if record.physical_offset > after:
                self._collect(record)
                if self._count >= COLLECTED:
                    begin(after < 0 < self._durable)
                    report.entries += self._settle(report)
        if record is not None:
            report.last_record = record.physical_offset
            report.last_timestamp = record.store_timestamp
        report.end = scanner.position

    def _collect(self, record: Dispatched) -> None:
        if record.sys_flag & _TRANSACTION not in (0, _COMMIT):
            return
        key = (record.topic, record.queue_id)
        collected = self._collected.get(key)
        if collected is None or collected.next != record.queue_offset:
            if self._batches.owns(record.topic):
                self._batches.collect(record)
                self._count += 1
                return
            if self._is_of_deleted_type(key, record):
                return
            collected = self._begin(key, record)
        collected.entries += pack(record.physical_offset, record.size, record.tags_code)
        if self._queues.extended:
            collected.times.append(record.store_timestamp)
        collected.next += 1
        self._count += 1

    def _is_of_deleted_type(self, key: tuple[str, int], record: Dispatched) -> bool:
        """Several messages in one record, but the topic is not of that type: it was deleted.

        That holds for its other records too, until the topic made again begins.
        """
        if record.sys_flag & _INNER_BATCH:
            self._gone.add(key)
            self._collected.pop(key, None)
            return True
        if key in self._gone and record.queue_offset == 0:
            self._gone.discard(key)
        return key in self._gone

    def _begin(self, key: tuple[str, int], record: Dispatched) -> Collected:
        """A row of entries. One before it is obsolete: the topic was deleted and made again."""
        before = self._collected.get(key)
        if before is not None and record.queue_offset != 0:
            self._refuse_order(record, before.next)
        collected = self._collected[key] = Collected(record.queue_offset)
        return collected

    def _settle(self, report: RecoveryReport) -> int:
        """Bring what was collected to the queues; how many entries that was."""
        topics: dict[str, dict[int, Collected]] = {}
        for (topic, queue_id), collected in self._collected.items():
            topics.setdefault(topic, {})[queue_id] = collected
        complete = report.start == self._log.min_offset
        count = 0
        for topic, queues in topics.items():
            rows = {number: row.row() for number, row in queues.items()}
            added, behind = self._queues.restore(topic, rows, complete)
            count += added
            for queue_id, end in behind.items():
                self._leave((topic, queue_id), end, queues[queue_id])
        self._collected = {}
        self._count = 0
        return count + self._batches.settle(complete)

    def _leave(self, key: tuple[str, int], end: int, row: Collected) -> None:
        """Remember the row until the queue, which ends at `end`, has caught up with it."""
        before = self._left.get(key)
        if before is None:
            self._behind[key] = end
            self._left[key] = row
        else:
            before.entries += row.entries
            before.times += row.times
            before.next = row.next

    def _catch_up(self, report: RecoveryReport) -> None:
        """Scan again for the queues that lack more than the checkpoint promised."""
        if not self._behind:
            return
        behind, left = self._behind, self._left
        start = self._log.min_offset
        if all(self._queues.get(*key).max_offset for key in behind):
            start = max(start, min(self._end_of(*key) for key in behind))
        for record in LogScanner(self._log, start, report.start + 1, self._tags):
            key = (record.topic, record.queue_id)
            if key not in behind or record.queue_offset < behind[key]:
                continue
            if record.physical_offset < report.start or record.queue_offset < left[key].first:
                self._collect(record)
        for key, row in left.items():
            found = self._collected.get(key)
            ends_at = found.next if found is not None else behind[key]
            begins_at = found.first if found is not None else row.first
            if ends_at != row.first and (found is not None or behind[key]):
                self._refuse_gap(key, row, ends_at)
            if behind[key] not in (0, begins_at):
                self._refuse_gap(key, row, behind[key])
        self._behind, self._left = {}, {}
        report.entries += self._settle_caught_up(left)

    def _settle_caught_up(self, left: dict[tuple[str, int], Collected]) -> int:
        count = 0
        for rows in (self._collected, left):
            for (topic, queue_id), row in rows.items():
                added, _ = self._queues.restore(topic, {queue_id: row.row()}, complete=True)
                count += added
        self._collected = {}
        return count

    def _end_of(self, topic: str, queue_id: int) -> int:
        """Physical offset behind the queue's last record."""
        queue = self._queues.get(topic, queue_id)
        last = queue.entry(queue.max_offset - 1)
        return last.physical_offset + last.size if last is not None else 0

    def _refuse_gap(self, key: tuple[str, int], row: Collected, ends_at: int) -> None:
        entry = parse(bytes(row.entries[:ENTRY_SIZE]))
        path, position = self._log.path_of(entry.physical_offset)
        raise StoreDamaged(
            Path(path),
            position,
            f"{key[0]} {key[1]} goes on at {row.first}, the messages from {ends_at} on are missing",
        )

    def _refuse_order(self, record: Dispatched, expected: int) -> None:
        path, position = self._log.path_of(record.physical_offset)
        raise StoreDamaged(
            Path(path),
            position,
            f"{record.topic} {record.queue_id} goes on at {record.queue_offset}, "
            f"{expected} would be next",
        )

    def _refuse_damage(self, report: RecoveryReport, files_end: int) -> None:
        """A tear at the end is cut off; damage in front of good records is no tear.

        Behind what the checkpoint vouches for, a power loss may leave such a picture too, because
        the disk writes pages in any order; that part was never promised.
        """
        promised = report.clean or report.end <= self._durable
        if not promised or report.end >= files_end:
            return
        if record_behind(self._log, report.end, files_end, self._tags) < 0:
            return
        path, position = self._log.path_of(report.end)
        raise StoreDamaged(
            Path(path), position, "there is no whole record here, but there are some behind it"
        )
