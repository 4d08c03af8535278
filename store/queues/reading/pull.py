"""A pull on its way through a queue's entries: what it asks for, and what it has found.

Hot: compiled by mypyc when a compiler is there.
"""

from __future__ import annotations

from enum import IntEnum

from trimq.store import native
from trimq.store.log.commit_log import CommitLog
from trimq.store.native.extents import pack_extents, unpack_extents
from trimq.store.native.picks import LATER, WANTED
from trimq.store.queues.reading.filtering import FilterSteps


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

    `packed`: the same as pairs of machine words, for store.native; empty when `extents` has been asked for.
    """

    __slots__ = (
        "_extents",
        "byte_count",
        "end",
        "max_offset",
        "message_count",
        "min_offset",
        "next_begin_offset",
        "packed",
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

    @property
    def extents(self) -> list[tuple[int, int]]:
        if self.packed:
            self._extents = unpack_extents(self.packed)
            self.packed = b""
        return self._extents

    def pack(self) -> bytes:
        """All that has been found, packed."""
        if self._extents:
            self.packed = pack_extents(self._extents)
            self._extents = []
        return self.packed

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

    def take(self, packed: bytes, messages: int, size: int, end: int) -> None:
        """Extents with this many messages and bytes, as all that has been found so far."""
        self.packed = packed
        self.message_count = messages
        self.byte_count = size
        self.end = end
        self.status = ReadStatus.FOUND

    def miss(self, status: ReadStatus) -> None:
        """Why nothing was found, while that is so."""
        if self.byte_count == 0:
            self.status = status


class PullLimits:
    """How much one pull may return. Records at most `memory` bytes before the log's end count as in memory."""

    __slots__ = ("all", "disk_bytes", "disk_count", "memory", "memory_bytes", "memory_count")

    def __init__(
        self,
        *,
        file_size: int,
        memory: int,
        memory_bytes: int,
        memory_count: int,
        disk_bytes: int,
        disk_count: int,
    ) -> None:
        self.memory = memory
        self.memory_bytes = memory_bytes
        self.memory_count = memory_count
        self.disk_bytes = disk_bytes
        self.disk_count = disk_count
        # The same as store.native takes them; `file_size` is that of the log's files.
        self.all = native.Limits(
            file_size=file_size,
            memory=memory,
            memory_bytes=memory_bytes,
            memory_count=memory_count,
            disk_bytes=disk_bytes,
            disk_count=disk_count,
        )


class Pull:
    """`tag_codes` None takes every message; entries from queue offset `scan_end` on are not examined.

    `sieve`: what is also asked about each message that is in the log.
    """

    __slots__ = (
        "last_record",
        "limits",
        "log",
        "max_bytes",
        "max_messages",
        "result",
        "scan_end",
        "sieve",
        "skip_before",
        "tag_codes",
    )

    def __init__(
        self,
        log: CommitLog,
        limits: PullLimits,
        result: ReadResult,
        scan_end: int,
        max_messages: int,
        max_bytes: int,
        tag_codes: frozenset[int] | None,
        sieve: FilterSteps | None = None,
    ) -> None:
        self.log = log
        self.sieve = sieve
        self.limits = limits
        self.result = result
        self.scan_end = scan_end
        self.max_messages = max_messages
        self.max_bytes = max_bytes
        self.tag_codes = tag_codes
        # The last record examined.
        self.last_record = 0
        # Records before this offset are in a file that is gone.
        self.skip_before = -1

    @property
    def is_choosy(self) -> bool:
        """Whether most messages may be passed over."""
        return self.tag_codes is not None or self.sieve is not None

    def is_full(self, physical_offset: int, size: int, messages: int) -> bool:
        """Whether this record must wait for the next pull (isTheBatchFull); the first never."""
        result = self.result
        if result.byte_count == 0:
            return False
        count = result.message_count
        total = result.byte_count + size
        if (
            count + messages > self.max_messages
            or total > self.max_bytes
            or result.byte_count >= self.max_bytes
        ):
            return True
        limits = self.limits
        if self.log.written - physical_offset <= limits.memory:
            return total > limits.memory_bytes or count >= limits.memory_count
        return total > limits.disk_bytes or count >= limits.disk_count

    def look_at(
        self, physical_offset: int, size: int, messages: int, following: int, wanted: bool
    ) -> bool:
        """Take a record if it is wanted and exists; `following`: the queue offset after it.

        Whether to go on: not if a sieve has to pause.
        """
        result = self.result
        sieve = self.sieve
        if sieve is not None:
            is_here = physical_offset >= self.skip_before and self.log.contains(
                physical_offset, size
            )
            if sieve.cold:
                if wanted and is_here:
                    sieve.collect(physical_offset, size)
                return sieve.goes_on
            if is_here:
                verdict = sieve.judge(physical_offset, size, wanted)
                if verdict == LATER:
                    return sieve.goes_on
                wanted = verdict == WANTED
        self.last_record = physical_offset
        result.next_begin_offset = following
        if physical_offset < self.skip_before:
            return True
        if not wanted:
            result.miss(ReadStatus.NO_MATCHED_MESSAGE)
        elif self.log.contains(physical_offset, size):
            result.add(physical_offset, size)
            result.message_count += messages - 1
            self.skip_before = -1
        else:
            result.miss(ReadStatus.MESSAGE_WAS_REMOVING)
            self.skip_before = self.log.next_file(physical_offset)
        return True

    def take_first(self, data: bytes) -> bool:
        """Whether the records of these entries of a plain queue are the first, wanted, and all
        exist.

        As many as the result has room for are taken then.
        """
        result, log = self.result, self.log
        if (
            self.tag_codes is not None
            or self.sieve is not None
            or result.byte_count
            or self.skip_before >= 0
        ):
            return False
        found = native.take_entries(
            data,
            self.limits.all,
            log.min_offset,
            log.written,
            self.max_messages,
            self.max_bytes,
        )
        if found is None:
            return False
        packed, messages, size, self.last_record, end = found
        result.take(packed, messages, size, end)
        result.next_begin_offset += messages
        return True
