"""Delayed messages: SCHEDULE_TOPIC_XXXX, one queue per level, delivered in order at their time.

The store knows what is in a level's queue and when it is due: the tags code of an entry is its
delivery time. This service knows how far each level has got (`config/delayOffset.json`), and sleeps
until the next message of any level is due; with nothing delayed it does not wake at all. Rules of
ScheduleMessageService:

- the copy goes to REAL_TOPIC and REAL_QID with all its properties, times and hosts;
- an entry that is due later than its level allows (the wall clock was set back) is due now;
- a message that is gone, or belongs to a transaction, is skipped;
- one that cannot be stored holds up its level, to keep the order, until it can.

The wall clock may jump forward while this sleeps, so the service checks it once a second while
messages are waiting. Progress is written when a batch is done: a crash delivers at most that much
twice.
"""

import logging
from collections.abc import Callable, Iterator
from math import inf
from pathlib import Path
from typing import NamedTuple

import trio

from trimq.base.clock import Clock
from trimq.base.waits import Wakeup
from trimq.broker.config import BrokerConfig
from trimq.broker.delivery.level_queues import level_of_queue, queue_of_level
from trimq.broker.records import ColdRecord, NoRecord, fetch_record, record_in_memory
from trimq.broker.steps import BYTES_PER_STEP
from trimq.broker.tables.data_version import encoded_version, new_version, next_version
from trimq.broker.tables.file import TableFile
from trimq.broker.tables.json_members import pretty
from trimq.codec.bodies.base import encode_body
from trimq.codec.bodies.offsets import DelayOffsetSerializeWrapper
from trimq.codec.entries.queue import QueueEntry
from trimq.codec.java.numbers import parse_int
from trimq.codec.names import (
    ROCKSDB_TRANS_HALF_TOPIC,
    SCHEDULE_TOPIC,
    TRANS_HALF_TOPIC,
    is_brokers_own,
)
from trimq.codec.records.properties import find_property
from trimq.codec.records.property_keys import REAL_QID, REAL_TOPIC
from trimq.codec.records.record import Record
from trimq.store.errors import StoreError
from trimq.store.message_store import MessageStore
from trimq.store.messages.message import Dispatched, Message, copy_to

log = logging.getLogger("trimq.delays")

_BATCH = 32
_CLOCK_CHECK_SECONDS = 1.0
_WRITE_SECONDS = 1.0
_SYNC_SECONDS = 10.0
_FIRST_RETRY_SECONDS = 0.1
_LAST_RETRY_SECONDS = 10.0


class _Blocked(NamedTuple):
    """A level whose next message cannot be stored; `until` is Trio's time."""

    pause: float
    until: float


class DelayService:
    """How far each delay level has got, and the task that delivers."""

    def __init__(
        self,
        config: BrokerConfig,
        store: MessageStore,
        levels: tuple[int, ...],
        directory: Path,
        clock: Clock,
    ) -> None:
        """`levels` are milliseconds, level 1 first; `directory` is the store's `config` folder."""
        self._store = store
        self._delays = {level: millis for level, millis in enumerate(levels, 1)}
        self._clock = clock
        self._version_step = config.delay_offset_update_version_step
        self._file = TableFile(directory / "delayOffset.json", self._pieces)
        self._offsets: dict[int, int] = {}
        # When the first message of a level is due; levels without messages are not in it.
        self._due: dict[int, int] = {}
        self._blocked: dict[int, _Blocked] = {}
        self._updates = 0
        self._stirred = Wakeup(clock)
        self._changed = Wakeup()
        self.data_version = new_version(clock)
        # Where a message lies that was sent to a topic's queue: the last step before it is put.
        self.place: Callable[[str, int], int] = lambda topic, queue_id: queue_id
        # Told how many messages were delivered.
        self.counted: Callable[[int], None] = lambda count: None

    @property
    def max_level(self) -> int:
        return len(self._delays)

    def progress(self) -> dict[int, int]:
        """The queue offset up to which each level has been delivered."""
        return dict(self._offsets)

    def end(self, level: int) -> int:
        """The queue offset that the level's next message gets."""
        return self._store.max_offset(SCHEDULE_TOPIC, queue_of_level(level))

    # --- files

    def load(self) -> None:
        """Read the progress and clamp it to the queues. Blocks: before the loop runs."""
        loaded = self._file.load_as(DelayOffsetSerializeWrapper)
        if loaded is not None:
            self._offsets.update(loaded.offset_table)
            if loaded.data_version is not None:
                self.data_version = loaded.data_version
        for level in self._delays.keys() & self._offsets.keys():
            self._offsets[level] = self._inside(level, self._offsets[level])
        self._warn_of_others()

    def _warn_of_others(self) -> None:
        for queue_id in self._store.queues(SCHEDULE_TOPIC):
            level = level_of_queue(queue_id)
            lowest = self._store.min_offset(SCHEDULE_TOPIC, queue_id)
            waiting = self.end(level) - max(self._offsets.get(level, 0), lowest)
            if level not in self._delays and waiting > 0:
                log.warning(
                    "messages wait in a delay level that messageDelayLevel does not have, nobody"
                    " gets them: level=%d waiting=%d",
                    level,
                    waiting,
                )

    def encoded(self) -> bytes:
        """The progress as GET_ALL_DELAY_OFFSET sends it to slaves."""
        return encode_body(
            DelayOffsetSerializeWrapper(
                data_version=self.data_version,
                offset_table=dict(sorted(self._offsets.items())),
            )
        )

    async def follow(self, master: DelayOffsetSerializeWrapper) -> None:
        """Take over the master's progress; a slave delivers nothing itself."""
        progress = {int(level): offset for level, offset in master.offset_table.items()}
        if progress.items() <= self._offsets.items():
            return
        self._offsets.update(progress)
        if master.data_version is not None:
            self.data_version = master.data_version
        await self._file.write_in_steps()

    def close(self) -> None:
        """Write the progress and make it durable. Blocks: for the shutdown."""
        self._file.close()

    # --- running

    def arrived(self, messages: list[Dispatched]) -> None:
        """The store's listener: a level that had nothing to do may have something now."""
        for message in messages:
            if message.topic != SCHEDULE_TOPIC:
                continue
            level = level_of_queue(message.queue_id)
            if level in self._delays and level not in self._due:
                self._due[level] = message.tags_code
                self._offsets.setdefault(level, message.queue_offset)
                self._stirred.give()

    async def run(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Deliver until cancelled."""
        now = self._clock.millis()
        for level in self._delays:
            if self._entry(level) is not None:
                self._due[level] = now
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._keep_written)
            task_status.started()
            while True:
                await self._sleep()
                for level in self._levels_due():
                    await self._deliver(level)
                    await trio.lowlevel.checkpoint()

    async def _sleep(self) -> None:
        """Until a level is due, or one begins to wait."""
        seconds = min(map(self._seconds_left, self._due), default=inf)
        if seconds > 0:
            await self._stirred.wait(min(seconds, _CLOCK_CHECK_SECONDS) if self._due else inf)

    def next_due(self, until: int) -> int | None:
        """When the first message of a level is due, in ms since 1970. A level that cannot store its next one waits."""
        return min(
            (at for level, at in self._due.items() if level not in self._blocked), default=None
        )

    def _levels_due(self) -> list[int]:
        return [level for level in self._due if self._seconds_left(level) <= 0]

    def _seconds_left(self, level: int) -> float:
        """Time until the level has to be checked; not positive when that is now."""
        blocked = self._blocked.get(level)
        if blocked is not None:
            return blocked.until - trio.current_time()
        millis = self._due[level] - self._clock.millis()
        # More than the level's delay: the wall clock was set back, and the message is due.
        return 0 if millis > self._delays[level] else millis / 1000

    async def _deliver(self, level: int) -> None:
        """Copy what is due, up to a batch or BYTES_PER_STEP, in order."""
        offset, size = self._offset(level), 0
        batch: list[tuple[int, Message | None]] = []
        while len(batch) < _BATCH:
            entry = self._store.queue_entry(SCHEDULE_TOPIC, queue_of_level(level), offset)
            if entry is None:
                self._due.pop(level, None)
                break
            size += entry.size
            if batch and size > BYTES_PER_STEP:
                break
            due = self._deliver_time(level, entry)
            if due > self._clock.millis():
                self._due[level] = due
                break
            batch.append((offset, await self._message(level, offset, entry)))
            offset += 1
        if batch:
            self._put(level, batch)

    def _put(self, level: int, batch: list[tuple[int, Message | None]]) -> None:
        """Store the copies with one write. From the first one that cannot be stored, they wait."""
        ready, failure = self._stage(batch)
        try:
            self._store.write_staged()
        except StoreError as error:
            ready, failure = 0, error
        if ready:
            self._advance(level, batch[ready - 1][0] + 1, ready)
        if failure is None:
            self._blocked.pop(level, None)
            return
        self._block(level)
        log.warning(
            "delayed message not delivered, its level waits: level=%d offset=%d error=%s",
            level,
            self._offset(level),
            failure,
        )

    def _stage(self, batch: list[tuple[int, Message | None]]) -> tuple[int, StoreError | None]:
        """How many of the batch are staged (or need not be), and what prevented the next one."""
        for ready, (_, message) in enumerate(batch):
            try:
                if message is not None:
                    # Not before: the map of an elastic topic may change while a batch is read.
                    message.queue_id = self.place(message.topic, message.queue_id)
                    self._store.stage(message)
            except StoreError as error:
                return ready, error
        return len(batch), None

    def _block(self, level: int) -> None:
        """Leave the level alone for a while: each time twice as long, up to 10 s."""
        before = self._blocked.get(level)
        pause = _FIRST_RETRY_SECONDS
        if before is not None:
            pause = min(before.pause * 2, _LAST_RETRY_SECONDS)
        self._blocked[level] = _Blocked(pause, trio.current_time() + pause)
        self._due[level] = self._clock.millis()

    def _advance(self, level: int, offset: int, messages: int) -> None:
        self._offsets[level] = offset
        self.counted(messages)
        before = self._updates // self._version_step
        self._updates += messages
        for _ in range(self._updates // self._version_step - before):
            next_version(self.data_version, self._clock)
        self._changed.give()

    # --- what is in the queues

    def _offset(self, level: int) -> int:
        """Where the level continues; messages that were deleted unread are skipped."""
        offset = self._offsets.get(level, 0)
        inside = self._inside(level, offset)
        if inside != offset:
            self._offsets[level] = inside
        return inside

    def _inside(self, level: int, offset: int) -> int:
        queue = queue_of_level(level)
        lowest = self._store.min_offset(SCHEDULE_TOPIC, queue)
        highest = self._store.max_offset(SCHEDULE_TOPIC, queue)
        inside = max(lowest, min(offset, highest))
        if inside != offset:
            log.error(
                "delay progress corrected: level=%d offset=%d to=%d min=%d max=%d",
                level,
                offset,
                inside,
                lowest,
                highest,
            )
        return inside

    def _entry(self, level: int) -> QueueEntry | None:
        return self._store.queue_entry(SCHEDULE_TOPIC, queue_of_level(level), self._offset(level))

    def _deliver_time(self, level: int, entry: QueueEntry) -> int:
        now = self._clock.millis()
        return now if entry.tags_code > now + self._delays[level] else entry.tags_code

    async def _message(self, level: int, offset: int, entry: QueueEntry) -> Message | None:
        """The copy that is delivered, or None when there is nothing to deliver."""
        try:
            try:
                record = record_in_memory(self._store, entry.physical_offset)
            except ColdRecord:
                record = await fetch_record(self._store, entry.physical_offset)
        except NoRecord:
            log.error("delayed message is gone: level=%d offset=%d", level, offset)
            return None
        return _delivered(record)

    # --- keeping the file

    async def _keep_written(self) -> None:
        synced = trio.current_time()
        while True:
            await self._changed.wait(gather=_WRITE_SECONDS)
            self._file.write()
            if trio.current_time() - synced >= _SYNC_SECONDS:
                await self._file.settle()
                synced = trio.current_time()

    def _pieces(self) -> Iterator[bytes]:
        version = encoded_version(self.data_version)
        table = pretty(dict(sorted(self._offsets.items())), 1)
        yield f'{{\n\t"dataVersion":{version},\n\t"offsetTable":{table}\n}}'.encode()


def _delivered(record: Record) -> Message | None:
    """The message as it was sent (ScheduleMessageService.messageTimeUp); None if it cannot be."""
    topic = find_property(record.properties, REAL_TOPIC.encode())
    queue = find_property(record.properties, REAL_QID.encode())
    queue_id = None if queue is None else parse_int(queue.decode(errors="replace"))
    if topic is None or queue_id is None:
        log.error("delayed message does not say where to go: at=%d", record.physical_offset)
        return None
    name = topic.decode(errors="replace")
    if name in (TRANS_HALF_TOPIC, ROCKSDB_TRANS_HALF_TOPIC):
        log.error("half message in a delay level discarded: at=%d", record.physical_offset)
        return None
    if is_brokers_own(name):
        log.error("only the broker writes there: topic=%s at=%d", name, record.physical_offset)
        return None
    return copy_to(name, queue_id, record)
