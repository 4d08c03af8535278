"""Staging: messages become records, with their queue offset and place in the commit log.

Staged records are nobody's business until `write` has brought them to the files with one system
call; then their consume-queue entries and listeners follow. When writing fails, all offsets are
as before. Hot: compiled by mypyc when a compiler is there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from codec.batch import BatchItem
from codec.batch_queue_entry import BatchQueueEntry
from codec.flags import SysFlag
from codec.record import LONGEST_PROPERTIES, encode_record, record_size
from store.batch_consume_queue import BatchConsumeQueue
from store.commit_log import CommitLog
from store.consume_queue import ConsumeQueue
from store.consume_queues import ConsumeQueues
from store.errors import MessageTooLarge, PropertiesLookTorn, PropertiesTooLong, StoreError
from store.files import SECTOR, ZERO_SECTOR
from store.inner_batch import count_of, with_base
from store.message import Appended, Dispatched, Message
from store.tags import TagCodes

# MessageExtEncoder keeps this much room beside the longest body.
ROOM_BESIDE_BODY: Final = 64 * 1024
_TRANSACTION: Final = 0xC
_COMMIT: Final = 0x8
_ENTRY_END: Final = b"\x02"
_INNER_BATCH: Final = int(SysFlag.INNER_BATCH)


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
        "_listeners",
        "_log",
        "_max_body",
        "_max_record",
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
        self._max_body = max_message_size
        self._max_record = max_message_size + ROOM_BESIDE_BODY
        self._now_millis = now_millis
        self._listeners: list[Callable[[Dispatched], None]] = []
        self._staged: list[Dispatched] = []
        # None for records without an entry, and for those in `_staged_entries`.
        self._staged_queues: list[ConsumeQueue | None] = []
        self._staged_entries: list[StagedEntry] = []
        # The last record that is in the log, for the checkpoint.
        self.last_offset = -1
        self.last_timestamp = 0

    def add_listener(self, listener: Callable[[Dispatched], None]) -> None:
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
        self._check(message.body, properties, size)
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
        return self._add(message, queue, queue_offset, position, record, properties, now)

    def stage_batch(self, message: Message, items: list[BatchItem]) -> list[Appended]:
        """Records for all items, with consecutive queue offsets and in one file.

        The message gives what the items have in common; their properties are stored as sent.
        """
        total = self._batch_size(message, items)
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
        topic = message.topic.encode()
        position = self._log.place(total)
        now = self._now_millis()
        records: list[bytes] = []
        at = position
        for index, item in enumerate(items):
            record = encode_record(
                topic,
                message.queue_id,
                item.flag,
                first + index,
                at,
                message.sys_flag,
                message.born_timestamp,
                message.born_host,
                now,
                message.store_host,
                message.reconsume_times,
                0,
                item.body,
                closed_properties(item.properties),
            )
            records.append(record)
            at += len(record)
        appended: list[Appended] = []
        for index, record in enumerate(records):
            properties = closed_properties(items[index].properties)
            appended.append(
                self._add(message, queue, first + index, position, record, properties, now)
            )
            if batch_queue is not None:
                self._add_entry(batch_queue, 1)
            position += len(record)
        return appended

    def _batch_size(self, message: Message, items: list[BatchItem]) -> int:
        topic_length = len(message.topic.encode())
        total = 0
        for item in items:
            properties = closed_properties(item.properties)
            size = record_size(len(item.body), topic_length, len(properties), message.sys_flag)
            self._check(item.body, properties, size)
            total += size
        if not self._log.fits(total):
            raise MessageTooLarge(f"a batch of {total} bytes does not fit into one file")
        return total

    def _check(self, body: bytes, properties: bytes, size: int) -> None:
        """MessageExtEncoder.encode's limits, in its order."""
        if len(properties) > LONGEST_PROPERTIES:
            raise PropertiesTooLong(f"the properties take {len(properties)} bytes")
        if len(properties) >= SECTOR and ZERO_SECTOR in properties:
            raise PropertiesLookTorn(f"the properties hold {SECTOR} zero bytes in a row")
        if len(body) > self._max_body or size > self._max_record or not self._log.fits(size):
            raise MessageTooLarge(
                f"a body of {len(body)} bytes (record {size}) is above {self._max_body}"
            )

    def _queue_of(self, message: Message) -> ConsumeQueue | None:
        """None for prepared and rolled-back messages: they have no place in a queue."""
        if not has_queue(message.sys_flag):
            return None
        return self._queues.get(message.topic, message.queue_id)

    def _add(
        self,
        message: Message,
        queue: ConsumeQueue | None,
        queue_offset: int,
        position: int,
        record: bytes,
        properties: bytes,
        now: int,
    ) -> Appended:
        """From here on nothing can fail: a record and its offsets are staged together."""
        size = len(record)
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
        self._log.add(position, record)
        if queue is not None:
            queue.next_offset = queue_offset + 1
        self._staged.append(dispatched)
        self._staged_queues.append(queue)
        return Appended(queue_offset, position, size, now)

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
            for index, dispatched in enumerate(staged):
                queue = queues[index]
                if queue is not None:
                    queue.append(dispatched.physical_offset, dispatched.size, dispatched.tags_code)
                    self._queues.appended(queue)
        if entries:
            self._staged_entries = []
            self._append_entries(staged, entries)
        dispatched = staged[-1]
        self.last_offset = dispatched.physical_offset
        self.last_timestamp = dispatched.store_timestamp
        for listener in self._listeners:
            for dispatched in staged:
                listener(dispatched)

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


def closed_properties(properties: bytes) -> bytes:
    """Properties never end in a zero byte: recovery knows a torn record by that."""
    return properties + _ENTRY_END if properties.endswith(b"\0") else properties
