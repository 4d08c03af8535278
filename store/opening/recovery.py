"""Opening a store: find the end of the commit log and bring the consume queues up to it.

The checkpoint names a record whose queue entry, and every one before, is on disk. From there on
the log is scanned, so the work grows with what came after, not with the store. After a clean stop
that is next to nothing. After a crash entries of later records are believed only when they equal
what the scan finds; the others are rewritten or dropped (`store/queues/files/bounds.py`).

A queue that turns out to be further behind than the checkpoint says is rebuilt in a second
scan that starts at its last entry. Without any consume queue, or with a checkpoint that names no
record, the whole log is scanned.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Final

from trimq.codec.entries.checkpoint import Checkpoint
from trimq.codec.flags import SysFlag
from trimq.codec.records.multi_dispatch import NAMES_MARK
from trimq.store.errors import StoreDamaged
from trimq.store.log.commit_log import CommitLog
from trimq.store.log.whole_records import LogScanner, record_behind
from trimq.store.messages.message import Dispatched
from trimq.store.messages.tags import TagCodes
from trimq.store.opening.derived_points import DerivedPoints
from trimq.store.opening.index_recovery import IndexRecovery
from trimq.store.opening.report import RecoveryReport
from trimq.store.queues.files.bounds import Believed
from trimq.store.queues.light.entries import light_entries
from trimq.store.queues.queue import FoundEntries
from trimq.store.queues.queues import Queues
from trimq.store.queues.runs import OddRuns, length

log: Final = logging.getLogger("trimq.store")

# Entries collected before they are added to their queues: about 100 MB of memory.
COLLECTED: Final = 2_000_000


class Recovery:
    def __init__(
        self,
        log: CommitLog,
        queues: Queues,
        index: IndexRecovery,
        checkpoint: Checkpoint,
        tags: TagCodes,
        points: DerivedPoints,
        has_light: bool = False,
    ) -> None:
        """`has_light`: records are entered into the light queues that they name, old ones and new ones.

        Otherwise only into those that exist: they have to be as they were when they are wanted again.
        """
        self._has_light = has_light
        self._points = points
        self._log = log
        self._queues = queues
        self._index = index
        # RocketMQ writes 0 when it has nothing to say; -1 is not after any record.
        self._durable = checkpoint.queue_physical_offset or -1
        self._confirmed = checkpoint.confirm_physical_offset
        # Without that, a power loss may have taken the log and left consume queues.
        self._vouches = self._durable > 0 or checkpoint.record_timestamp > 0
        self._tags = tags
        self._found: dict[tuple[str, int], FoundEntries] = {}
        self._count = 0
        self._behind: dict[tuple[str, int], int] = {}
        self._left: dict[tuple[str, int], FoundEntries] = {}
        # Queues that have met a record which they cannot have, and the run that it ended.
        self._gone: dict[tuple[str, int], FoundEntries | None] = {}
        self._odd = OddRuns()
        self._before_change: Callable[[], None] = lambda: None
        # Records that have no place in their queue, or in any.
        self._passed_over = 0
        self._first_passed_over = -1

    def run(
        self, clean: bool, kinds: Mapping[str, str], begin: Callable[[bool], None]
    ) -> RecoveryReport:
        """`kinds` of queues are known for these topics; for others they are detected.

        `begin` is called before the first change, with whether the checkpoint is wrong.
        """
        report = RecoveryReport(clean)
        log = self._log
        files_end = log.written
        self._queues.open(kinds)
        self._index.load(clean)
        if not log.segments:
            if clean or self._vouches:
                self._refuse_without_log()
            begin(False)
            self._index.end(0)
            log.start_at(0, 0)
            self._queues.believe(Believed(0, 0, -1), unchecked=True)
            return report
        after = self._believed()
        report.start = max(after, log.min_offset)
        self._before_change = partial(begin, after < 0 < self._durable)
        self._points.begin(report.start, self._index, self._tags, self._before_change)
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
        self._tell_passed_over()
        report.confirmed = min(max(self._confirmed, log.min_offset), report.end)
        self._points.end(report.start, report.end)
        return report

    def _tell_passed_over(self) -> None:
        if self._passed_over:
            log.error(
                "records that continue no queue are passed over: records=%d first_offset=%d",
                self._passed_over,
                self._first_passed_over,
            )

    def _refuse_without_log(self) -> None:
        if self._queues.topics():
            raise StoreDamaged(
                self._log.files.paths.first,
                0,
                "no commit log, but consume queues: bring it back, or remove `consumequeue` too",
            )

    def _believed(self) -> int:
        """The record that the checkpoint vouches for, if it exists; -1: scan everything."""
        if not self._queues.topics() or self._durable < self._log.min_offset:
            return -1
        scanner = LogScanner(self._log, self._durable, self._log.written, self._tags)
        return self._durable if next(iter(scanner), None) is not None else -1

    def _believe(self, report: RecoveryReport, after: int, end: int) -> None:
        first = self._log.min_offset
        if report.clean and not report.cut:
            self._queues.believe(Believed(first, end), unchecked=False)
        else:
            vouched = after if after >= 0 else first - 1
            self._queues.believe(Believed(first, end, vouched), unchecked=True)

    def _scan(
        self, report: RecoveryReport, after: int, end: int, begin: Callable[[bool], None]
    ) -> None:
        scanner = LogScanner(self._log, report.start, end, self._tags)
        scanner.untorn = end if report.clean else self._durable + 1
        record: Dispatched | None = None
        for record in scanner:
            report.records += 1
            self._index.add(record)
            if record.physical_offset > after:
                self._collect(record)
                if NAMES_MARK in record.properties:
                    for light in self._light_entries(record):
                        self._collect(light)
                if self._count >= COLLECTED:
                    begin(after < 0 < self._durable)
                    report.entries += self._settle(report)
        if record is not None:
            report.last_record = record.physical_offset
            report.last_timestamp = record.store_timestamp
        report.end = scanner.position

    def _collect(self, record: Dispatched) -> None:
        # Prepared and rolled-back messages are not for consumers (CommitLogDispatcher).
        if record.sys_flag & SysFlag.TRANSACTION_MASK not in (
            SysFlag.NOT_TRANSACTION,
            SysFlag.COMMIT,
        ):
            return
        if not record.topic:
            self._pass_over(1, record.physical_offset)
            return
        key = (record.topic, record.queue_id)
        found = self._found.get(key)
        if found is None or not found.add(record):
            if self._is_of_deleted_kind(key, record):
                return
            self._begin_or_continue(key, record)
        self._count += 1

    def _pass_over(self, count: int, offset: int) -> None:
        if not self._passed_over:
            self._first_passed_over = offset
        self._passed_over += count

    def _light_entries(self, record: Dispatched) -> Iterator[Dispatched]:
        return light_entries(self._queues, record, self._has_light)

    def _is_of_deleted_kind(self, key: tuple[str, int], record: Dispatched) -> bool:
        """The topic's queues cannot have such a record: the topic was deleted and had others.

        That holds for its other records too, until the topic made again begins, or until one continues what was
        there before: then such a record does not belong here.
        """
        if not self._queues.kind_of(record.topic).can_hold(record):
            if key not in self._gone:
                self._gone[key] = self._found.pop(key, None)
            return True
        if key not in self._gone:
            return False
        before = self._gone[key]
        if record.queue_offset == 0:
            del self._gone[key]
        elif before is not None and before.next == record.queue_offset:
            del self._gone[key]
            self._found[key] = before
        elif before is None and self._ends_at(key) == record.queue_offset:
            del self._gone[key]
        return key in self._gone

    def _ends_at(self, key: tuple[str, int]) -> int:
        """Where its files end."""
        self._before_change()
        return self._queues.find(*key).max_offset

    def _begin_or_continue(self, key: tuple[str, int], record: Dispatched) -> None:
        """Earlier runs are obsolete, if the topic was deleted and made again; otherwise one of them may go on."""
        before = self._found.get(key)
        if before is not None and before.add(record):
            return
        if before is not None and not self._leaps(before, record):
            self._odd.put_aside(key, before)
        found = self._odd.take_continued(key, record)
        if found is None:
            found = self._queues.kind_of(record.topic).begin(record)
            found.add(record)
        self._found[key] = found

    def _choose(self) -> None:
        """Of queues with more than one run: the one that is theirs."""
        for key in self._odd.queues():
            last = self._found[key]
            chosen = self._odd.choose(key, last, self._queues.find(*key))
            if chosen is not last:
                self._pass_over(length(last), last.physical_offset)
                self._found[key] = chosen
        for key, ended in self._gone.items():
            # Deleted with its topic, it would have no files either.
            if ended is not None and self._queues.find(*key).max_offset:
                self._found.setdefault(key, ended)
        self._gone = dict.fromkeys(self._gone)

    def _leaps(self, before: FoundEntries, record: Dispatched) -> bool:
        return record.queue_offset > before.next and self._queues.is_compacted(record.topic)

    def _settle(self, report: RecoveryReport) -> int:
        """Add what was found to the queues; returns how many entries that was."""
        self._choose()
        topics: dict[str, dict[int, FoundEntries]] = {}
        for (topic, queue_id), found in self._found.items():
            topics.setdefault(topic, {})[queue_id] = found
        complete = report.start == self._log.min_offset
        count = 0
        for topic, queues in topics.items():
            added, behind = self._queues.restore(topic, queues, complete)
            count += added
            for queue_id, end in behind.items():
                self._leave((topic, queue_id), end, queues[queue_id])
        self._found = {}
        self._count = 0
        return count

    def _leave(self, key: tuple[str, int], end: int, found: FoundEntries) -> None:
        """Remember them until the queue, which ends at `end`, has caught up with them."""
        before = self._left.get(key)
        if before is None:
            self._behind[key] = end
            self._left[key] = found
        else:
            before.extend(found)

    def _catch_up(self, report: RecoveryReport) -> None:
        """Scan again for the queues that lack more than the checkpoint promised."""
        if not self._behind:
            return
        behind, left = self._behind, self._left
        start = self._log.min_offset
        if all(self._queues.get(*key).max_offset for key in behind):
            start = max(start, min(self._end_of(*key) for key in behind))
        for stored in LogScanner(self._log, start, report.start + 1, self._tags):
            for record in (stored, *self._light_entries(stored)):
                key = (record.topic, record.queue_id)
                if key not in behind or record.queue_offset < behind[key]:
                    continue
                if record.physical_offset < report.start or record.queue_offset < left[key].first:
                    self._collect(record)
        self._choose()
        for key, later in list(left.items()):
            if not later.may_leap():
                self._close_gap(key, behind[key], left)
        self._behind, self._left = {}, {}
        report.entries += self._settle_caught_up(left)

    def _settle_caught_up(self, left: dict[tuple[str, int], FoundEntries]) -> int:
        count = 0
        for all_found in (self._found, left):
            for (topic, queue_id), found in all_found.items():
                added, _ = self._queues.restore(topic, {queue_id: found}, complete=True)
                count += added
        self._found = {}
        return count

    def _end_of(self, topic: str, queue_id: int) -> int:
        """Physical offset after the queue's last record."""
        queue = self._queues.get(topic, queue_id)
        last = queue.entry(queue.max_offset - 1)
        return last.physical_offset + last.size if last is not None else 0

    def _close_gap(
        self, key: tuple[str, int], end: int, left: dict[tuple[str, int], FoundEntries]
    ) -> None:
        """The queue's end, what was found to catch up, and what comes later have to join without a gap.

        Otherwise the queue is what there is more of: its own entries, or what comes later.
        """
        found, later = self._found.get(key), left[key]
        ends_at = found.next if found is not None else end
        begins_at = found.first if found is not None else later.first
        if ends_at < later.first and self._queues.is_compacted(key[0]):
            # What comes before a leap was copied to other places of the queue.
            self._found.pop(key, None)
            return
        if found is not None and end not in (0, begins_at):
            # It does not continue the queue either.
            self._pass_over(length(found), found.physical_offset)
            del self._found[key]
            ends_at = end
        if ends_at == later.first or (found is None and not end):
            return
        queue = self._queues.get(*key)
        own = queue.max_offset - queue.min_offset + ends_at - end
        if length(later) > own:
            self._pass_over(own, -1)
            self._found.pop(key, None)
            self._queues.delete_queue(queue)
        else:
            self._pass_over(length(later), later.physical_offset)
            del left[key]

    def _refuse_damage(self, report: RecoveryReport, files_end: int) -> None:
        """A tear at the end is cut off; damage before good records is not a tear.

        After what the checkpoint vouches for, a power loss may look like this too, because
        the disk writes pages in any order; that part was never promised.
        """
        promised = report.clean or report.end <= self._durable
        if not promised or report.end >= files_end:
            return
        if record_behind(self._log, report.end, files_end, self._tags) < 0:
            return
        path, position = self._log.path_of(report.end)
        raise StoreDamaged(
            Path(path), position, "there is no whole record here, but there are some after it"
        )
