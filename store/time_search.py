"""Offsets by time: the first message at or after a moment, or the last at or before it.

When several messages share the searched timestamp, LOWER answers the first of them and UPPER the
last; for a moment between two messages LOWER answers the later, UPPER the earlier
(ConsumeQueue.getOffsetInQueueByTime, MappedFileQueue.getConsumeQueueMappedFileByTime).

Every look at a message may cost two reads of the disk. The real broker halves the queue, 26 looks
for 50 million messages; messages mostly come at a rate that changes slowly, so guessing by it takes
a handful, however long the queue is.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

from trimq.store.commit_log import CommitLog
from trimq.store.consume_queue import ConsumeQueue

UNKNOWN = -1
# How far from a guess the first stride goes, and how much further each next one.
NEAR: Final = 32
# What is left of a bracket when guessing was worth it.
FRACTION: Final = 64
# Milliseconds of a bracket from which on they tell a rate.
TELLING: Final = 4
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
        wanted = timestamp + 1 if upper else timestamp
        found = first_from(wanted, queue.min_offset, queue.max_offset, partial(self.time_of, queue))
        return max(found - 1, queue.min_offset) if upper else found

    def time_of(self, queue: ConsumeQueue, offset: int) -> int:
        """-1, before all others, for a message whose file has expired meanwhile."""
        entry = queue.entry(offset)
        if entry is None:
            return UNKNOWN
        return store_timestamp(self._log, entry.physical_offset, entry.size)


def first_from(moment: int, start: int, end: int, time_of: Callable[[int], int]) -> int:
    """The first offset of start .. end - 1 that is not before the moment; `end` without any."""
    if start >= end:
        return end
    bracket = Bracket(moment, (start, time_of(start)))
    if bracket.earlier_time >= moment:
        return start
    bracket.add(end - 1, time_of(end - 1))
    if bracket.earlier == end - 1:
        return end
    while bracket.width > 1:
        for offset in bracket.guesses():
            bracket.add(offset, time_of(offset))
    return bracket.later


class Bracket:
    """The searched moment lies behind the message `earlier` and not behind `later`."""

    __slots__ = ("_even", "_moment", "earlier", "earlier_time", "later", "later_time")

    def __init__(self, moment: int, first: tuple[int, int]) -> None:
        self._moment = moment
        self._even = True
        self.earlier, self.earlier_time = first
        self.later, self.later_time = first

    @property
    def width(self) -> int:
        return self.later - self.earlier

    def add(self, offset: int, time: int) -> None:
        """One more message is known."""
        if time < self._moment:
            self.earlier, self.earlier_time = offset, time
        else:
            self.later, self.later_time = offset, time

    def guesses(self) -> Iterator[int]:
        """Offsets to look at, each chosen by what the one before has shown.

        First where the moment would be at an even rate, then from there towards where it is, in
        growing strides. When that has not cut most of the bracket off, the rate is not even: halve
        from then on.
        """
        width = self.width
        span = self.later_time - self.earlier_time
        if self._even and width > 2 * NEAR and span >= TELLING:
            passed = self._moment - self.earlier_time
            guess = min(
                max(self.earlier + width * passed // span, self.earlier + 1), self.later - 1
            )
            yield guess
            stride = NEAR if guess == self.earlier else -NEAR
            while abs(stride) < min(self.width, width // 2):
                yield min(max(guess + stride, self.earlier + 1), self.later - 1)
                stride *= NEAR
        if self.width > max(width // FRACTION, 1):
            self._even = False
            yield (self.earlier + self.later) // 2
