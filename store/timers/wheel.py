"""The wheel itself: one slot for each unit of time, in the file `timerwheel` (TimerWheel, Slot).

A time's slot is at its number of units modulo SLOTS, and belongs to that time only if it says so. A
slot whose messages were all delivered is emptied here; RocketMQ leaves it, and knows by its own
progress that it is done. So whatever slot has a time, has messages.

Changes stay in memory until a flush takes them: the timer log must be on the disk before the slots that
point into it. Reading sees them at once. Not more is in memory than the pages that changed since the last flush:
as bytes, since a day's slots as objects kept the loop for 5 to 20 ms, whenever the collector looked at them, a
thread prepared them for writing, or they were let go.

`write` runs in a worker thread and touches the file only; everything else runs on the loop's thread.

Hot: compiled by mypyc when a compiler is there.
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
from trimq.store.disk.quarantine import is_damage
from trimq.store.errors import StoreDamaged

# Twice seven days of seconds (TIMER_WHEEL_TTL_DAY), whatever the precision is.
SLOTS: Final = 2 * 7 * 24 * 3600
# So many slots are looked at in one step: 64 KiB, half a millisecond.
SLOTS_PER_STEP: Final = 2048
_PAGE_SLOTS: Final = 128
# Slots kept as objects: most messages go to the same few.
_MOST_KNOWN: Final = 256
_NOTHING: Final = TimerSlot(0, 0, 0, 0, 0)
_PAGE: Final = _PAGE_SLOTS * SLOT_SIZE


class TimerWheel:
    """`precision` is timerPrecisionMs. Times are milliseconds and multiples of it."""

    def __init__(self, path: Path, precision: int, slots: int = SLOTS) -> None:
        self.path = path
        self.precision = precision
        self.slots = slots
        self.waiting = 0
        """How many messages are on it (TimerWheel.getAllNum)."""
        self._fd = -1
        # By their number, whole pages.
        self._changed: dict[int, bytearray] = {}
        # Being written by a worker thread.
        self._leaving: dict[int, bytearray] = {}
        # By their place, some slots as they are there.
        self._known: dict[int, TimerSlot] = {}

    @property
    def is_open(self) -> bool:
        return self._fd >= 0

    def exists(self) -> bool:
        """An empty file is one that a killed process was about to make. What is no file is there, and damaged."""
        if not self.path.is_file():
            return os.path.lexists(self.path)
        return self.path.stat().st_size > 0

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
            if is_damage(error):
                raise StoreDamaged(self.path, 0, f"it cannot be opened: {error}") from error
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
        known = self._known.get(index)
        if known is not None:
            return known
        number, at = divmod(index * SLOT_SIZE, _PAGE)
        page = self._changed.get(number) or self._leaving.get(number)
        if page is not None:
            slot = parse_slot(bytes(page[at : at + SLOT_SIZE]))
        else:
            slot = parse_slot(os.pread(self._fd, SLOT_SIZE, index * SLOT_SIZE))
        self._know(index, slot)
        return slot

    def _know(self, index: int, slot: TimerSlot) -> None:
        if len(self._known) >= _MOST_KNOWN:
            self._known.clear()
        self._known[index] = slot

    def put(self, time: int, first: int, last: int, count: int) -> None:
        """Replace what lies in that place."""
        unit = time // self.precision
        before = self.raw_slot(time)
        magic = before.magic if before.time == unit else 0
        self.waiting += count - (before.messages if before.time else 0)
        self._change(unit, TimerSlot(unit, first, last, count, magic))

    def add(self, time: int, lying: TimerSlot, position: int, change: int) -> None:
        """The newest record of this time is at `position`; `lying`: what `raw_slot` gave, of this time or empty."""
        unit = time // self.precision
        if lying.time == unit:
            slot = TimerSlot(unit, lying.first, position, lying.messages + change, lying.magic)
        else:
            slot = TimerSlot(unit, position, position, change, 0)
        self.waiting += change
        self._change(unit, slot)

    def clear(self, time: int) -> None:
        """All messages of this time were delivered."""
        slot = self.slot(time)
        if slot is not None:
            self.waiting -= slot.messages
            self._change(slot.time, _NOTHING)

    def _change(self, unit: int, slot: TimerSlot) -> None:
        index = unit % self.slots
        self._know(index, slot)
        number, at = divmod(index * SLOT_SIZE, _PAGE)
        page = self._changed.get(number)
        if page is None:
            # One that is leaving stays as it is: a worker thread has it.
            page = bytearray(self._leaving.get(number) or os.pread(self._fd, _PAGE, number * _PAGE))
            self._changed[number] = page
        page[at : at + SLOT_SIZE] = pack_slot(slot)

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
        data = self._slots(index, count)
        if data.count(0) == len(data):
            return (unit + count) * self.precision, False
        times = [slot[0] for slot in parse_slots(data)]
        for at, time in enumerate(times):
            if time == unit + at:
                return time * self.precision, True
        return (unit + count) * self.precision, False

    def _slots(self, first: int, count: int) -> bytes:
        """That many slots, with their changes."""
        position = first * SLOT_SIZE
        data = os.pread(self._fd, count * SLOT_SIZE, position)
        if not self.has_changes:
            return data
        laid = bytearray(data)
        for number in range(position // _PAGE, (position + len(data) - 1) // _PAGE + 1):
            page = self._changed.get(number) or self._leaving.get(number)
            if page is not None:
                begin = max(position, number * _PAGE)
                end = min(position + len(data), number * _PAGE + len(page))
                start = begin - number * _PAGE
                laid[begin - position : end - position] = page[start : start + end - begin]
        return bytes(laid)

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
            place = position // SLOT_SIZE + at
            if fields[0] > 0 and fields[0] % self.slots != place:
                raise StoreDamaged(
                    self.path, place * SLOT_SIZE, f"the slot of time {fields[0]} belongs elsewhere"
                )
            if fields[0] <= 0 or fields[0] >= earliest:
                if kept:
                    kept += data[at * SLOT_SIZE : (at + 1) * SLOT_SIZE]
                if fields[0] > 0:
                    yield TimerSlot(*fields)
                continue
            # Delivered by a broker that does not empty its slots.
            if not kept:
                kept += data[: at * SLOT_SIZE]
            kept += EMPTY_SLOT
        if kept:
            write_fully(self._fd, [bytes(kept)], position)
            self._known.clear()

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

    def take_changes(self) -> dict[int, bytearray]:
        """What `write` has to write; until `written` or `not_written` it counts as unwritten."""
        self._leaving, self._changed = self._changed, {}
        return self._leaving

    def written(self) -> None:
        self._leaving = {}

    def not_written(self) -> None:
        """They are written with the next ones."""
        self._changed = {**self._leaving, **self._changed}
        self._leaving = {}

    def write(self, changes: dict[int, bytearray]) -> None:
        """Blocks until they are on the disk (worker thread). StoreError."""
        try:
            for number, page in changes.items():
                write_fully(self._fd, [bytes(page)], number * _PAGE)
            sync_data(self._fd)
        except OSError as error:
            raise store_error(error, f"writing {self.path}") from error
