"""Timer messages as a whole: what loads, runs, flushes and answers (TimerMessageStore)."""

from __future__ import annotations

import logging
from functools import partial
from time import perf_counter

import trio

from trimq.base.clock import Clock
from trimq.base.waits import Wakeup
from trimq.broker.timers.copy_writer import CopyWriter, Puts
from trimq.broker.timers.delivery import Delivery, in_batches
from trimq.broker.timers.enqueue import TimerEnqueue
from trimq.broker.timers.expired_messages import ExpiredMessages
from trimq.broker.timers.metrics import TimerMetrics
from trimq.broker.timers.queue_positions import queue_offset_of
from trimq.codec.bodies.timers import TimerMetricsSerializeWrapper
from trimq.codec.entries.timer import MAGIC_DELETE, RECORD_SIZE, parse_timer_checkpoint
from trimq.codec.names import TIMER_TOPIC
from trimq.codec.records.properties import find_property
from trimq.codec.records.property_keys import REAL_TOPIC
from trimq.store.config import StoreConfig
from trimq.store.errors import StoreError
from trimq.store.message_store import MessageStore
from trimq.store.opening.recovery_points import RecoveryPoint, Unit
from trimq.store.timers.chain import Due
from trimq.store.timers.timer_store import TimerStore

log = logging.getLogger("trimq.timers")


class WheelTimers:
    """Implements `contract.Timers`. Until `load` nothing waits; `deliver_by` says how copies are stored."""

    def __init__(self, config: StoreConfig, store: MessageStore, clock: Clock) -> None:
        self._config = config
        self._store = store
        self.clock = clock
        self._files = TimerStore(
            config.root, config.timer_precision_ms, config.mapped_file_size_timer_log
        )
        self._metrics = TimerMetrics(config.root / "config", clock)
        self._enqueue = TimerEnqueue(config, store, self._files, self._metrics, clock)
        self._delivery = Delivery(config, store, self._files, self._enqueue, clock)
        self._expired = ExpiredMessages(store, self._files, self._enqueue)
        self._copy_writer: CopyWriter | None = None
        self._tail: list[tuple[int, int, int]] = []
        self._rates = 0.0, 0.0
        self._counted = 0, 0, 0.0
        # Up to when what is stored is on the wheel; and where its queue ended at some moment before.
        self._fed = 0
        self._sample = 0, 0
        # When its log ended there, the wheel was empty up to that time.
        self._empty = 0, 0
        self.look_at = self._expired.look_at
        self._pause = Wakeup()
        # Whether a start would have to read too much again.
        self._is_late = False
        self.recovery_point = RecoveryPoint(
            "timer wheel",
            "what was put on the wheel or delivered since its last checkpoint",
            Unit.LOG,
            self._needed_from,
            hurry=self._hurry,
        )

    def follow(self) -> None:
        """Before `load`, on a slave: messages go on the wheel, and its master delivers them."""
        self._files.follows = True

    def deliver_by(self, puts: Puts) -> None:
        """Before `load`: the rules of a put know this object, and this one them."""
        self._copy_writer = CopyWriter(
            self._config, self._store, self._files, puts, self._metrics, self.clock
        )

    @property
    def copy_writer(self) -> CopyWriter:
        if self._copy_writer is None:
            raise RuntimeError("deliver_by first")
        return self._copy_writer

    # --- opening and closing

    def load(self) -> None:
        """Open the files, and take part in every write from now on. Blocks. StoreError."""
        self._metrics.load()
        self._open()
        self._store.give_effect(TIMER_TOPIC, self._enqueue.written)
        self._store.trimming.derived.append(self._files)

    def recover(self, log_end: int) -> None:
        """The log was cut: as after a kill, what the files say of records that are gone is taken back. Blocks."""
        self._files.close()
        self._files.forget_all()
        self.copy_writer.out.forget_all()
        self._empty = 0, 0
        self._open()

    def _needed_from(self) -> int:
        """Where copies may lie that the checkpoint does not know, and messages that are not in its slots."""
        store, files = self._store, self._files
        if not files.is_used:
            return store.max_physical_offset
        return max(files.flushed_from, store.min_physical_offset)

    def _hurry(self) -> None:
        """Not while a slot is being delivered that began there: nothing would become of it."""
        files = self._files
        if files.delivered_from(self._store.max_physical_offset) > files.flushed_from:
            self._pause.give()

    def _open(self) -> None:
        store, files = self._store, self._files
        began = perf_counter()
        now = self.clock.millis()
        window = self._enqueue.window
        end = store.max_physical_offset
        queue_end = store.max_offset(TIMER_TOPIC, 0)
        found = files.load(queue_end, end, now, window, partial(queue_offset_of, store))
        done_before = 0 if found is None else found.done_before
        self._enqueue.begin(done_before, files.read_time)
        if found is None:
            return
        self._tail = found.tail
        size = len(found.tail) * RECORD_SIZE
        position = self._needed_from()
        if not self._files.follows and self._find_what_is_out(now):
            size = end - position
        self.recovery_point.has_read(position, size, perf_counter() - began)
        log.info(
            "timer wheel opened: waiting=%d unread=%d read_time=%d queue_offset=%d already_out=%d "
            "cut_bytes=%d repaired_slots=%d",
            files.wheel.waiting,
            self._enqueue.unread,
            files.read_time,
            files.queue_offset,
            len(self.copy_writer.out),
            found.cut,
            found.rebuilt,
        )

    def _find_what_is_out(self, now: int) -> bool:
        """Only if anything was due since the checkpoint: whether that was so."""
        files, store = self._files, self._store
        if not self._enqueue.unread and not self._has_due(now):
            return False
        out = self.copy_writer.out
        first = out.find(store, files.file.delivered_from, files.read_time, now)
        if len(out):
            files.hold(first)
        return True

    def _has_due(self, now: int) -> bool:
        time = self._files.read_time
        end = now - now % self._files.precision
        found = False
        while not found and self._files.is_used and time < end:
            time, found = self._files.wheel.pass_empty(time, end)
        return found

    def close(self) -> None:
        """Write everything down. Blocks. StoreError."""
        try:
            plan = self._files.plan_flush(
                self._store.max_physical_offset, self.clock.millis(), thorough=True
            )
            if plan is not None:
                self._store.flush()
                self._metrics.file.close()
                plan.run()
        finally:
            self._files.close()

    # --- running

    async def feed(self) -> None:
        """Until cancelled: what is stored goes on the wheel."""
        await self._count_tail()
        await self._enqueue.run(self.copy_writer)

    async def deliver(self) -> None:
        """Until cancelled: what is due is delivered."""
        await self._delivery.run(self.copy_writer)

    async def keep_flushed(self) -> None:
        """Until cancelled: the files follow."""
        while True:
            self._is_late = await self._pause.wait(self._config.timer_flush_interval_ms / 1000)
            self._measure()
            try:
                await self._flush()
            except StoreError as error:
                log.error("flushing the timer wheel failed, trying again: error=%s", error)

    async def _flush(self) -> None:
        files = self._files
        end, now = self._store.max_physical_offset, self.clock.millis()
        plan = files.plan_flush(end, now, thorough=self._is_late)
        if plan is None:
            return
        done = False
        try:
            # A checkpoint says that copies are delivered: they must not be lost after it.
            await trio.to_thread.run_sync(self._store.flush)
            if self._metrics.take_changed():
                await self._metrics.file.write_in_steps()
            await trio.to_thread.run_sync(plan.run)
            done = True
        finally:
            if done:
                files.flushed(plan)
            else:
                files.not_flushed(plan)

    async def _count_tail(self) -> None:
        """Messages put on the wheel after the last checkpoint are not in its counts."""
        tail, self._tail = self._tail, []
        waiting = (Due(offset, size, 0, magic) for offset, size, magic in tail)
        for batch in in_batches(waiting):
            records = await self.copy_writer.fetch(batch)
            for due, record in zip(batch, records, strict=True):
                topic = None
                if record is not None:
                    topic = find_property(record.properties, REAL_TOPIC.encode())
                if topic is not None:
                    change = -1 if due.magic & MAGIC_DELETE else 1
                    self._metrics.add(topic.decode(errors="replace"), change)
            await trio.lowlevel.checkpoint()

    def _measure(self) -> None:
        entered, stored, at = self._counted
        now = self.clock.current_time()
        self._counted = self._enqueue.entered, self.delivered, now
        passed = now - at
        if passed > 0:
            self._rates = (
                (self._enqueue.entered - entered) / passed,
                (self.delivered - stored) / passed,
            )

    # --- what puts and answers need

    def waiting_at(self, out_ms: int) -> int:
        """How many are in the slot of this TIMER_OUT_MS."""
        return self._files.count_at(out_ms)

    def waiting(self) -> int:
        """How many are on the wheel. Recalls that are there alone count downwards."""
        return max(self._files.wheel.waiting, 0)

    @property
    def files(self) -> TimerStore:
        """The wheel, for who looks at what is on it."""
        return self._files

    def unread(self) -> int:
        """How many are stored and not on the wheel yet."""
        return self._enqueue.unread

    def delivered_before(self) -> int:
        """All that was stored for a time before this one has been delivered. In milliseconds since 1970."""
        now = self.clock.millis()
        if not self._enqueue.unread:
            self._fed = now
        elif self._sample[0] <= self._files.queue_offset:
            # What had been stored when the sample was taken is on the wheel.
            self._fed = self._sample[1]
            self._sample = self._store.max_offset(TIMER_TOPIC, 0), now
        return min(self._fed, self._files.read_time) if self._files.is_used else self._fed

    def seconds_behind(self) -> int:
        """How far the next slot to be taken out lies in the past."""
        if not self._files.is_used:
            return 0
        return max(0, self.clock.millis() - self._files.read_time) // 1000

    def next_due(self, until: int) -> int | None:
        """When the first slot that has messages is taken out, in ms since 1970; 0 while some are on their way to it, or
        slots whose time is over are looked at.

        None if that is after `until`.
        """
        files, config = self._files, self._config
        if self._enqueue.unread and not config.timer_stop_enqueue:
            return 0
        if not files.is_used or config.timer_stop_dequeue:
            return None
        if files.is_behind(self.clock.millis()):
            return 0
        log_end, time = self._empty
        if log_end != files.log.end:
            time = 0
        time, found = max(time, files.read_time), False
        # No message waits longer than one turn of the wheel.
        end = min(until, files.read_time + files.wheel.slots * files.precision)
        while not found and time < end:
            time, found = files.wheel.pass_empty(time, end)
        self._empty = files.log.end, time
        return time + files.precision if found else None

    def enqueued_per_second(self) -> float:
        """Put on the wheel in the last second."""
        return self._rates[0]

    def dequeued_per_second(self) -> float:
        """Delivered in the last second."""
        return self._rates[1]

    def checkpoint(self) -> bytes:
        """The body of GET_TIMER_CHECK_POINT."""
        return self._files.checkpoint_body(self.clock.millis())

    def metrics(self) -> bytes:
        """The body of GET_TIMER_METRICS."""
        return self._metrics.encoded()

    async def follow_checkpoint(self, body: bytes) -> None:
        """Take over how far the master's wheel has got; what is before that leaves this one undelivered."""
        read_time = parse_timer_checkpoint(body).read_time
        while self._files.pass_to(read_time):
            await trio.lowlevel.checkpoint()

    async def follow_metrics(self, master: TimerMetricsSerializeWrapper) -> None:
        """Take over how many wait on the master's wheel."""
        await self._metrics.follow(master)

    def forget_topic(self, topic: str) -> None:
        """The topic was deleted."""
        self._metrics.forget(topic)

    @property
    def delivered(self) -> int:
        """Copies stored since the start."""
        return self.copy_writer.stored

    @property
    def lost(self) -> int:
        """Messages whose file was deleted before their time, since the start."""
        return self._expired.lost

    @property
    def gone(self) -> int:
        """Messages that were no longer in the log when their time came, since the start."""
        return self.copy_writer.gone

    @property
    def given_up(self) -> int:
        """Messages that no put may ever store, since the start."""
        return self.copy_writer.given_up
