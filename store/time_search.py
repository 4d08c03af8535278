"""Offsets by time: the first message at or after a moment, or the last at or before it.

ConsumeQueue.getOffsetInQueueByTime and MappedFileQueue.getConsumeQueueMappedFileByTime: first the
file is chosen, then a binary search over its entries compares the store timestamps of their
records. When several messages share the searched timestamp, LOWER answers the first of them and
UPPER the last; for a moment between two messages LOWER answers the later, UPPER the earlier.
"""

from __future__ import annotations

import struct

from store.commit_log import CommitLog
from store.consume_queue import ConsumeQueue

UNKNOWN = -1
_FLAG_AT = 36
_BORN_HOST_V6 = 0x10
_TIME_AT = 56
_TIME_AT_V6 = 68
_TIME = struct.Struct(">q")


def store_timestamp(log: CommitLog, physical_offset: int, size: int) -> int:
    """The store timestamp in a record, -1 when it is gone (CommitLog.pickupStoreTimestamp)."""
    if not log.contains(physical_offset, size):
        return UNKNOWN
    head = log.read(physical_offset, min(size, _TIME_AT_V6 + _TIME.size))
    if head is None or len(head) < _TIME_AT_V6 + _TIME.size:
        return UNKNOWN
    at = _TIME_AT_V6 if head[_FLAG_AT + 3] & _BORN_HOST_V6 else _TIME_AT
    timestamp: int = _TIME.unpack_from(head, at)[0]
    return timestamp


class TimeSearch:
    def __init__(self, log: CommitLog) -> None:
        self._log = log

    def find(self, queue: ConsumeQueue, timestamp: int, upper: bool) -> int:
        """Always within the queue's offsets (ConsumeQueueStore.getOffsetInQueueByTime)."""
        found = self._find(queue, timestamp, upper)
        return min(max(found, queue.min_offset), queue.max_offset)

    def _find(self, queue: ConsumeQueue, timestamp: int, upper: bool) -> int:
        files = queue.files()
        chosen = self._upper_file if upper else self._lower_file
        index = chosen(queue, files, timestamp)
        if index < 0:
            return 0
        base, count = files[index]
        floor = max(queue.min_offset, base)
        ceiling = base + count - 1
        if self.time_of(queue, ceiling) < timestamp:
            return ceiling if upper else ceiling + 1
        if self.time_of(queue, floor) > timestamp:
            return 0 if upper else base
        return self._search(queue, floor, ceiling, timestamp, upper)

    def _lower_file(self, queue: ConsumeQueue, files: list[tuple[int, int]], timestamp: int) -> int:
        """The first file whose last message is not before the moment, or else the last file."""
        low, high = 0, len(files) - 1
        while low < high:
            middle = (low + high) // 2
            base, count = files[middle]
            if self.time_of(queue, base + count - 1) >= timestamp:
                high = middle
            else:
                low = middle + 1
        return low if files else -1

    def _upper_file(self, queue: ConsumeQueue, files: list[tuple[int, int]], timestamp: int) -> int:
        """The last file whose first message is not after the moment; -1 when there is none."""
        low, high = 0, len(files)
        while low < high:
            middle = (low + high) // 2
            if self.time_of(queue, files[middle][0]) <= timestamp:
                low = middle + 1
            else:
                high = middle
        return low - 1

    def _search(self, queue: ConsumeQueue, low: int, high: int, timestamp: int, upper: bool) -> int:
        floor, ceiling = low, high
        log_min = self._log.min_offset
        left = right = UNKNOWN
        while low <= high:
            middle = (low + high) // 2
            entry = queue.entry(middle)
            if entry is None:
                return 0
            if entry.physical_offset < log_min:
                low, left = middle + 1, middle
                continue
            time = store_timestamp(self._log, entry.physical_offset, entry.size)
            if time == UNKNOWN:
                return 0
            if time == timestamp:
                return self._edge(queue, middle, timestamp, ceiling if upper else floor)
            if time > timestamp:
                high, right = middle - 1, middle
            else:
                low, left = middle + 1, middle
        return left if upper else right

    def _edge(self, queue: ConsumeQueue, offset: int, timestamp: int, limit: int) -> int:
        """The outermost neighbour, towards `limit`, with the very same timestamp.

        All messages of a batch have one timestamp, and it may hold tens of thousands: steps double
        up to the first message with another, then the gap is halved.
        """
        towards = 1 if limit >= offset else -1
        room = abs(limit - offset)
        same, step = 0, 1
        while step <= room and self.time_of(queue, offset + towards * step) == timestamp:
            same, step = step, step * 2
        other = min(step, room + 1)
        while other - same > 1:
            middle = (same + other) // 2
            if self.time_of(queue, offset + towards * middle) == timestamp:
                same = middle
            else:
                other = middle
        return offset + towards * same

    def time_of(self, queue: ConsumeQueue, offset: int) -> int:
        entry = queue.entry(offset)
        if entry is None:
            return UNKNOWN
        return store_timestamp(self._log, entry.physical_offset, entry.size)
