"""A light queue: entries for records of other topics (LMQ), `consumequeue/%LMQ%.../0/%020d`.

Its files are those of a plain queue. The offsets that a record names are where it went when it was written; where
the real broker has counted more than it has entered, they are ahead of the entries, and entries follow each other
all the same. So recovery goes by the records' places in the log, and only offset 0 says that a queue was
deleted and began again.

Hot: compiled by mypyc when a compiler is there.
"""

from __future__ import annotations

from trimq.codec.entries.queue import ENTRY_SIZE, pack, parse, place_at
from trimq.store.disk.files import OpenFiles
from trimq.store.messages.message import Dispatched
from trimq.store.queues.files.bounds import Believed
from trimq.store.queues.plain.consume_queue import (
    ConsumeQueue,
    ConsumeQueueKind,
    FoundConsumeEntries,
)
from trimq.store.queues.queue import FoundEntries, Queue


class FoundLightEntries(FoundConsumeEntries):
    __slots__ = ("last",)

    def __init__(self, record: Dispatched) -> None:
        super().__init__(record)
        # The place of the last record in the log.
        self.last = -1

    def add(self, record: Dispatched) -> bool:
        if record.physical_offset <= self.last:
            # It names the queue twice.
            return True
        if record.queue_offset == 0 and self.entries:
            return False
        self.entries += pack(record.physical_offset, record.size, record.tags_code)
        self.last = record.physical_offset
        self.next += 1
        return True

    def extend(self, later: FoundEntries) -> None:
        assert isinstance(later, FoundLightEntries)
        super().extend(later)
        self.last = later.last

    def may_leap(self) -> bool:
        return True


class LightQueue(ConsumeQueue):
    __slots__ = ()

    # --- opening

    def load(self, bounds: Believed, expected: int = -1) -> None:
        # Offsets of records do not tell where the entries end.
        super().load(bounds)

    def restore(self, found: FoundEntries, bounds: Believed, complete: bool) -> int:
        """What is not vouched for was removed at loading, so the entries left are as good as records."""
        assert isinstance(found, FoundLightEntries)
        there = self._last_place()
        if found.physical_offset > there and self._begins_again(found, complete):
            self.delete()
            there = -1
        entries = bytes(found.entries)
        start = 0
        while start < len(entries) and place_at(entries[start : start + ENTRY_SIZE])[0] <= there:
            start += ENTRY_SIZE
        entries = entries[start:]
        if not entries:
            return 0
        if self.is_new:
            self.min_offset = self.max_offset = found.first
            self.files.start_at(found.first * ENTRY_SIZE)
        kept = 0 if self.unwritten_bytes else self.files.keep(entries, ENTRY_SIZE)
        self.files.clear_behind()
        self.max_offset += kept // ENTRY_SIZE
        self.add_restored(found, entries[kept:])
        self.next_offset = self.max_offset
        return len(entries) // ENTRY_SIZE

    def _begins_again(self, found: FoundEntries, complete: bool) -> bool:
        """Whether what is here is a deleted queue's, or so old that the log has nothing of it."""
        if self.is_new or found.first == self.max_offset:
            return False
        is_gone = complete and self.min_offset == self.max_offset
        return found.first == 0 or (is_gone and found.first > self.max_offset)

    def _last_place(self) -> int:
        """Where the last record is in the log; -1 without any."""
        last = self.entries(self.max_offset - 1, 1) if self.max_offset else b""
        return parse(last).physical_offset if last else -1


class LightQueueKind(ConsumeQueueKind):
    """Names that begin with %LMQ%; their queues have no extension, as ConsumeQueue dispatches."""

    __slots__ = ()

    def make(self, topic: str, queue_id: int) -> Queue:
        directory = f"{self.directory_of(topic)}/{queue_id}"
        return LightQueue(topic, queue_id, directory, self.file_size, self.open_files)

    def begin(self, record: Dispatched) -> FoundEntries:
        return FoundLightEntries(record)


def light_kind(directory: str, file_size: int, open_files: OpenFiles) -> LightQueueKind:
    """The kind of all light queues; `directory` is that of the plain ones, of files with as many bytes."""
    return LightQueueKind([directory], file_size, open_files)
