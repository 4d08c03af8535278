"""One slot's records, read from the newest to the oldest, since that is how they are linked.

They lie in the log in the order in which they were entered, each with the position of the one before it
in the slot. So one read gives all that lie close together: 64 KiB for 1,260 records at best.

What is kept of a record takes 21 bytes and no object: a slot may have a million.
"""

from __future__ import annotations

from array import array
from typing import Final, NamedTuple

from trimq.codec.entries.timer import (
    ALL_MAGIC,
    MAGIC_DELETE,
    MAGIC_ROLL,
    RECORD_SIZE,
    timer_fields,
)
from trimq.store.timers.log import TimerLog

PIECE: Final = 64 * 1024 // RECORD_SIZE * RECORD_SIZE


class Due(NamedTuple):
    """A message that is taken out: where in the commit log it is, and what the wheel knows of it."""

    physical_offset: int
    size: int
    write_time: int
    magic: int

    @property
    def rolls(self) -> bool:
        """It was on the wheel for a part of its time only."""
        return bool(self.magic & MAGIC_ROLL)

    @property
    def is_delete(self) -> bool:
        """It recalls another message of its slot, and is not delivered."""
        return bool(self.magic & MAGIC_DELETE) and not self.rolls


class _Found:
    """Columns, newest first."""

    def __init__(self) -> None:
        self._offsets = array("q")
        self._times = array("q")
        self._sizes = array("i")
        self._magics = array("b")

    def __len__(self) -> int:
        return len(self._offsets)

    def add(self, offset: int, size: int, time: int, magic: int) -> None:
        self._offsets.append(offset)
        self._sizes.append(size)
        self._times.append(time)
        self._magics.append(magic)

    def at(self, index: int) -> Due:
        """Counted from the oldest."""
        back = len(self._offsets) - 1 - index
        return Due(self._offsets[back], self._sizes[back], self._times[back], self._magics[back])


class Chain:
    """Read it by `wanted` and `take` until `done`; then look at `deletes` and `others`."""

    def __init__(self, timer_log: TimerLog, last: int) -> None:
        """`last` is the position of the slot's newest record."""
        self._log = timer_log
        self._position = last
        self.deletes = _Found()
        self.others = _Found()

    @property
    def done(self) -> bool:
        """At the oldest record, or where the log does not go on: files of gone messages are deleted."""
        return not self._log.contains(self._position)

    def wanted(self) -> tuple[int, int]:
        """Position and size of the bytes that `take` needs next; they end with the next record."""
        base = self._log.base_of(self._position)
        end = self._position + RECORD_SIZE
        start = max(base, end - PIECE)
        return start, end - start

    def take(self, start: int, data: bytes) -> None:
        """The records in these bytes, which begin at `start`."""
        position = self._position
        while start <= position:
            at = position - start
            if at + RECORD_SIZE > len(data):
                self._position = -1
                return
            size, previous, magic, time, _, offset, message_size, _ = timer_fields(data, at)
            if size != RECORD_SIZE or magic & ~ALL_MAGIC:
                self._position = -1
                return
            is_delete = magic & MAGIC_DELETE and not magic & MAGIC_ROLL
            found = self.deletes if is_delete else self.others
            found.add(offset, message_size, time, magic)
            # A damaged link must not lead in circles.
            if previous >= position:
                self._position = -1
                return
            position = previous
        self._position = position
