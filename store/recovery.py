"""Opening a store: find the end of the commit log and bring the consume queues up to it.

The checkpoint names a record whose queue entry, and every one before, is on disk. From there on
the log is scanned, so the work grows with what came after, not with the store. After a clean stop
that is next to nothing. After a crash every scanned record's entry is written anew into the slot
its queue offset names, and entries that point behind the log's end are dropped.

A queue that turns out to be further behind than the checkpoint says is rebuilt in a second
scan that starts at its last entry; without any consume queue the whole log is scanned.
"""

from __future__ import annotations

from pathlib import Path

from codec.flags import SysFlag
from codec.record import Record
from store.checkpoint import Checkpoint
from store.commit_log import CommitLog
from store.consume_queue import ConsumeQueue
from store.consume_queues import ConsumeQueues
from store.errors import StoreDamaged
from store.scan import LogScanner, record_behind
from store.tags import TagCodes


class RecoveryReport:
    """What opening the store found and did."""

    __slots__ = (
        "clean",
        "cut",
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
        self.start = 0
        """Physical offset where the scan began."""
        self.end = 0
        """Physical offset where the log ends."""
        self.records = 0
        """Records scanned."""
        self.entries = 0
        """Consume-queue entries written anew."""
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


class Recovery:
    def __init__(
        self, log: CommitLog, queues: ConsumeQueues, checkpoint: Checkpoint, tags: TagCodes
    ) -> None:
        self._log = log
        self._queues = queues
        # RocketMQ writes 0 when it has nothing to say; -1 is behind no record.
        self._durable = checkpoint.queue_physical_offset or -1
        self._tags = tags
        self._behind: dict[ConsumeQueue, int] = {}

    def run(self, clean: bool, foreign: frozenset[str]) -> RecoveryReport:
        report = RecoveryReport(clean)
        log = self._log
        files_end = log.written
        self._queues.open(log.min_offset, files_end, foreign)
        if not log.segments:
            self._refuse_without_log()
            log.start_at(0, 0)
            self._queues.cut_at(0, everywhere=False)
            return report
        report.start = self._start()
        self._scan(report, files_end)
        self._refuse_damage(report, files_end)
        report.cut = report.end <= self._durable
        # A killed process may have left records in the page cache only.
        log.start_at(report.end, report.end if clean else report.start)
        self._queues.cut_at(report.end, everywhere=not clean or report.cut)
        self._catch_up(report)
        return report

    def _refuse_without_log(self) -> None:
        if self._queues.topics():
            raise StoreDamaged(
                self._log.directory,
                0,
                "no commit log, but consume queues: bring it back, or remove `consumequeue` too",
            )

    def _start(self) -> int:
        """The record boundary to scan from."""
        log = self._log
        first = log.min_offset
        if not self._queues.topics() or self._durable <= first:
            return first
        if self._is_record(self._durable):
            return self._durable
        # The checkpoint points to nothing: begin at the last file that begins with a record.
        for segment in reversed(log.segments):
            if segment.base <= self._durable and self._is_record(segment.base):
                return segment.base
        return first

    def _is_record(self, position: int) -> bool:
        return next(iter(LogScanner(self._log, position, self._log.written)), None) is not None

    def _scan(self, report: RecoveryReport, end: int) -> None:
        scanner = LogScanner(self._log, report.start, end)
        complete = not self._queues.topics()
        for record in scanner:
            report.records += 1
            report.last_record = record.physical_offset
            report.last_timestamp = record.store_timestamp
            if (complete or record.physical_offset > self._durable) and self._has_entry(record):
                report.entries += self._dispatch(record, report.clean)
        report.end = scanner.position

    def _dispatch(self, record: Record, clean: bool) -> int:
        """Bring the record's entry into its queue; 1 when that wrote something."""
        queue = self._queues.get(record.topic, record.queue_id)
        if queue in self._behind or (clean and record.queue_offset < queue.max_offset):
            return 0
        if record.queue_offset > queue.max_offset > queue.min_offset:
            last = queue.entry(queue.max_offset - 1)
            self._behind[queue] = last.physical_offset + last.size if last else 0
            return 0
        self._append(queue, record)
        return 1

    def _has_entry(self, record: Record) -> bool:
        """Prepared and rolled-back messages are no consumer's business (CommitLogDispatcher)."""
        kind = record.sys_flag & SysFlag.TRANSACTION_MASK
        if kind in (SysFlag.PREPARED, SysFlag.ROLLBACK):
            return False
        return record.topic not in self._queues.foreign

    def _append(self, queue: ConsumeQueue, record: Record) -> None:
        code = self._tags.code(record.topic, record.properties, record.store_timestamp)
        queue.append_at(record.queue_offset, record.physical_offset, record.total_size, code)
        self._queues.appended(queue)

    def _catch_up(self, report: RecoveryReport) -> None:
        """Scan again for the queues that lack more than the checkpoint promised."""
        if not self._behind:
            return
        start = max(min(self._behind.values()), self._log.min_offset)
        for record in LogScanner(self._log, start, report.end):
            if not self._has_entry(record):
                continue
            queue = self._queues.get(record.topic, record.queue_id)
            if queue not in self._behind or record.queue_offset < queue.max_offset:
                continue
            if record.queue_offset > queue.max_offset:
                path, position = self._log.path_of(record.physical_offset)
                raise StoreDamaged(
                    Path(path),
                    position,
                    f"{queue.topic} {queue.queue_id} goes on at {record.queue_offset}, "
                    f"its consume queue ends at {queue.max_offset}",
                )
            self._append(queue, record)
            report.entries += 1

    def _refuse_damage(self, report: RecoveryReport, files_end: int) -> None:
        """A tear at the end is cut off; damage in front of good records is no tear.

        Behind what the checkpoint vouches for, a power loss may leave such a picture too, because
        the disk writes pages in any order; that part was never promised.
        """
        promised = report.clean or report.end <= self._durable
        if not promised or report.end >= files_end:
            return
        if record_behind(self._log, report.end, files_end) < 0:
            return
        path, position = self._log.path_of(report.end)
        raise StoreDamaged(
            Path(path), position, "there is no whole record here, but there are some behind it"
        )
