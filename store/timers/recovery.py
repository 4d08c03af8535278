"""Opening the timer's files after a stop of any kind, and those of a real broker (TimerMessageStore.recover).

What is on the disk: a checkpoint; a timer log that has at least what the checkpoint speaks of; and a
wheel that is as old as the checkpoint, or newer. So:

1. the log's end is found by reading on from the checkpoint; records that speak of messages behind the
   end of the commit log are cut off;
2. a slot that points behind the log's end is put together again from the log;
3. a record after the checkpoint is put into its slot, unless the slot has it: its last position says so;
4. slots of times that are done are emptied (a real broker leaves them).

Then the queue is read on behind the message of the last record, or from where the checkpoint says.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from trimq.codec.entries.timer import (
    MAGIC_DELETE,
    OF_QUEUE,
    RECORD_SIZE,
    SLOT_SIZE,
    TimerRecord,
    TimerSlot,
    TimerState,
    timer_fields,
)
from trimq.store.errors import StoreDamaged
from trimq.store.timers.log import TimerLog
from trimq.store.timers.postponed import Postponed
from trimq.store.timers.scanning import Records, starting_point, without_future
from trimq.store.timers.wheel import TimerWheel

log = logging.getLogger("trimq.store")

# TIMER_BLANK_SLOTS: this many units stay free between the oldest slot and the newest.
BLANK_SLOTS: Final = 60
# How many slots are checked at once, how many bytes of the timer log are read for them, and how many may lie between.
_CHECKED_AT_ONCE: Final = 64 * 1024
_PIECE: Final = 64 * 1024
_CLOSE: Final = 4 * 1024

# The queue offset of the timer message at a physical offset, of this size; None when it is in no queue.
FindQueueOffset = Callable[[int, int], int | None]


@dataclass(slots=True)
class Recovered:
    """What opening found and did."""

    queue_offset: int
    """The first message of the queue that may not be on the wheel."""
    read_time: int
    """The first slot that may not be done, in milliseconds."""
    done_before: int
    """Messages up to this queue offset whose slots are before `read_time` are done: the log was cut."""
    tail: list[tuple[int, int, int]]
    """Messages put on the wheel after the checkpoint: physical offset, size, magic."""
    put_off: Postponed
    """What may still be met where it was before."""
    cut: int
    """Bytes of the timer log that spoke of messages behind the commit log's end."""
    rebuilt: int
    """Slots that had to be put together again."""


class Recovery:
    def __init__(self, wheel: TimerWheel, timer_log: TimerLog, state: TimerState) -> None:
        """Both loaded; `state` is the checkpoint's."""
        self._wheel = wheel
        self._log = timer_log
        self._state = state

    def run(
        self, log_end: int, now: int, window: int, find: FindQueueOffset, *, whole: bool
    ) -> Recovered:
        """Blocks.

        `log_end` is the commit log's, `window` how far ahead slots may be, in units; `whole`: the
        wheel was missing, so the whole log is read for it.
        """
        state = self._state
        read_time = self._read_time(now, window)
        start = self._log.begin if whole else starting_point(self._log, state.log_position)
        tail = Records(self._log, start)
        for _ in tail:
            pass
        end = without_future(self._log, tail.position, log_end)
        cut = tail.position - end
        self._log.start_at(end)
        broken = self._used_slots(read_time, end)
        self._rebuild(broken, read_time)
        put_off = Postponed()
        read_time = self._lowered(end, read_time, now, window)
        found = self._add_tail(min(start, end), read_time, put_off, find)
        queue_offset, done_before = self._queue_offset(end, find)
        return Recovered(queue_offset, read_time, done_before, found, put_off, cut, len(broken))

    def _read_time(self, now: int, window: int) -> int:
        """Where the checkpoint says, however long that is ago: what waits since then is due.

        Without a checkpoint every slot may have been missed.
        """
        return self._slot_time(self._state.read_time) or self._earliest(now, window)

    def _earliest(self, now: int, window: int) -> int:
        """Not so long ago that slots of that time and of the time to come would meet."""
        wheel = self._wheel
        return self._slot_time(now) - (wheel.slots - window - BLANK_SLOTS) * wheel.precision

    def _used_slots(self, read_time: int, end: int) -> dict[int, TimerSlot]:
        """Counts what waits; returns the slots that point behind the log's end, by their time."""
        wheel = self._wheel
        broken: dict[int, TimerSlot] = {}
        waiting = 0
        # Where the last record of each is, and its time.
        whole: list[tuple[int, int]] = []
        for slot in wheel.used(read_time):
            waiting += slot.messages
            if slot.last >= end:
                broken[slot.time * wheel.precision] = slot
            elif self._log.contains(slot.last):
                whole.append((slot.last, slot.time))
            if len(whole) >= _CHECKED_AT_ONCE:
                self._check(whole)
                whole = []
        self._check(whole)
        wheel.waiting = waiting
        return broken

    def _check(self, slots: list[tuple[int, int]]) -> None:
        """StoreDamaged unless each slot's last record is one of its time.

        In the order of the log: one read for all that lie close together, since there may be a million slots.
        """
        wheel, timer_log = self._wheel, self._log
        start, data = 0, b""
        slots.sort()
        span = slots[-1][0] - slots[0][0] if slots else 0
        piece = _PIECE if span <= len(slots) * _CLOSE else RECORD_SIZE
        for last, time in slots:
            if not start <= last <= start + len(data) - RECORD_SIZE:
                room = timer_log.base_of(last) + timer_log.file_size - last
                start, data = last, timer_log.read_blocking(last, min(piece, room))
            size = found = 0
            if len(data) >= RECORD_SIZE:
                size, _, _, write_time, delay, _, _, _ = timer_fields(data, last - start)
                found = write_time + delay
            if size != RECORD_SIZE or found // wheel.precision != time:
                raise StoreDamaged(
                    wheel.path,
                    time % wheel.slots * SLOT_SIZE,
                    f"what it has at {last} of the timer log is no record of its time",
                )

    def _rebuild(self, broken: dict[int, TimerSlot], read_time: int) -> None:
        if not broken:
            return
        first = min(slot.first for slot in broken.values())
        found: dict[int, TimerSlot] = {}
        for position, record in Records(self._log, starting_point(self._log, first)):
            time = self._slot_time(record.time)
            if time not in broken or time < read_time:
                continue
            before = found.get(time)
            count = -1 if record.magic & MAGIC_DELETE else 1
            if before is None:
                found[time] = TimerSlot(0, position, position, count, 0)
            else:
                found[time] = TimerSlot(0, before.first, position, before.messages + count, 0)
        for time in broken:
            slot = found.get(time)
            if slot is None:
                self._wheel.clear(time)
            else:
                self._wheel.put(time, slot.first, slot.last, slot.messages)
        log.warning(
            "timer wheel repaired: slots=%d without_messages=%d log_end=%d",
            len(broken),
            len(broken) - len(found),
            self._log.end,
        )

    def _slot_time(self, time: int) -> int:
        return time - time % self._wheel.precision

    def _lowered(self, end: int, read_time: int, now: int, window: int) -> int:
        """The clock was set back after the checkpoint, and messages went into slots that it calls done."""
        first = read_time
        start = starting_point(self._log, self._state.log_position)
        for position, record in Records(self._log, min(start, end)):
            if record.put_off_from:
                # The tail began before the checkpoint (TimerStore.plan_flush): such slots may be done.
                return read_time
            if position >= self._state.log_position:
                first = min(first, self._slot_time(record.time))
        return first if self._state.read_time else max(first, self._earliest(now, window))

    def _add_tail(
        self, start: int, read_time: int, put_off: Postponed, find: FindQueueOffset
    ) -> list[tuple[int, int, int]]:
        wheel = self._wheel
        tail: list[tuple[int, int, int]] = []
        for position, record in Records(self._log, start):
            time = self._slot_time(record.time)
            origin = record.put_off_from
            if origin == OF_QUEUE:
                queue_offset = find(record.physical_offset, record.message_size)
                if queue_offset is not None:
                    put_off.add_of_queue(record.physical_offset, position, queue_offset)
            elif origin >= read_time and wheel.slot(origin) is not None:
                put_off.add_of_slot(origin, record.physical_offset, position)
            if position >= self._state.log_position and origin <= 0:
                # What was put off from a slot had been counted when it was entered.
                tail.append((record.physical_offset, record.message_size, record.magic))
            if time < read_time:
                continue
            slot = wheel.slot(time)
            count = -1 if record.magic & MAGIC_DELETE else 1
            if slot is None:
                wheel.put(time, position, position, count)
            elif slot.last < position:
                wheel.put(time, slot.first, position, slot.messages + count)
        return tail

    def _queue_offset(self, end: int, find: FindQueueOffset) -> tuple[int, int]:
        """Where to go on reading the queue, and up to where old slots are done."""
        last = self._last_entered(end)
        found = None if last is None else find(last.physical_offset, last.message_size)
        behind = 0 if found is None else found + 1
        if end >= self._state.log_position:
            # Messages that are due when they are read leave no record.
            return max(behind, self._state.queue_offset), 0
        return behind, self._state.queue_offset

    def _last_entered(self, end: int) -> TimerRecord | None:
        """They are entered in the queue's order; what was put off had been entered long before."""
        before = self._log.before(end)
        while before >= 0:
            record = self._log.record(before)
            if record is None or not record.put_off_from:
                return record
            before = self._log.before(before)
        return None
