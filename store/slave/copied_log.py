"""A slave's store: raw bytes of its master's log, and the queues, index and listeners that follow them.

The bytes need not end with a whole record; queues follow up to the last whole one (ReputMessageService). Offsets
are the master's, so an entry has its place already: what is there is skipped, a new queue may begin anywhere, and
a gap is an error after which the queue is rebuilt from the log.

They follow no further than the bound (dispatch.py), as on a master: with SYNC_FLUSH what is on the disk, in a term
what its slaves have (CommitLog.getConfirmOffset).

Hot: compiled by mypyc when a compiler is there.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Final

from trimq.codec.flags import SysFlag
from trimq.codec.records.multi_dispatch import NAMES_MARK
from trimq.store.appending.appender import has_queue
from trimq.store.appending.dispatch import Dispatch
from trimq.store.errors import StoreError
from trimq.store.log.commit_log import CommitLog
from trimq.store.log.whole_records import LogScanner, record_behind
from trimq.store.messages.message import Dispatched
from trimq.store.messages.tags import TagCodes
from trimq.store.queues.batch_queue import BatchConsumeQueue
from trimq.store.queues.light.entries import light_entries
from trimq.store.queues.light.queue import LightQueue
from trimq.store.queues.plain.consume_queue import ConsumeQueue
from trimq.store.queues.queue import FoundEntries, Queue
from trimq.store.queues.queues import Queues
from trimq.store.queues.runs import OddRuns, length
from trimq.store.reading.replaying import apply_effect

log = logging.getLogger("trimq.store")

# Records looked at before anybody else gets a turn: 1 to 2 ms.
STEP_RECORDS: Final = 512
# The same for long ones, each of which is read and checked whole.
STEP_BYTES: Final = 1024 * 1024
# Of the log for a queue that does not go on as it should: whoever forges records has no more than these.
_MOST_SCANS: Final = 4


class CopiedLog:
    def __init__(
        self,
        commit_log: CommitLog,
        queues: Queues,
        tags: TagCodes,
        dispatch: Dispatch,
        has_light: bool,
        largest_record: int,
    ) -> None:
        """`has_light`: records make light queues; otherwise they only enter those that exist."""
        self._shown: Callable[[], object] | None = None
        self._log = commit_log
        self._largest_record = largest_record
        self._queues = queues
        self._tags = tags
        self._dispatch = dispatch
        self._has_light = has_light
        # Up to where queues follow; recovery has brought them to the log's end.
        self.derived = commit_log.written
        self._stuck_at = -1
        # Each reads the whole log.
        self._scans_left = _MOST_SCANS
        # Where records are that have no place: those of this step, how many there were, when that is said again.
        self._passed: set[int] = set()
        self._passed_over = 0
        self._tell_at = 1
        self._scanner = LogScanner(commit_log, self.derived, self.derived, tags)

    def restart(self) -> None:
        """The log was cut, and recovery has brought the queues to its end."""
        self.derived = self._log.written
        self._stuck_at = -1
        self._scanner = LogScanner(self._log, self.derived, self.derived, self._tags)

    @property
    def bound(self) -> int:
        """Up to where queues may follow."""
        return min(self._dispatch.bound, self._log.written)

    def listen(self, shown: Callable[[], object]) -> None:
        """Called when more is on the disk, and queues may follow further."""
        self._shown = shown

    def show(self) -> None:
        """More is on the disk."""
        if self._shown is not None:
            self._shown()

    @property
    def end(self) -> int:
        """Where the log ends, mid-record or not."""
        return self._log.written

    @property
    def room(self) -> int:
        """How many bytes of the file that is appended to are left."""
        return self._log.room()

    @property
    def is_empty(self) -> bool:
        """Whether the log has nothing: it may begin anywhere then."""
        return not self._log.segments

    def begin_at(self, offset: int) -> None:
        """The first byte to come is at this offset, a file's first one; only for an empty log."""
        if not self.is_empty or offset % self._log.file_size:
            raise StoreError(f"a log that ends at {self._log.written} cannot begin at {offset}")
        self._log.start_at(offset, offset)
        self.derived = offset
        self._scanner = LogScanner(self._log, offset, offset, self._tags)

    def append(self, chunks: list[bytes | memoryview], size: int) -> None:
        """The next bytes of the master's log, all in one file. StoreError: none of them is kept."""
        self._log.append_copy(chunks, size)
        self._dispatch.tell_written()

    def derive_some(self, most: int = STEP_RECORDS) -> bool:
        """Let the queues follow by so many records and about 1 MiB at most; True when there may be more.

        StoreError: as if it had not been called.
        """
        bound = self.bound
        if self.derived >= bound:
            return False
        scanner = self._scanner
        if scanner.position != self.derived:
            # The step before this one failed.
            scanner = self._scanner = LogScanner(self._log, self.derived, bound, self._tags)
        scanner.end = bound
        # What lies behind something was written after it.
        scanner.untorn = bound
        records = scanner.take(most, bound, STEP_BYTES)
        if records:
            self._enter(records)
        else:
            self._look_at_rest(scanner.position, bound)
        self.derived = scanner.position
        return bool(records)

    def _look_at_rest(self, position: int, bound: int) -> None:
        """What is there is a part of a record, or damage: then it will never become one."""
        if position == self._stuck_at or bound - position <= self._largest_record:
            return
        if record_behind(self._log, position, bound, self._tags) >= 0:
            self._stuck_at = position
            log.error("no whole record in the copied log, queues stop there: offset=%d", position)

    # --- queues

    def _enter(self, records: list[Dispatched]) -> None:
        has_light = _any_light(records)
        entered: list[tuple[Queue, Dispatched]] = []
        for queue, those in self._by_queue(records, has_light):
            count = len(those)
            start = 0
            while start < count:
                is_light = has_light and _is_light(those[start])
                end = start + 1 if is_light else _run(those, start, has_light)
                self._append(queue, those, start, end)
                if is_light:
                    self._enter_light(those[start])
                start = end
            if queue.effect is not None:
                entered.extend((queue, record) for record in those)
        passed, self._passed = self._passed, set()
        if entered:
            entered.sort(key=_place)
        for queue, record in entered:
            if queue.effect is not None and record.physical_offset not in passed:
                apply_effect(self._log, queue.effect, record, self._dispatch.failures)
        if passed:
            # Nobody hears of them either.
            records = [record for record in records if record.physical_offset not in passed]
        if records:
            self._dispatch.followed(records)

    def _by_queue(
        self, records: list[Dispatched], in_order: bool
    ) -> list[tuple[Queue, list[Dispatched]]]:
        """Those that have a queue, each queue's together; `in_order`: only as far as they follow one another."""
        found: list[tuple[Queue, list[Dispatched]]] = []
        of_queue: dict[Queue, list[Dispatched]] = {}
        for record in records:
            if not record.topic:
                self._pass_over(record)
                continue
            if not has_queue(record.sys_flag):
                continue
            queue = self._queues.get(record.topic, record.queue_id)
            those = of_queue.get(queue)
            if those is None:
                if in_order:
                    of_queue.clear()
                those = of_queue[queue] = []
                found.append((queue, those))
            those.append(record)
        return found

    def _enter_light(self, record: Dispatched) -> None:
        for light in light_entries(self._queues, record, self._has_light):
            queue = self._queues.get(light.topic, light.queue_id)
            self._append(queue, [light], 0, 1)

    def _append(self, queue: Queue, records: list[Dispatched], start: int, end: int) -> None:
        for index in range(start, end):
            records[index].count = queue.count_in(records[index])
        if queue.follows(records[start]):
            queue.append(records, start, end)
            queue.next_offset = queue.max_offset
            self._queues.rounds.appended(queue)
        else:
            self._restore(queue, records[start:end])

    def _restore(self, queue: Queue, records: list[Dispatched]) -> None:
        """They are not what comes next: the queue is new, was made again, or has them already."""
        if isinstance(queue, ConsumeQueue) and not isinstance(queue, LightQueue):
            records = _unknown(queue, records)
            if not records:
                return
            offset = records[0].queue_offset
            if not queue.is_new and offset not in (0, queue.max_offset):
                self._mend(queue, records)
                return
        elif isinstance(queue, BatchConsumeQueue):
            records = [
                one for one in records if one.queue_offset == 0 or self._is_taken(queue, one)
            ]
            if not records:
                return
        found = self._found(queue.topic, records)
        self._queues.restore(queue.topic, {queue.queue_id: found}, complete=True)

    def _is_taken(self, queue: BatchConsumeQueue, record: Dispatched) -> bool:
        is_taken = queue.takes(record.queue_offset)
        if not is_taken:
            self._pass_over(record)
        return is_taken

    def _mend(self, queue: Queue, records: list[Dispatched]) -> None:
        """They do not continue it: it lacks what the log has before them, or they have no place in it."""
        topic, queue_id = queue.topic, queue.queue_id
        if self._scans_left:
            self._scans_left -= 1
            run = self._run_of(topic, queue_id, records[-1].physical_offset)
            if length(run) > queue.max_offset - queue.min_offset:
                log.error(
                    "messages missing in a queue, rebuilding it: topic=%s queue=%d ends=%d next=%d",
                    topic,
                    queue_id,
                    queue.max_offset,
                    records[0].queue_offset,
                )
                self._queues.delete_queue(queue)
                self._queues.restore(topic, {queue_id: run}, complete=True)
                return
        for record in records:
            self._pass_over(record)

    def _run_of(self, topic: str, queue_id: int, last: int) -> FoundEntries:
        """The run of consecutive entries that has the record at `last`, from the whole log."""
        odd, key = OddRuns(), (topic, queue_id)
        found: FoundEntries | None = None
        for record in self._of_queue(topic, queue_id, last):
            if found is not None:
                if found.add(record):
                    continue
                odd.put_aside(key, found)
            found = odd.take_continued(key, record)
            if found is None:
                found = self._queues.kind_of(topic).begin(record)
                found.add(record)
        if found is None:
            raise StoreError(f"no record of {topic} {queue_id} up to {last}")
        return found

    def _pass_over(self, record: Dispatched) -> None:
        """It has no place in a queue; says so once for many."""
        self._passed.add(record.physical_offset)
        self._passed_over += 1
        if self._passed_over >= self._tell_at:
            self._tell_at *= 10
            log.error(
                "records that continue no queue are passed over: records=%d topic=%s queue=%d next=%d offset=%d",
                self._passed_over,
                record.topic,
                record.queue_id,
                record.queue_offset,
                record.physical_offset,
            )

    def _found(self, topic: str, records: list[Dispatched]) -> FoundEntries:
        """Of the last run of offsets without a gap."""
        kind = self._queues.kind_of(topic)
        found = kind.begin(records[0])
        for record in records:
            if not found.add(record):
                found = kind.begin(record)
                found.add(record)
        return found

    def _of_queue(self, topic: str, queue_id: int, last: int) -> Iterator[Dispatched]:
        scanner = LogScanner(self._log, self._log.min_offset, self._log.written, self._tags)
        for record in scanner:
            if record.physical_offset > last:
                return
            if not has_queue(record.sys_flag):
                continue
            for one in (record, *light_entries(self._queues, record, self._has_light)):
                if one.topic == topic and one.queue_id == queue_id:
                    yield one


def _any_light(records: list[Dispatched]) -> bool:
    """Whether one may be in light queues: any queue may be one, and then records are entered in their order."""
    before = b""
    for record in records:
        properties = record.properties
        # Those of a batch are often one object.
        if properties is not before and properties.find(NAMES_MARK) >= 0:
            return True
        before = properties
    return False


def _is_light(record: Dispatched) -> bool:
    return record.properties.find(NAMES_MARK) >= 0


def _unknown(queue: Queue, records: list[Dispatched]) -> list[Dispatched]:
    """Without those at the beginning that the queue has already."""
    for index, record in enumerate(records):
        entry = queue.entry(record.queue_offset)
        if entry is None or entry.physical_offset != record.physical_offset:
            return records[index:]
    return []


def _place(entered: tuple[Queue, Dispatched]) -> int:
    return entered[1].physical_offset


def _run(records: list[Dispatched], start: int, has_light: bool) -> int:
    """Where the consecutive messages that begin there end; all are of one queue."""
    first = records[start]
    end = start + 1
    if first.sys_flag & SysFlag.INNER_BATCH:
        return end
    while end < len(records):
        record = records[end]
        if (
            record.queue_offset != first.queue_offset + end - start
            or record.sys_flag & SysFlag.INNER_BATCH
            or (has_light and _is_light(record))
        ):
            break
        end += 1
    return end
