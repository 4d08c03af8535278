"""Records against consume-queue entries, both ways, while the log goes by.

Records of a queue come in the order of its offsets, so per queue a few numbers are enough. An entry
is checked when its record comes by; entries that no record asked for are checked when the queue
jumps over them, or at the end.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from trimq.codec.entries.extension_unit import MAX_ADDRESS
from trimq.codec.flags import SysFlag
from trimq.codec.names import LIGHT_QUEUE_ID, SCHEDULE_TOPIC, allows_light, is_light
from trimq.codec.records.multi_dispatch import light_places, wanted_names
from trimq.codec.records.properties import find_property
from trimq.codec.records.property_keys import INNER_MULTI_DISPATCH, INNER_MULTI_QUEUE_OFFSET
from trimq.codec.records.record import Record
from trimq.store.checking.extensions import Extensions
from trimq.store.checking.findings import Findings
from trimq.store.checking.log import NOWHERE, LogWalk
from trimq.store.checking.queue_files import FILLER, NO_ENTRY, CheckedFiles, Entry, OpenForReading
from trimq.store.checking.state import StoreState
from trimq.store.inspecting.sparse_file import SparseFile
from trimq.store.messages.tags import TagCodes

_DISPATCH: Final = INNER_MULTI_DISPATCH.encode()
_DISPATCH_OFFSETS: Final = INNER_MULTI_QUEUE_OFFSET.encode()
# How many entries of one gap are checked; a longer gap is one problem anyway.
GAP_ENTRIES: Final = 100_000


class Misses:
    """Records without their entry: how many, the first, and where the first and last are."""

    __slots__ = ("begin", "count", "last", "text")

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self.count = 0
        self.text = ""
        self.begin = -1
        self.last = -1

    def add(self, physical_offset: int, text: str) -> None:
        if not self.count:
            self.text = text
            self.begin = physical_offset
        self.count += 1
        self.last = physical_offset

    def take(self, others: Misses) -> None:
        if not others.count:
            return
        if not self.count:
            self.text = others.text
            self.begin = others.begin
        self.count += others.count
        self.last = others.last
        others.clear()


class CheckedQueue:
    """What is known about one queue so far."""

    __slots__ = ("files", "first", "inner", "next", "queue_id", "tail", "topic", "wrong")

    def __init__(self, topic: str, queue_id: int, files: CheckedFiles) -> None:
        self.topic = topic
        self.queue_id = queue_id
        self.files = files
        self.first = -1
        self.next = -1
        # Missing at the queue's end so far; when an entry follows they move to `inner`.
        self.tail = Misses()
        self.inner = Misses()
        self.wrong = Misses()

    def __str__(self) -> str:
        return f"{self.topic} {self.queue_id}"


class QueueChecks:
    def __init__(
        self, root: Path, walk: LogWalk, state: StoreState, tags: TagCodes, findings: Findings
    ) -> None:
        self.directory = root / "consumequeue"
        self._walk = walk
        self._state = state
        self._tags = tags
        self._findings = findings
        self._opened = OpenForReading()
        self._extensions = Extensions(root / "consumequeue_ext", self._opened)
        self._queues: dict[tuple[str, int], CheckedQueue] = {}
        self.records = 0
        self.to_rebuild = 0
        """Queues that lack entries which the next start writes."""

    def close(self) -> None:
        self._opened.close()

    # --- while the log is read

    def record(self, record: Record) -> None:
        code = self._tags.code(record.topic, record.properties, record.store_timestamp)
        queue = self.queue(record.topic, record.queue_id)
        self._entry(queue, record.queue_offset, record, code)
        if _DISPATCH in record.properties:
            self._light_queues(record, code)

    def queue(self, topic: str, queue_id: int) -> CheckedQueue:
        queue = self._queues.get((topic, queue_id))
        if queue is None:
            files = CheckedFiles(f"{self.directory}/{topic}/{queue_id}", self._opened)
            queue = self._queues[topic, queue_id] = CheckedQueue(topic, queue_id, files)
            for misfit in files.misfits(self._state.closed):
                self._findings.problem("queue file missing or of another length", misfit)
        return queue

    def _light_queues(self, record: Record, code: int) -> None:
        """Entries in further queues (MultiDispatchUtils); only if that is switched on: then they exist.

        Without enableLmq the real broker takes any name for that of a topic, and the queue's number from the record.
        """
        if record.sys_flag & SysFlag.INNER_BATCH or not allows_light(record.topic):
            return
        for name, offset in light_places(record.properties):
            if name != record.topic and (self.directory / name).is_dir():
                self._entry(self.queue(name, LIGHT_QUEUE_ID), offset, record, code)
        names = wanted_names(record.properties)
        offsets = find_property(record.properties, _DISPATCH_OFFSETS) or b""
        for name, text in zip(names, offsets.split(b","), strict=False):
            if is_light(name) or "/" in name or not text.isdigit():
                continue
            if (self.directory / name).is_dir():
                self._entry(self.queue(name, record.queue_id), int(text), record, code)

    def _entry(self, queue: CheckedQueue, offset: int, record: Record, code: int) -> None:
        self.records += 1
        if offset != queue.next:
            self._jump(queue, offset, record)
        queue.next = offset + 1
        entry = queue.files.entry(offset)
        physical_offset = record.physical_offset
        if entry[0] != physical_offset or entry[1] != record.total_size or entry[2] != code:
            if entry == NO_ENTRY and self._state.running:
                entry = queue.files.entry_anew(offset)
            self._compare(queue, offset, entry, record, code)
        elif queue.tail.count:
            self._end_tail(queue, offset)

    def _compare(
        self, queue: CheckedQueue, offset: int, entry: Entry, record: Record, code: int
    ) -> None:
        where = f"{queue} offset {offset}, record at {record.physical_offset}"
        if entry in (NO_ENTRY, FILLER):
            queue.tail.add(record.physical_offset, where)
            return
        self._end_tail(queue, offset)
        if entry[0] != record.physical_offset:
            text = f"{where}: the entry points to {entry[0]}"
        elif entry[1] != record.total_size:
            text = f"{where}: the entry says {entry[1]} bytes, the record has {record.total_size}"
        elif self._is_code(queue, entry[2], record, code):
            return
        else:
            text = f"{where}: the entry's tags code is {entry[2]}, the record's {code}"
        queue.wrong.add(record.physical_offset, text)

    def _end_tail(self, queue: CheckedQueue, offset: int) -> None:
        """An entry follows missing ones; a running broker may just have written them all."""
        last = offset - 1
        if self._state.running and queue.tail.count and queue.files.entry_anew(last) != NO_ENTRY:
            queue.tail.clear()
        queue.inner.take(queue.tail)

    def _is_code(self, queue: CheckedQueue, found: int, record: Record, code: int) -> bool:
        if found == code:
            return True
        if found <= MAX_ADDRESS:
            unit = self._extensions.unit(queue.topic, queue.queue_id, found)
            return unit == (code, record.store_timestamp)
        # The delays may be configured differently.
        return queue.topic == SCHEDULE_TOPIC and found >= record.store_timestamp

    def _jump(self, queue: CheckedQueue, offset: int, record: Record) -> None:
        if queue.next < 0:
            queue.first = offset
        elif offset > queue.next:
            lost = f"{queue.next}" if offset == queue.next + 1 else f"{queue.next}..{offset - 1}"
            text = (
                f"{queue}: no record for offset {lost}, the next one is at {record.physical_offset}"
            )
            self._findings.problem("gap in a queue", text, offset - queue.next)
            for number in range(queue.next, min(offset, queue.next + GAP_ENTRIES)):
                self._unasked(queue, number, queue.files.entry(number), NOWHERE)
        elif offset == 0:
            # The topic was deleted and made again: the entries are the new one's.
            text = f"{queue} begins again with the record at {record.physical_offset}"
            self._findings.note("queue of a topic that was created again", text)
            for misses in (queue.tail, queue.inner, queue.wrong):
                misses.clear()
            queue.first = offset
        else:
            text = f"{queue}: offset {offset} comes after {queue.next - 1}"
            self._findings.problem("queue out of order", f"{text}, at {record.physical_offset}")

    def _unasked(self, queue: CheckedQueue, number: int, entry: Entry, log_end: int) -> None:
        """An entry within the queue that no record in the log has asked for."""
        if entry in (NO_ENTRY, FILLER) or entry[0] < self._walk.start:
            return
        where = f"{queue} offset {number} points to {entry[0]}"
        if entry[0] + entry[1] > log_end:
            self._ahead(where)
        elif any(start <= entry[0] < end for start, end in self._walk.damaged):
            self._findings.problem("entry of a lost record", f"{where}, in a damaged region")
        else:
            self._findings.problem("dangling entry", f"{where}, where there is no such record")

    def _ahead(self, where: str) -> None:
        text = f"{where}, the log ends at {self._walk.end}"
        if self._state.running:
            return
        if self._state.closed:
            self._findings.problem("entry beyond the log's end", text)
        else:
            self._findings.note("entries beyond the log's end, which recovery drops", text)

    # --- when the log has been read

    def finish(self, deleted: frozenset[str] | None, quick: bool) -> None:
        """`deleted`: topics without a configuration; None when that is not known."""
        self._load_others()
        for queue in self._queues.values():
            if queue.next >= 0 and not queue.files.bases and deleted and queue.topic in deleted:
                text = f"{queue}: {queue.tail.count} records"
                self._findings.note(
                    "records of a topic that no longer exists", text, queue.tail.count
                )
                continue
            self._finish(queue, quick)

    def _load_others(self) -> None:
        """Queues on the disk that no record has asked for."""
        if not self.directory.is_dir():
            return
        for topic in os.scandir(self.directory):
            if topic.is_dir():
                for queue in os.scandir(topic.path):
                    if queue.name.isdigit() and queue.is_dir():
                        self.queue(topic.name, int(queue.name))

    def _finish(self, queue: CheckedQueue, quick: bool) -> None:
        files = queue.files
        end = files.first
        if queue.next >= 0:
            before = (
                range(queue.first - 1, queue.first) if quick else range(files.first, queue.first)
            )
            for number in before:
                self._unasked(queue, number, files.entry(number), self._walk.end)
            end = queue.next
        elif quick:
            end = max(files.end() - 1, files.first)
        for number, entry in files.entries(end):
            self._unasked(queue, number, entry, self._walk.end)
            end = number + 1
        self._behind_end(queue, end)
        self._report(queue)
        files.forget()

    def _behind_end(self, queue: CheckedQueue, end: int) -> None:
        files = queue.files
        if not files.per_file or self._state.running:
            return
        base = end - (end - files.first) % files.per_file
        path = files.path(base)
        if not os.path.exists(path):
            return
        with SparseFile(Path(path), 4096) as file:
            found = file.skip_zeros((end - base) * 20)
            if found < file.size:
                text = f"{path}: the entries end at {end}, but byte {found} is not zero"
                self._findings.problem("something after a queue's end", text)

    def _report(self, queue: CheckedQueue) -> None:
        repairable = max(queue.tail.last, queue.inner.last, queue.wrong.last)
        missing = queue.tail.count + queue.inner.count + queue.wrong.count
        if missing and repairable > self._state.durable:
            self.to_rebuild += 1
        self._report_misses(queue, queue.tail, "missing entry", at_end=True)
        self._report_misses(queue, queue.inner, "missing entry", at_end=False)
        self._report_misses(queue, queue.wrong, "wrong entry", at_end=False)

    def _report_misses(self, queue: CheckedQueue, misses: Misses, kind: str, at_end: bool) -> None:
        if not misses.count:
            return
        text = misses.text
        if misses.count > 1:
            text += f", and {misses.count - 1} more of {queue}"
        if not self._state.repaired(misses.begin) or (self._state.running and not at_end):
            self._findings.problem(kind, text, misses.count)
        elif self._state.running:
            self._findings.note("entries not written yet", text, misses.count)
        else:
            self._findings.note("entries that recovery writes", text, misses.count)

    # --- for consumer offsets

    def bounds(self, topic: str, queue_id: int, log_start: int) -> tuple[int, int] | None:
        """Min and max offset of the queue; None when nothing of it exists."""
        queue = self._queues.get((topic, queue_id))
        if queue is None:
            return None
        end = queue.files.end()
        low = queue.files.first_behind(log_start, end)
        if not queue.files.bases and queue.next >= 0:
            low = queue.first
        return low, max(end, queue.next)

    def topics(self) -> frozenset[str]:
        """Topics that have records."""
        return frozenset(queue.topic for queue in self._queues.values() if queue.next >= 0)

    @property
    def count(self) -> int:
        return len(self._queues)


def has_entry(record: Record) -> bool:
    """Prepared and rolled-back messages have no place in a queue (CommitLogDispatcher)."""
    kind = record.sys_flag & SysFlag.TRANSACTION_MASK
    return kind in (SysFlag.NOT_TRANSACTION, SysFlag.COMMIT)
