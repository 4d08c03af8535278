"""Staging: messages become records, with their queue offset and place in the commit log.

Staged records are nobody's business until `write` has brought them to the files with one system
call; then their consume-queue entries and listeners follow. When writing fails, all offsets are
as before. Hot: compiled by mypyc when a compiler is there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from trimq.codec.batch_queue_entry import BatchQueueEntry
from trimq.codec.flags import SysFlag
from trimq.codec.record import encode_record, record_size
from trimq.store.batch_consume_queue import BatchConsumeQueue
from trimq.store.batch_records import encode_batch
from trimq.store.commit_log import CommitLog
from trimq.store.consume_queue import ConsumeQueue
from trimq.store.consume_queues import ConsumeQueues
from trimq.store.errors import StoreError
from trimq.store.inner_batch import count_of, with_base
from trimq.store.message import Appended, AppendedBatch, Dispatched, Message
from trimq.store.record_limits import RecordLimits, closed_properties
from trimq.store.tags import TagCodes

_TRANSACTION: Final = 0xC
_COMMIT: Final = 0x8
_INNER_BATCH: Final = int(SysFlag.INNER_BATCH)


# Told of the records of one write, in their order; it must not change the list.
Listener = Callable[[list[Dispatched]], None]


class StagedEntry:
    """A staged record's place in a batch queue; `index` is its number among all staged."""

    __slots__ = ("base_offset", "count", "index", "queue")

    def __init__(self, index: int, queue: BatchConsumeQueue, base_offset: int, count: int) -> None:
        self.index = index
        self.queue = queue
        self.base_offset = base_offset
        self.count = count


class Appender:
    __slots__ = (
        "_limits",
        "_listeners",
        "_log",
        "_now_millis",
        "_queues",
        "_staged",
        "_staged_entries",
        "_staged_queues",
        "_tags",
        "last_offset",
        "last_timestamp",
    )

    def __init__(
        self,
        log: CommitLog,
        queues: ConsumeQueues,
        tags: TagCodes,
        max_message_size: int,
        now_millis: Callable[[], int],
    ) -> None:
        self._log = log
        self._queues = queues
        self._tags = tags
        self._limits = RecordLimits(log, max_message_size)
        self._now_millis = now_millis
        self._listeners: list[Listener] = []
        self._staged: list[Dispatched] = []
        # None for records without an entry, and for those in `_staged_entries`.
        self._staged_queues: list[ConsumeQueue | None] = []
        self._staged_entries: list[StagedEntry] = []
        # The last record that is in the log, for the checkpoint.
        self.last_offset = -1
        self.last_timestamp = 0

    def limit_bodies(self, longest: int) -> None:
        """From now on no body may have more bytes (maxMessageSize)."""
        self._limits.limit_bodies(longest)

    def add_listener(self, listener: Listener) -> None:
        self._listeners.append(listener)

    def stage(self, message: Message) -> Appended:
        if message.topic in self._queues.batches.topics:
            return self._stage_in_batch_queue(message)
        queue = self._queue_of(message)
        return self._stage_at(message, queue, 0 if queue is None else queue.next_offset)

    def _stage_in_batch_queue(self, message: Message) -> Appended:
        """A message, or several in one record, of a topic with `queue.type=BatchCQ`."""
        if not has_queue(message.sys_flag):
            return self._stage_at(message, None, 0)
        queue = self._queues.batches.get(message.topic, message.queue_id)
        count = 1
        if message.sys_flag & _INNER_BATCH:
            count = count_of(message.properties)
            message.properties = with_base(message.properties, queue.next_offset)
        appended = self._stage_at(message, None, queue.next_offset)
        self._add_entry(queue, count)
        return appended

    def _add_entry(self, queue: BatchConsumeQueue, count: int) -> None:
        """For the record that was staged last."""
        index = len(self._staged) - 1
        self._staged_entries.append(StagedEntry(index, queue, queue.next_offset, count))
        queue.next_offset += count

    def _stage_at(
        self, message: Message, queue: ConsumeQueue | None, queue_offset: int
    ) -> Appended:
        topic = message.topic.encode()
        properties = closed_properties(message.properties)
        size = record_size(len(message.body), len(topic), len(properties), message.sys_flag)
        self._limits.check(message.body, properties, size)
        position = self._log.place(size)
        now = self._now_millis()
        record = encode_record(
            topic,
            message.queue_id,
            message.flag,
            queue_offset,
            position,
            message.sys_flag,
            message.born_timestamp,
            message.born_host,
            now,
            message.store_host,
            message.reconsume_times,
            message.prepared_transaction_offset,
            message.body,
            properties,
        )
        self._log.add(position, record)
        size = len(record)
        self._note(message, queue, queue_offset, position, size, properties, now)
        return Appended(queue_offset, position, size, now)

    def stage_batch(self, message: Message) -> AppendedBatch:
        """Records for all items of the body, with consecutive queue offsets and in one file."""
        if not has_queue(message.sys_flag):
            raise StoreError("a batch cannot be part of a transaction")
        queue: ConsumeQueue | None = None
        batch_queue: BatchConsumeQueue | None = None
        if message.topic in self._queues.batches.topics:
            batch_queue = self._queues.batches.get(message.topic, message.queue_id)
            first = batch_queue.next_offset
        else:
            queue = self._queues.get(message.topic, message.queue_id)
            first = queue.next_offset
        now = self._now_millis()
        position = self._log.place(0)
        records = encode_batch(message, first, position, now, self._limits)
        if self._log.place(len(records.data)) != position:
            # They belong into the next file.
            position = self._log.place(len(records.data))
            records = encode_batch(message, first, position, now, self._limits)
        # From here on nothing can fail: records and their offsets are staged together.
        self._log.add(position, records.data)
        at = position
        for index, size in enumerate(records.sizes):
            properties = records.properties[index]
            self._note(message, queue, first + index, at, size, properties, now)
            if batch_queue is not None:
                self._add_entry(batch_queue, 1)
            at += size
        return AppendedBatch(first, position, records.sizes, at)

    def _queue_of(self, message: Message) -> ConsumeQueue | None:
        """None for prepared and rolled-back messages: they have no place in a queue."""
        if not has_queue(message.sys_flag):
            return None
        return self._queues.get(message.topic, message.queue_id)

    def _note(
        self,
        message: Message,
        queue: ConsumeQueue | None,
        queue_offset: int,
        position: int,
        size: int,
        properties: bytes,
        now: int,
    ) -> None:
        """Remember a record that was given to the log, until it is written."""
        dispatched = Dispatched(
            message.topic,
            message.queue_id,
            queue_offset,
            position,
            size,
            self._tags.code(message.topic, properties, now),
            now,
            message.sys_flag,
            properties,
        )
        if queue is not None:
            queue.next_offset = queue_offset + 1
        self._staged.append(dispatched)
        self._staged_queues.append(queue)

    @property
    def has_staged(self) -> bool:
        return len(self._staged) > 0

    def discard(self) -> None:
        """Take back what is staged."""
        self._forget()
        self._log.discard()

    def _forget(self) -> None:
        for queue in self._staged_queues:
            if queue is not None:
                queue.next_offset = queue.max_offset
        for entry in self._staged_entries:
            entry.queue.next_offset = entry.queue.max_offset
        self._staged = []
        self._staged_queues = []
        self._staged_entries = []

    def write(self) -> None:
        """Bring what is staged to the log and tell everybody; StoreError takes all of it back."""
        staged = self._staged
        if not staged:
            return
        queues = self._staged_queues
        entries = self._staged_entries
        try:
            self._log.write()
        except StoreError:
            self._forget()
            raise
        self._staged = []
        self._staged_queues = []
        if self._queues.extended:
            self._append_extended(staged, queues)
        else:
            self._append(staged, queues)
        if entries:
            self._staged_entries = []
            self._append_entries(staged, entries)
        dispatched = staged[-1]
        self.last_offset = dispatched.physical_offset
        self.last_timestamp = dispatched.store_timestamp
        for listener in self._listeners:
            listener(staged)

    def _append(self, staged: list[Dispatched], queues: list[ConsumeQueue | None]) -> None:
        """Their consume-queue entries; those of a batch, one behind the other, at once."""
        count = len(staged)
        start = 0
        while start < count:
            queue = queues[start]
            end = start + 1
            while end < count and queues[end] is queue:
                end += 1
            if queue is not None:
                queue.append_all(staged, start, end)
                self._queues.appended(queue)
            start = end

    def _append_extended(self, staged: list[Dispatched], queues: list[ConsumeQueue | None]) -> None:
        for index, dispatched in enumerate(staged):
            queue = queues[index]
            if queue is not None:
                self._queues.append_extended(
                    queue,
                    dispatched.physical_offset,
                    dispatched.size,
                    dispatched.tags_code,
                    dispatched.store_timestamp,
                )
                self._queues.appended(queue)

    def _append_entries(self, staged: list[Dispatched], entries: list[StagedEntry]) -> None:
        for entry in entries:
            dispatched = staged[entry.index]
            entry.queue.append(
                BatchQueueEntry(
                    dispatched.physical_offset,
                    dispatched.size,
                    dispatched.tags_code,
                    dispatched.store_timestamp,
                    entry.base_offset,
                    entry.count,
                )
            )
            self._queues.appended(entry.queue)


def has_queue(sys_flag: int) -> bool:
    """Prepared and rolled-back messages have no place in a queue."""
    kind = sys_flag & _TRANSACTION
    return kind in {0, _COMMIT}
