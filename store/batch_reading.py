"""What one pull gets from a batch queue: the rules of DefaultMessageStore.getMessage 5.5.0.

As for other queues, but for what a record with several messages makes different: it is found by any
of its offsets, counts as all its messages and is handed out whole.
"""

from __future__ import annotations

from trimq.codec.batch_queue_entry import BATCH_ENTRY_SIZE, BatchQueueEntry
from trimq.store.batch_consume_queue import BatchConsumeQueue
from trimq.store.reading import (
    MAX_PULL_BYTES,
    MIN_PULL_BYTES,
    QueueReader,
    ReadResult,
    ReadStatus,
    matches,
    outside,
)

# Entries in one look with a filter; without one, as many as messages are asked for.
LOOK = 256


class Pull:
    """What was asked for, and how far reading has got."""

    __slots__ = ("last", "max_bytes", "max_messages", "scan_end", "skip_before", "tag_codes")

    def __init__(
        self, max_messages: int, max_bytes: int, scan_end: int, tag_codes: frozenset[int] | None
    ) -> None:
        self.max_messages = max_messages
        self.max_bytes = min(max(max_bytes, MIN_PULL_BYTES), MAX_PULL_BYTES)
        self.scan_end = scan_end
        self.tag_codes = tag_codes
        # The last record looked at.
        self.last = 0
        # Records before that place are in a file that is gone.
        self.skip_before = -1


class BatchQueueReader(QueueReader):
    """The same limits, for batch queues."""

    def read_batches(
        self,
        queue: BatchConsumeQueue | None,
        offset: int,
        max_messages: int,
        max_bytes: int,
        tag_codes: frozenset[int] | None,
    ) -> ReadResult:
        if queue is None or queue.max_offset == 0:
            return ReadResult(ReadStatus.NO_MESSAGE_IN_QUEUE, 0, -1)
        low, high = queue.min_offset, queue.max_offset
        if not low <= offset < high:
            return outside(offset, low, high)
        result = ReadResult(ReadStatus.NO_MATCHED_MESSAGE, offset, low, high)
        scan_bytes = max(self._scan_bytes, max_messages * BATCH_ENTRY_SIZE)
        # In queue offsets, though it is meant for entries.
        scan_end = offset + (scan_bytes + BATCH_ENTRY_SIZE - 1) // BATCH_ENTRY_SIZE
        pull = Pull(max_messages, max_bytes, scan_end, tag_codes)
        for _ in range(self._files_per_read):
            if result.byte_count > 0 or result.next_begin_offset >= high:
                break
            index = queue.index_of(result.next_begin_offset)
            if index < 0:
                result.status = ReadStatus.OFFSET_FOUND_NULL
                # BatchConsumeQueue.rollNextFile knows no better.
                result.next_begin_offset = 0
                break
            self._read_batch_file(queue, index, result, pull)
        result.suggest_slave = self._log.written - pull.last > self._memory
        return result

    def _read_batch_file(
        self, queue: BatchConsumeQueue, index: int, result: ReadResult, pull: Pull
    ) -> None:
        """Go through the entries of one file, from `index` on."""
        file_end = min(queue.next_file(index), queue.end_index)
        count = LOOK if pull.tag_codes is not None else min(max(pull.max_messages, 1), LOOK)
        while index < file_end:
            entries = queue.entries(index, min(count, file_end - index))
            if not entries:
                return
            for entry in entries:
                if entry.base_offset >= pull.scan_end or self._is_full(
                    result,
                    entry.physical_offset,
                    entry.size,
                    entry.count,
                    pull.max_messages,
                    pull.max_bytes,
                ):
                    return
                self._look_at(entry, result, pull)
            index += len(entries)

    def _look_at(self, entry: BatchQueueEntry, result: ReadResult, pull: Pull) -> None:
        pull.last = entry.physical_offset
        result.next_begin_offset = entry.end_offset
        if entry.physical_offset < pull.skip_before:
            return
        if pull.tag_codes is not None and not matches(entry.tags_code, pull.tag_codes):
            result.miss(ReadStatus.NO_MATCHED_MESSAGE)
        elif self._log.contains(entry.physical_offset, entry.size):
            result.add(entry.physical_offset, entry.size)
            result.message_count += entry.count - 1
            pull.skip_before = -1
        else:
            result.miss(ReadStatus.MESSAGE_WAS_REMOVING)
            pull.skip_before = self._log.next_file(entry.physical_offset)
