"""The messages that wait for their time: wheel, timer log and checkpoint as one (TimerMessageStore).

It knows neither topics nor keys: a message is its place in the commit log. Whoever uses it enters the
messages of rmq_sys_wheel_timer/0 in their order, takes slot after slot out, and flushes every second.

A slot is due when the next one has begun, so nothing is early. Until the first message is entered there are
no files. Everything here runs on the loop's thread and waits for no disk, except `load`, which blocks, and
`TimerFlush.run`, for a worker thread.

Hot: compiled by mypyc when a compiler is there.
"""

from __future__ import annotations

import os
from enum import Enum
from pathlib import Path
from typing import Final

from trimq.codec.entries.timer import (
    LONGEST_DELAY,
    MAGIC_DEFAULT,
    MAGIC_DELETE,
    MAGIC_ROLL,
    OF_QUEUE,
    TimerSlot,
    TimerState,
    pack_timer_checkpoint,
    pack_timer_record,
)
from trimq.codec.errors import CodecError
from trimq.store.disk.quarantine import is_damage, set_aside
from trimq.store.errors import StoreDamaged
from trimq.store.timers.chain import Chain, Due
from trimq.store.timers.checkpoint import TimerCheckpoint
from trimq.store.timers.flushing import TimerFlush
from trimq.store.timers.log import TimerLog
from trimq.store.timers.postponed import Postponed
from trimq.store.timers.recovery import FindQueueOffset, Recovered, Recovery
from trimq.store.timers.rolling import next_stop
from trimq.store.timers.wheel import SLOTS, TimerWheel

# With more of the log in memory nothing is entered until it could be written.
MOST_UNWRITTEN: Final = 4 * 1024 * 1024
# So much is kept until a flush writes it, or somebody reads it.
_WRITTEN_AT: Final = 256 * 1024
# An idle wheel's progress is written down this rarely: empty slots are passed quickly.
_IDLE_MILLIS: Final = 60_000


class Entered(Enum):
    """What became of a message that is to wait."""

    WAITS = "it is on the wheel"
    DUE = "its time has come: it is to be delivered instead"
    LATER = "there is no room for it now: try again after the next flush or slot"


class TimerStore:
    """`read_time` is the next slot to be taken out, `queue_offset` the next message to be entered."""

    def __init__(self, root: Path, precision: int, log_file_size: int, slots: int = SLOTS) -> None:
        """`precision`: timerPrecisionMs; `log_file_size`: mappedFileSizeTimerLog."""
        self.precision = precision
        self._root = root
        self._log_file_size = log_file_size
        # Whether another broker delivers what is here: this one's master.
        self.follows = False
        self.wheel = TimerWheel(root / "timerwheel", precision, slots)
        self.forget_all()

    def forget_all(self) -> None:
        """As before `load`: what is in the files counts, and nothing else. No flush may be under way."""
        self.wheel.close()
        self.wheel = TimerWheel(self.wheel.path, self.precision, self.wheel.slots)
        self.log = TimerLog(self._root / "timerlog", self._log_file_size)
        self.file = TimerCheckpoint(self._root / "config" / "timercheck")
        self.read_time = 0
        self.queue_offset = 0
        # The slot that is being taken out, and where the commit log ended when that began.
        self._taking = -1
        self._taken_from = -1
        self._flushed = TimerState()
        # What came before this offset of the commit log is in the checkpoint.
        self.flushed_from = 0
        # From where on copies lie that stand for messages which are still to be taken out.
        self._held_from = -1
        self._planned_from = 0
        self._put_off = Postponed()
        # A slot in the place of one that is wanted, of a time that nobody may wait for: -1 without any.
        self._in_the_way = -1

    # --- opening and closing

    @property
    def is_used(self) -> bool:
        """Whether there has ever been a message on the wheel."""
        return self.wheel.is_open

    def load(
        self, queue_end: int, log_end: int, now: int, window: int, find: FindQueueOffset
    ) -> Recovered | None:
        """Open the files; None if none are needed. Blocks. StoreError.

        `queue_end`: how many messages there are to be entered. For the others see Recovery.run.
        """
        try:
            return self._load(queue_end, log_end, now, window, find)
        except (StoreDamaged, CodecError, OSError) as error:
            if not is_damage(error):
                raise
            # The messages are in the log of all messages, and put on a new wheel from there.
            self.forget_all()
            for path in (self.wheel.path, self.log.directory):
                if os.path.lexists(path):
                    set_aside(self._root, path, error)
            return self._load(queue_end, log_end, now, window, find)

    def _load(
        self, queue_end: int, log_end: int, now: int, window: int, find: FindQueueOffset
    ) -> Recovered | None:
        self.file.load()
        self._flushed = self.file.state
        self.flushed_from = self.file.delivered_from or 0
        is_new = not self.wheel.exists() and not os.path.lexists(self.log.directory)
        never = is_new and self.file.state.log_position <= 0
        if never and self.file.state.queue_offset >= queue_end:
            self.read_time = now - now % self.precision
            self.queue_offset = self.file.state.queue_offset
            return None
        # Where the slots are not here, all of the log says what they were.
        whole = not self.wheel.exists() or self.wheel.has_newer_snapshot()
        self.wheel.open()
        self.log.load()
        recovery = Recovery(self.wheel, self.log, self.file.state)
        found = recovery.run(log_end, now, window, find, whole=whole)
        self.read_time = found.read_time
        self.queue_offset = found.queue_offset
        self._put_off = found.put_off
        return found

    def delete_before(self, min_physical_offset: int) -> None:
        """Delete what only speaks of messages before that (store/upkeep/trimming.py). StoreError."""
        self.log.delete_before(min_physical_offset)

    def close(self) -> None:
        """Of the files only; flush before."""
        self.log.close()
        self.wheel.close()

    @property
    def is_taking(self) -> bool:
        """Whether a slot is being taken out: some of its messages may be delivered already."""
        return self._taking >= 0

    # --- entering

    def enter(
        self,
        out_ms: int,
        physical_offset: int,
        size: int,
        *,
        is_delete: bool,
        topic_hash: int,
        now: int,
        window: int,
    ) -> Entered:
        """Put a message on the wheel, for TIMER_OUT_MS or the next stop on its way there.

        `window` is the roll window in units. StoreError when the files cannot be made. After a stop,
        slots that are due and not taken out yet still get what belongs there: a recall must not come
        too late because of it.
        """
        precision = self.precision
        write_time = now - now % precision
        out_ms -= out_ms % precision
        if self.follows and not self.wheel.is_open:
            # Its master may not have delivered it yet.
            self.wheel.open()
            self.read_time = min(out_ms, write_time)
        is_open = self.wheel.is_open and self.read_time <= out_ms != self._taking
        if out_ms < write_time and not is_open:
            return Entered.DUE
        if not self.wheel.is_open:
            self.wheel.open()
            self.read_time = write_time
        magic = MAGIC_DELETE if is_delete else 0
        stop = next_stop(out_ms, write_time, window, precision)
        magic |= MAGIC_DEFAULT if stop == out_ms else MAGIC_DEFAULT | MAGIC_ROLL
        lying = self.wheel.raw_slot(stop)
        if not self._has_room(stop, lying):
            return Entered.LATER
        self._append(stop, lying, physical_offset, size, write_time, magic, topic_hash)
        return Entered.WAITS

    def put_off(self, due: Due, topic_hash: int, until: int, *, of_queue: bool = False) -> bool:
        """Let a message that was taken out, of a slot or `of_queue`, wait again; False: not possible now."""
        stop = until - until % self.precision
        if not self.wheel.is_open:
            return False
        lying = self.wheel.raw_slot(stop)
        if not self._has_room(stop, lying):
            return False
        at, size, magic, position = due.physical_offset, due.size, due.magic, self.log.end
        origin = OF_QUEUE if of_queue else self._taking
        self._append(stop, lying, at, size, stop - self.precision, magic, topic_hash, origin)
        if of_queue:
            self._put_off.add_of_queue(at, position, self.queue_offset)
        else:
            self._put_off.add_of_slot(origin, at, position)
        return True

    def is_put_off(self, physical_offset: int, *, of_queue: bool = False) -> bool:
        """Whether this message, of the slot that is being taken out or `of_queue`, was put off already."""
        if of_queue:
            return self._put_off.is_of_queue(physical_offset)
        return self._put_off.is_of_slot(self._taking, physical_offset)

    def _append(
        self,
        stop: int,
        lying: TimerSlot,
        physical_offset: int,
        size: int,
        write_time: int,
        magic: int,
        topic_hash: int,
        put_off_from: int = 0,
    ) -> None:
        """`lying`: what lies in the place of the slot."""
        is_own = lying.time == stop // self.precision
        # The record says the slot's time as a distance in 32 bits; a clock that was set may be further away.
        write_time = max(min(write_time, stop + LONGEST_DELAY), stop - LONGEST_DELAY)
        position = self.log.append(
            pack_timer_record(
                lying.last if is_own else -1,
                magic,
                write_time,
                stop - write_time,
                physical_offset,
                size,
                topic_hash,
                put_off_from,
            )
        )
        self.wheel.add(stop, lying, position, -1 if magic & MAGIC_DELETE else 1)
        # The clock was set back: the slots in between are empty, and none is early.
        self.read_time = min(self.read_time, stop)

    def _has_room(self, stop: int, lying: TimerSlot) -> bool:
        """Not while its slot is being taken out, or still has messages of two weeks ago.

        Or of two weeks ahead, of which the clock was set back: those roll, to make room.
        """
        if stop == self._taking or self.log.unwritten > MOST_UNWRITTEN:
            return False
        if lying.time > stop // self.precision:
            self._in_the_way = lying.time * self.precision
        return lying.time == 0 or lying.time == stop // self.precision

    def write_if_much(self) -> None:
        """StoreError. Cheap: call it after entering."""
        if self.log.unwritten >= _WRITTEN_AT:
            self.log.write()

    def count_at(self, out_ms: int) -> int:
        """How many wait for this time."""
        if not self.wheel.is_open:
            return 0
        slot = self.wheel.slot(out_ms - out_ms % self.precision)
        return 0 if slot is None else slot.messages

    # --- taking out

    def hold(self, physical_offset: int) -> None:
        """Copies from there on were found at the start; `let_go` when all that they stand for is done.

        Until then each checkpoint says so: after the next kill they have to be found again.
        """
        self._held_from = physical_offset

    def let_go(self) -> None:
        self._held_from = -1

    def find_due(self, now: int) -> int | None:
        """The first slot that is due and has messages. None: go on later, or at once if `is_behind`."""
        end = now - now % self.precision
        if not self.wheel.is_open or self.read_time >= end:
            return None
        self.read_time, found = self.wheel.pass_empty(self.read_time, end)
        return self.read_time if found else None

    @property
    def is_in_the_way(self) -> bool:
        """Whether `take_in_the_way` may have one."""
        return self._in_the_way >= 0

    def take_in_the_way(self) -> int | None:
        """The time of a slot that has to be taken out although it is not due, for its messages to roll."""
        time, self._in_the_way = self._in_the_way, -1
        return None if time < 0 or self.wheel.slot(time) is None else time

    def is_behind(self, now: int) -> bool:
        return self.wheel.is_open and self.read_time < now - now % self.precision

    def begin(self, time: int, log_end: int) -> Chain:
        """Take a slot out: its records. `log_end` is the commit log's. StoreError: not now.

        Until `finish` nothing is entered there.
        """
        self.log.write()
        if self._taking != time:
            self._taking = time
            self._taken_from = log_end
        return self.chain(time)

    def chain(self, time: int) -> Chain:
        """The records of a slot, which stay there; what is not written of them is not found."""
        slot = self.wheel.slot(time)
        return Chain(self.log, -1 if slot is None else slot.last)

    def finish(self, time: int) -> None:
        """All messages of the slot were delivered."""
        self.wheel.clear(time)
        self._taking = self._taken_from = -1
        self._put_off.slot_is_done(time)
        if self.read_time == time:
            self.read_time = time + self.precision

    def pass_to(self, read_time: int) -> bool:
        """A slave: its master has delivered what is in slots before that time. True when there may be more."""
        if not self.wheel.is_open:
            self.read_time = max(self.read_time, read_time)
            return False
        if self.read_time >= read_time:
            return False
        self.read_time, found = self.wheel.pass_empty(self.read_time, read_time)
        if found:
            self.finish(self.read_time)
        return True

    # --- flushing

    def state(self, now: int) -> TimerState:
        """How far it has got. The version is a new one if that has changed since it was written down."""
        before = self._flushed
        changed = (before.read_time, before.queue_offset) != (self.read_time, self.queue_offset)
        return TimerState(
            self.read_time,
            before.log_position,
            self.queue_offset,
            self.queue_offset,
            0,
            now if changed else before.version_timestamp,
            before.version_counter + changed,
        )

    def checkpoint_body(self, now: int) -> bytes:
        return pack_timer_checkpoint(self.state(now))

    def plan_flush(self, log_end: int, now: int, *, thorough: bool = False) -> TimerFlush | None:
        """What is to be written down; None if that is nothing. `log_end` is the commit log's. StoreError.

        Only one at a time: run it, then call `flushed` or `not_flushed`.
        """
        moved = self.queue_offset != self._flushed.queue_offset or self.wheel.has_changes
        is_old = self.read_time - self._flushed.read_time >= _IDLE_MILLIS
        if not moved and not (self.is_used and (thorough or is_old)):
            return None
        self.log.write()
        position = self._put_off.first(self.log.end, self.queue_offset)
        state = self.state(now)._replace(log_position=position)
        delivered_from = self.delivered_from(log_end)
        # Where a master's copies lie is not known here.
        noted = None if self.follows else delivered_from
        self._planned_from = delivered_from
        return TimerFlush(self.wheel, self.log, self.file, state, noted)

    def delivered_from(self, log_end: int) -> int:
        """From where on copies may lie for what is still on the wheel, as a flush would say now."""
        return min(one for one in (self._held_from, self._taken_from, log_end) if one >= 0)

    def flushed(self, flush: TimerFlush) -> None:
        self.wheel.written()
        self._flushed = flush.state
        self.flushed_from = self._planned_from

    def not_flushed(self, flush: TimerFlush) -> None:
        """The next one takes it along."""
        self.wheel.not_written()
        self.log.not_synced(flush.synced)
