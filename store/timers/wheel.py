"""The wheel itself: one slot for each unit of time, in the file `timerwheel` (TimerWheel, Slot).

A time's slot is at its number of units modulo SLOTS, and belongs to that time only if it says so. A
slot whose messages were all delivered is emptied here; RocketMQ leaves it, and knows by its own
progress that it is done. So whatever slot has a time, has messages.

Changes stay in memory until a flush takes them: the timer log must be on the disk before the slots that
point into it. Reading sees them at once. Not more is in memory than what changed since the last flush.

`write` runs in a worker thread and touches the file only; everything else runs on the loop's thread.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from trimq.codec.entries.timer import (
    EMPTY_SLOT,
    SLOT_SIZE,
    TimerSlot,
    pack_slot,
    parse_slot,
    parse_slots,
)
from trimq.store.disk.files import create, set_length, store_error, sync_data, write_fully
from trimq.store.errors import StoreDamaged

# Twice seven days of seconds (TIMER_WHEEL_TTL_DAY), whatever the precision is.
SLOTS: Final = 2 * 7 * 24 * 3600
# So many slots are looked at in one step: 64 KiB, half a millisecond.
SLOTS_PER_STEP: Final = 2048
_PAGE_SLOTS: Final = 128
_FREE: Final = TimerSlot(0, 0, 0, 0, 0)


class TimerWheel:
    """`precision` is timerPrecisionMs. Times are milliseconds and multiples of it."""

    def __init__(self, path: Path, precision: int, slots: int = SLOTS) -> None:
        self.path = path
        self.precision = precision
        self.slots = slots
        self.waiting = 0
        """How many messages are on it (TimerWheel.getAllNum)."""
        self._fd = -1
        self._changed: dict[int, TimerSlot] = {}
        # Being written by a worker thread.
        self._leaving: dict[int, TimerSlot] = {}

    @property
    def is_open(self) -> bool:
        return self._fd >= 0

    def exists(self) -> bool:
        """An empty file is one that a killed process was about to make."""
        return self.path.is_file() and self.path.stat().st_size > 0

    def has_newer_snapshot(self) -> bool:
        """Whether a broker with `timerWheelSnapshotFlush` had its slots in a file `timerwheel.<position>`."""
        changed = self.path.stat().st_mtime_ns
        snapshots = self.path.parent.glob(f"{self.path.name}.*")
        return any(
            path.suffix[1:].isdigit() and path.stat().st_mtime_ns > changed for path in snapshots
        )

    def open(self) -> None:
        """Make the file if there is none. StoreError; StoreDamaged when it has another length."""
        size = self.slots * SLOT_SIZE
        try:
            fd = create(self.path)
            try:
                length = os.fstat(fd).st_size
                if length not in (0, size):
                    raise StoreDamaged(
                        self.path, length, f"that is its length; a timer wheel has {size} bytes"
                    )
                if not length:
                    set_length(fd, size)
            except BaseException:
                os.close(fd)
                raise
        except OSError as error:
            raise store_error(error, f"opening {self.path}") from error
        self._fd = fd

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    # --- single slots

    def slot(self, time: int) -> TimerSlot | None:
        """The slot of this time; None when nothing was put there."""
        slot = self.raw_slot(time)
        return slot if slot.time == time // self.precision else None

    def raw_slot(self, time: int) -> TimerSlot:
        """What lies in the place of this time, be it another time's."""
        index = time // self.precision % self.slots
        found = self._changed.get(index) or self._leaving.get(index)
        if found is not None:
            return found
        return parse_slot(os.pread(self._fd, SLOT_SIZE, index * SLOT_SIZE))

    def put(self, time: int, first: int, last: int, count: int) -> None:
        """Replace what lies in that place."""
        unit = time // self.precision
        before = self.raw_slot(time)
        magic = before.magic if before.time == unit else 0
        self.waiting += count - (before.messages if before.time else 0)
        self._changed[unit % self.slots] = TimerSlot(unit, first, last, count, magic)

    def clear(self, time: int) -> None:
        """All messages of this time were delivered."""
        slot = self.slot(time)
        if slot is not None:
            self.waiting -= slot.messages
            self._changed[slot.time % self.slots] = _FREE

    # --- many slots

    def pass_empty(self, begin: int, end: int) -> tuple[int, bool]:
        """The first time from `begin` on, and before `end`, that has messages; and True.

        Looks at SLOTS_PER_STEP slots at most: (how far it got, False) if they are all empty.
        """
        unit = begin // self.precision
        index = unit % self.slots
        count = min(SLOTS_PER_STEP, end // self.precision - unit, self.slots - index)
        if count <= 0:
            return end, False
        data = os.pread(self._fd, count * SLOT_SIZE, index * SLOT_SIZE)
        if data.count(0) < len(data):
            times = [slot[0] for slot in parse_slots(data)]
        elif self.has_changes:
            times = [0] * count
        else:
            return (unit + count) * self.precision, False
        for changes in (self._leaving, self._changed):
            _lay_over(times, changes, index)
        for at, time in enumerate(times):
            if time == unit + at:
                return time * self.precision, True
        return (unit + count) * self.precision, False

    def used(self, before: int) -> Iterator[TimerSlot]:
        """All slots in the file with a time of `before` or later; the others are emptied. Blocks.

        For opening, when nothing was changed yet.
        """
        earliest = before // self.precision
        part = SLOTS_PER_STEP * SLOT_SIZE
        end = self.slots * SLOT_SIZE
        position = self._next_data(0, end)
        while position < end:
            data = os.pread(self._fd, part, position)
            if data.count(0) < len(data):
                yield from self._used_in(data, position, earliest)
            position = self._next_data(position + len(data), end)

    def _used_in(self, data: bytes, position: int, earliest: int) -> Iterator[TimerSlot]:
        kept = bytearray()
        for at, fields in enumerate(parse_slots(data)):
            if fields[0] <= 0 or fields[0] >= earliest:
                if kept:
                    kept += data[at * SLOT_SIZE : (at + 1) * SLOT_SIZE]
                if fields[0] > 0:
                    yield TimerSlot._make(fields)
                continue
            # Delivered by a broker that does not empty its slots.
            if not kept:
                kept += data[: at * SLOT_SIZE]
            kept += EMPTY_SLOT
        if kept:
            write_fully(self._fd, [bytes(kept)], position)

    def _next_data(self, position: int, end: int) -> int:
        """From there on; a multiple of a step's bytes, since holes begin and end at pages."""
        if position >= end:
            return end
        try:
            position = os.lseek(self._fd, position, os.SEEK_DATA)
        except OSError:
            # ENXIO: nothing but a hole up to the end.
            return end
        step = SLOTS_PER_STEP * SLOT_SIZE
        return position // step * step

    # --- flushing

    @property
    def has_changes(self) -> bool:
        return bool(self._changed or self._leaving)

    def take_changes(self) -> dict[int, TimerSlot]:
        """What `write` has to write; until `written` or `not_written` it counts as unwritten."""
        self._leaving, self._changed = self._changed, {}
        return self._leaving

    def written(self) -> None:
        self._leaving = {}

    def not_written(self) -> None:
        """They are written with the next ones."""
        self._changed = {**self._leaving, **self._changed}
        self._leaving = {}

    def write(self, changes: dict[int, TimerSlot]) -> None:
        """Blocks until they are on the disk (worker thread). StoreError."""
        pages: dict[int, list[int]] = {}
        for index in changes:
            pages.setdefault(index // _PAGE_SLOTS, []).append(index)
        try:
            for page, indexes in pages.items():
                self._write_page(page * _PAGE_SLOTS, indexes, changes)
            sync_data(self._fd)
        except OSError as error:
            raise store_error(error, f"writing {self.path}") from error

    def _write_page(self, first: int, indexes: list[int], changes: dict[int, TimerSlot]) -> None:
        """One write for a page: those that were not changed are written as they are."""
        if len(indexes) == 1:
            write_fully(self._fd, [pack_slot(changes[indexes[0]])], indexes[0] * SLOT_SIZE)
            return
        position = first * SLOT_SIZE
        data = bytearray(os.pread(self._fd, _PAGE_SLOTS * SLOT_SIZE, position))
        for index in indexes:
            at = (index - first) * SLOT_SIZE
            data[at : at + SLOT_SIZE] = pack_slot(changes[index])
        write_fully(self._fd, [bytes(data)], position)


def _lay_over(times: list[int], changes: dict[int, TimerSlot], first: int) -> None:
    """Replace the times of slots, `first` and those behind it, that have changed."""
    count = len(times)
    if len(changes) < count:
        for index, slot in changes.items():
            if first <= index < first + count:
                times[index - first] = slot.time
        return
    for at in range(count):
        changed = changes.get(first + at)
        if changed is not None:
            times[at] = changed.time
