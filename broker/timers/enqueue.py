"""From the queue rmq_sys_wheel_timer/0 to the wheel, in the queue's order (TimerEnqueueGetService and ...Put...).

A message goes on the wheel as an effect of its write. One that cannot, and all behind it, are read from
the queue by `run`: after a start, or while `timerStopEnqueue` is set. Where that is up to is the only
state, and the next one entered is always the next of the queue, so both ways do the same.

A message whose time has come when it is read is not put on the wheel but delivered at once.

Hot: compiled by mypyc when a compiler is there.
"""

from __future__ import annotations

import logging
from typing import Final

import trio

from trimq.base.clock import Clock
from trimq.base.waits import Wakeup
from trimq.broker.steps import BYTES_PER_STEP
from trimq.broker.timers.conversion import NEVER_ENTERED
from trimq.broker.timers.copy_writer import CopyWriter
from trimq.broker.timers.metrics import TimerMetrics
from trimq.codec.entries.timer import MAGIC_DEFAULT
from trimq.codec.java.hashes import string_hash
from trimq.codec.java.numbers import parse_long
from trimq.codec.names import TIMER_TOPIC
from trimq.codec.records.properties import NAME_END, find_value
from trimq.codec.records.property_keys import REAL_TOPIC, TIMER_DEL_UNIQKEY, TIMER_OUT_MS
from trimq.store.config import StoreConfig
from trimq.store.errors import StoreError
from trimq.store.message_store import MessageStore
from trimq.store.messages.message import Dispatched, Message
from trimq.store.timers.chain import Due
from trimq.store.timers.rolling import longest_window
from trimq.store.timers.timer_store import Entered, TimerStore

log = logging.getLogger("trimq.timers")

# Messages read from the queue in one step, and with larger bodies fewer.
_BATCH: Final = 64
# How long to wait before a message is tried again for which the wheel has no room.
_NO_ROOM_SECONDS: Final = 0.2
_STOPPED_SECONDS: Final = 1.0
# Names of properties, with their ends.
_OUT: Final = f"{TIMER_OUT_MS}{NAME_END}".encode()
_DELETE: Final = f"{TIMER_DEL_UNIQKEY}{NAME_END}".encode()
_TOPIC: Final = f"{REAL_TOPIC}{NAME_END}".encode()
_MOST_TOPICS: Final = 10_000


class TimerEnqueue:
    """Puts messages on the wheel; those that are due already it delivers."""

    def __init__(
        self,
        config: StoreConfig,
        store: MessageStore,
        timers: TimerStore,
        metrics: TimerMetrics,
        clock: Clock,
    ) -> None:
        self._config = config
        self._store = store
        self._timers = timers
        self._metrics = metrics
        self._clock = clock
        self._stirred = Wakeup()
        self._made = trio.Event()
        # Messages before this queue offset whose slots are before that time are done.
        self._done = 0, 0
        # Where the queue ended at the start.
        self._from_before = 0
        # The hashes of topics.
        self._hashes: dict[str, int] = {}
        # The roll window, and the settings that it was made of.
        self._window = 0
        self._window_of = 0, 0
        self._is_made = False
        self.entered = 0
        """Messages put on the wheel since the start."""

    @property
    def window(self) -> int:
        """The roll window, in slots."""
        config = self._config
        wanted, hours = config.timer_roll_window_slot, config.file_reserved_time
        if self._window_of != (wanted, hours):
            self._window = longest_window(wanted, hours, self._timers.precision)
            self._window_of = wanted, hours
        return self._window

    @property
    def unread(self) -> int:
        """Messages of the queue that are not on the wheel yet."""
        return max(0, self._store.max_offset(TIMER_TOPIC, 0) - self._timers.queue_offset)

    @property
    def is_catching_up(self) -> bool:
        """Whether slots may lack what was stored before the start."""
        return self._timers.queue_offset < self._from_before and self._is_on

    def begin(self, done_before: int, read_time: int) -> None:
        """After loading: see Recovered.done_before. The queue may have lost its begin, or its end."""
        timers = self._timers
        low = self._store.min_offset(TIMER_TOPIC, 0)
        high = self._store.max_offset(TIMER_TOPIC, 0)
        timers.queue_offset = max(low, min(timers.queue_offset, high))
        self._done = done_before, read_time
        self._from_before = high

    async def wheel_made(self) -> None:
        """Until there is a wheel."""
        if not self._timers.is_used:
            await self._made.wait()

    # --- while messages are written

    def written(self, record: Dispatched, message: Message) -> None:
        """The effect of a record of rmq_sys_wheel_timer. Whatever goes wrong: it is read from the queue then."""
        waits = False
        try:
            waits = (
                record.queue_id == 0
                and record.queue_offset == self._timers.queue_offset
                and self._is_on
                and self._enter_written(record, message) is Entered.WAITS
            )
        finally:
            if waits:
                self._timers.queue_offset += 1
            else:
                self._stirred.give()

    def _enter_written(self, record: Dispatched, message: Message) -> Entered:
        at, size = record.physical_offset, record.size
        if message.out_ms < 0:
            return self._enter(at, size, record.properties)
        return self._enter_at(message.out_ms, at, size, message.real_topic, False)

    @property
    def _is_on(self) -> bool:
        return not self._config.timer_stop_enqueue

    def _enter(self, physical_offset: int, size: int, properties: bytes) -> Entered:
        """WAITS also for a message that is done with: one that nobody could ever deliver."""
        out = find_value(properties, _OUT)
        out_ms = None if out is None else parse_long(out.decode(errors="replace"))
        if out_ms is None:
            log.error("timer message without a time is skipped: at=%d", physical_offset)
            return Entered.WAITS
        is_delete = find_value(properties, _DELETE) is not None
        topic = (find_value(properties, _TOPIC) or b"").decode(errors="replace")
        return self._enter_at(out_ms, physical_offset, size, topic, is_delete)

    def _enter_at(
        self, out_ms: int, physical_offset: int, size: int, topic: str, is_delete: bool
    ) -> Entered:
        done_before, read_time = self._done
        if self._timers.queue_offset < done_before and out_ms < read_time:
            return Entered.WAITS
        try:
            result = self._timers.enter(
                out_ms,
                physical_offset,
                size,
                is_delete=is_delete,
                topic_hash=self._hash(topic),
                now=self._clock.millis(),
                window=self.window,
            )
        except StoreError as error:
            log.error("timer message not put on the wheel, trying again: error=%s", error)
            return Entered.LATER
        self._write_if_much()
        if result is Entered.WAITS:
            self._metrics.add(topic, -1 if is_delete else 1)
            self.entered += 1
            if not self._is_made:
                self._is_made = True
                self._made.set()
        return result

    def _write_if_much(self) -> None:
        try:
            self._timers.write_if_much()
        except StoreError as error:
            # It is on the wheel, and would be there twice if it were entered again: the next flush writes it.
            log.error("timer log not written, trying again: error=%s", error)

    def _hash(self, topic: str) -> int:
        found = self._hashes.get(topic)
        if found is None:
            if len(self._hashes) > _MOST_TOPICS:
                self._hashes.clear()
            found = self._hashes[topic] = string_hash(topic)
        return found

    # --- from the queue

    async def run(self, copy_writer: CopyWriter) -> None:
        """Until cancelled."""
        while True:
            if not self._is_on:
                await trio.sleep(_STOPPED_SECONDS)
            elif self.unread:
                await self._read_on(copy_writer)
                await trio.lowlevel.checkpoint()
            else:
                await self._stirred.wait()

    async def _read_on(self, copy_writer: CopyWriter) -> None:
        """The next messages of the queue, up to the first that has to be tried again."""
        timers = self._timers
        # What was deleted before it could be read.
        timers.queue_offset = max(timers.queue_offset, self._store.min_offset(TIMER_TOPIC, 0))
        batch = self._next_batch()
        records = await copy_writer.fetch(batch)
        at_once: list[Due] = []
        for due, record in zip(batch, records, strict=True):
            if timers.is_put_off(due.physical_offset, of_queue=True):
                result = Entered.WAITS
            elif record is None:
                log.error("timer message is gone before it was read: at=%d", due.physical_offset)
                result = Entered.WAITS
            else:
                result = self._enter(due.physical_offset, due.size, record.properties)
            if result is Entered.DUE:
                at_once.append(due)
                continue
            if at_once:
                await self._deliver(copy_writer, at_once)
                at_once = []
            if result is Entered.LATER:
                # Perhaps for a slot that has to be taken out first.
                self._from_before = 0
                await trio.sleep(_NO_ROOM_SECONDS)
                return
            timers.queue_offset += 1
        if at_once:
            await self._deliver(copy_writer, at_once)

    def _next_batch(self) -> list[Due]:
        batch: list[Due] = []
        size = 0
        for offset in range(self._timers.queue_offset, self._timers.queue_offset + _BATCH):
            entry = self._store.queue_entry(TIMER_TOPIC, 0, offset)
            if entry is None:
                break
            size += entry.size
            if batch and size > BYTES_PER_STEP:
                break
            batch.append(Due(entry.physical_offset, entry.size, NEVER_ENTERED, MAGIC_DEFAULT))
        return batch

    async def _deliver(self, copy_writer: CopyWriter, at_once: list[Due]) -> None:
        """RocketMQ does not count these."""
        if not self._timers.follows:
            await copy_writer.put(at_once)
        self._timers.queue_offset += len(at_once)
