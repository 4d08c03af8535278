"""Offsets by time: the first message at or after a moment, or the last at or before it.

When several messages share the searched timestamp, LOWER answers the first of them and UPPER the
last; for a moment between two messages LOWER answers the later, UPPER the earlier
(ConsumeQueue.getOffsetInQueueByTime, MappedFileQueue.getConsumeQueueMappedFileByTime).

Examining a message may cost two reads of the disk. The real broker bisects the queue, 26 steps for
50 million messages; messages mostly come at a rate that changes slowly, so guessing from the rate
takes a handful, however long the queue is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from trimq.codec.records.fields import HEAD_SIZE, store_time_at
from trimq.store.log.commit_log import CommitLog
from trimq.store.queues.queue import Queue

UNKNOWN = -1
# How far from a guess the first stride goes, and how much further each next one.
NEAR: Final = 32
# What is left of a bracket if guessing was worthwhile.
FRACTION: Final = 64
# Milliseconds of a bracket from which on they give a rate.
TELLING: Final = 4


def store_timestamp(log: CommitLog, physical_offset: int, size: int) -> int:
    """The store timestamp in a record, -1 when it is gone (CommitLog.pickupStoreTimestamp)."""
    if not log.contains(physical_offset, size):
        return UNKNOWN
    head = log.read(physical_offset, min(size, HEAD_SIZE))
    if head is None or len(head) < HEAD_SIZE:
        return UNKNOWN
    return store_time_at(head)


def time_of(log: CommitLog, queue: Queue, offset: int) -> int:
    """-1, before all others, for a message whose file has expired in the meantime."""
    entry = queue.entry(offset)
    if entry is None:
        return UNKNOWN
    return store_timestamp(log, entry.physical_offset, entry.size)


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
    """The searched moment is after the message `earlier` and not after `later`."""

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
        """Offsets to examine, each chosen by what the previous one has shown.

        First where the moment would be at an even rate, then from there towards where it is, in
        growing strides. When that has not cut most of the bracket off, the rate is not even: bisect
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
