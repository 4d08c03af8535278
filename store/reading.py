"""What one pull gets from a queue: the rules of DefaultMessageStore.getMessage 5.5.0.

Reading happens in two steps. `read` looks at the consume queue only and answers with extents of
the commit log; the caller loads those, on the event loop when they are in memory and otherwise in
a worker thread.
"""

from __future__ import annotations

from enum import IntEnum
from struct import Struct
from typing import Final

from trimq.codec import kernel
from trimq.codec.queue_entry import ENTRY_SIZE, unpack_all
from trimq.store.commit_log import CommitLog
from trimq.store.config import StoreConfig
from trimq.store.consume_queue import ConsumeQueue
from trimq.store.queue_extension import MAX_ADDRESS

# DefaultMessageStore.MAX_PULL_MSG_SIZE; a client's own limit is kept between 100 and this.
MAX_PULL_BYTES: Final = 128 * 1024 * 1024
MIN_PULL_BYTES: Final = 100
_PAIRS: Final = Struct("=qq")
# Entries that are looked at in one step when most of them may not match.
_SCANNED_AT_ONCE: Final = 256


class ReadStatus(IntEnum):
    """GetMessageStatus."""

    FOUND = 0
    NO_MATCHED_MESSAGE = 1
    MESSAGE_WAS_REMOVING = 2
    OFFSET_FOUND_NULL = 3
    OFFSET_OVERFLOW_BADLY = 4
    OFFSET_OVERFLOW_ONE = 5
    OFFSET_TOO_SMALL = 6
    NO_MATCHED_LOGIC_QUEUE = 7
    NO_MESSAGE_IN_QUEUE = 8


class ReadResult:
    """`extents` are (physical offset, bytes); records that touch are one extent.

    `packed`: the same as pairs of machine words, for codec.kernel; empty when `extents` has been asked for.
    """

    __slots__ = (
        "_extents",
        "byte_count",
        "end",
        "last_record",
        "max_offset",
        "message_count",
        "min_offset",
        "next_begin_offset",
        "packed",
        "skip_before",
        "status",
        "suggest_slave",
    )

    def __init__(
        self, status: ReadStatus, next_begin_offset: int, min_offset: int = 0, max_offset: int = 0
    ) -> None:
        self.status = status
        self.next_begin_offset = next_begin_offset
        self.min_offset = min_offset
        self.max_offset = max_offset
        self._extents: list[tuple[int, int]] = []
        self.packed = b""
        # Where the last of the packed extents ends.
        self.end = 0
        self.message_count = 0
        self.byte_count = 0
        self.suggest_slave = False
        # Where reading stands: the last record looked at, and the one before which all are gone.
        self.last_record = 0
        self.skip_before = -1

    @property
    def extents(self) -> list[tuple[int, int]]:
        if self.packed:
            self._extents = list(_PAIRS.iter_unpack(self.packed))
            self.packed = b""
        return self._extents

    def add(self, physical_offset: int, size: int) -> None:
        self.message_count += 1
        self.byte_count += size
        self.status = ReadStatus.FOUND
        extents = self.extents
        if extents:
            start, length = extents[-1]
            if start + length == physical_offset:
                extents[-1] = (start, length + size)
                return
        extents.append((physical_offset, size))

    def take(self, found: tuple[bytes, int, int, int, int]) -> None:
        """Packed extents, messages, bytes, last record and end of what is found first."""
        self.packed, self.message_count, self.byte_count, self.last_record, self.end = found
        self.next_begin_offset += self.message_count
        self.status = ReadStatus.FOUND

    def miss(self, status: ReadStatus) -> None:
        """Why nothing was found, as long as nothing is."""
        if self.byte_count == 0:
            self.status = status


class QueueReader:
    """One per store; holds the limits, no state."""

    __slots__ = (
        "_config",
        "_disk_bytes",
        "_disk_count",
        "_files_per_read",
        "_log",
        "_memory",
        "_memory_bytes",
        "_memory_count",
        "_scan_bytes",
    )

    def __init__(self, config: StoreConfig, log: CommitLog) -> None:
        self._config = config
        self._log = log
        self.heed_settings()

    def heed_settings(self) -> None:
        """Settings have changed; kept here, they cost nothing at each read."""
        config = self._config
        self._memory = config.memory_bytes
        self._memory_bytes = config.max_transfer_bytes_on_message_in_memory
        self._memory_count = config.max_transfer_count_on_message_in_memory
        self._disk_bytes = config.max_transfer_bytes_on_message_in_disk
        self._disk_count = config.max_transfer_count_on_message_in_disk
        self._scan_bytes = config.max_filter_message_size
        self._files_per_read = config.travel_cq_file_num_when_get_message

    def read(
        self,
        queue: ConsumeQueue | None,
        offset: int,
        max_messages: int,
        max_bytes: int,
        tag_codes: frozenset[int] | None,
    ) -> ReadResult:
        if queue is None or queue.max_offset == 0:
            return ReadResult(ReadStatus.NO_MESSAGE_IN_QUEUE, 0)
        low, high = queue.min_offset, queue.max_offset
        if not low <= offset < high:
            return outside(offset, low, high)
        result = ReadResult(ReadStatus.NO_MATCHED_MESSAGE, offset, low, high)
        max_bytes = min(max(max_bytes, MIN_PULL_BYTES), MAX_PULL_BYTES)
        scan_bytes = max(self._scan_bytes, max_messages * ENTRY_SIZE)
        scan_end = offset + (scan_bytes + ENTRY_SIZE - 1) // ENTRY_SIZE
        for _ in range(self._files_per_read):
            if result.byte_count > 0 or result.next_begin_offset >= high:
                break
            self._read_file(queue, result, scan_end, max_messages, max_bytes, tag_codes)
            if result.status == ReadStatus.OFFSET_FOUND_NULL:
                break
        result.suggest_slave = self._log.written - result.last_record > self._memory
        return result

    def _read_file(
        self,
        queue: ConsumeQueue,
        result: ReadResult,
        scan_end: int,
        max_messages: int,
        max_bytes: int,
        tag_codes: frozenset[int] | None,
    ) -> None:
        """Go through the entries of one consume-queue file."""
        file_end = min(queue.next_file(result.next_begin_offset), scan_end, result.max_offset)
        # Without a filter nothing is skipped, but what is no longer in the commit log.
        count = max(max_messages, 1) if tag_codes is None else _SCANNED_AT_ONCE
        result.skip_before = -1
        while result.next_begin_offset < file_end:
            if 0 < max_messages <= result.message_count:
                # The next one would be found too many; it need not be read for that.
                return
            data = queue.entries(
                result.next_begin_offset, min(count, file_end - result.next_begin_offset)
            )
            if not data:
                result.status = ReadStatus.OFFSET_FOUND_NULL
                result.next_begin_offset = queue.next_file(result.next_begin_offset)
                return
            before = result.next_begin_offset
            self._take(queue, result, data, max_messages, max_bytes, tag_codes)
            if result.next_begin_offset - before < len(data) // ENTRY_SIZE:
                return

    def _take(
        self,
        queue: ConsumeQueue,
        result: ReadResult,
        data: bytes,
        max_messages: int,
        max_bytes: int,
        tag_codes: frozenset[int] | None,
    ) -> None:
        """Take what matches of these entries, until the result is full."""
        log = self._log
        if kernel.IN_C and tag_codes is None and result.byte_count == 0 and result.skip_before < 0:
            found = kernel.take_entries(
                data,
                log.min_offset,
                log.written,
                log.file_size,
                self._memory,
                max_messages,
                max_bytes,
                self._memory_bytes,
                self._memory_count,
                self._disk_bytes,
                self._disk_count,
            )
            if found is not None:
                result.take(found)
                return
        fields = unpack_all(data)
        for at in range(0, len(fields), 3):
            physical_offset = fields[at]
            size = fields[at + 1]
            if self._is_full(result, physical_offset, size, 1, max_messages, max_bytes):
                return
            result.last_record = physical_offset
            result.next_begin_offset += 1
            if physical_offset < result.skip_before:
                continue
            if tag_codes is not None and not self._matches(queue, fields[at + 2], tag_codes):
                result.miss(ReadStatus.NO_MATCHED_MESSAGE)
            elif log.contains(physical_offset, size):
                result.add(physical_offset, size)
                result.skip_before = -1
            else:
                result.miss(ReadStatus.MESSAGE_WAS_REMOVING)
                result.skip_before = log.next_file(physical_offset)

    def _matches(self, queue: ConsumeQueue, tags_code: int, tag_codes: frozenset[int]) -> bool:
        """An address matches anything: only its unit knows better."""
        return matches(tags_code, tag_codes) and (
            tags_code > MAX_ADDRESS or matches(queue.tags_code(tags_code), tag_codes)
        )

    def _is_full(
        self,
        result: ReadResult,
        physical_offset: int,
        size: int,
        messages: int,
        max_messages: int,
        max_bytes: int,
    ) -> bool:
        """Whether this record must wait for the next pull (isTheBatchFull); the first never."""
        if result.byte_count == 0:
            return False
        count = result.message_count
        total = result.byte_count + size
        if count + messages > max_messages or total > max_bytes or result.byte_count >= max_bytes:
            return True
        if self._log.written - physical_offset <= self._memory:
            return total > self._memory_bytes or count >= self._memory_count
        return total > self._disk_bytes or count >= self._disk_count


def outside(offset: int, low: int, high: int) -> ReadResult:
    """The answer to a pull at an offset that the queue does not have."""
    if offset < low:
        return ReadResult(ReadStatus.OFFSET_TOO_SMALL, low, low, high)
    if offset == high:
        return ReadResult(ReadStatus.OFFSET_OVERFLOW_ONE, offset, low, high)
    return ReadResult(ReadStatus.OFFSET_OVERFLOW_BADLY, high, low, high)


def matches(tags_code: int, wanted: frozenset[int]) -> bool:
    """DefaultMessageFilter.isMatchedByConsumeQueue: compares the lower 32 bits, signed.

    An address whose unit is lost matches: the client looks at the tags themselves.
    """
    if tags_code <= MAX_ADDRESS:
        return True
    return ((tags_code + 0x80000000) & 0xFFFFFFFF) - 0x80000000 in wanted
