"""Storing copies, until they are stored.

What the whole store refuses now (a full disk, a failed write) is tried again in place: nothing else could
be stored either. What only one message's queue refuses goes back to the wheel for some seconds, alone.
What no put may ever store, as its topic has changed, is given up and logged, as by RocketMQ.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Final, Protocol

import trio

from trimq.base.clock import Clock
from trimq.broker.records import load_cold
from trimq.broker.timers.conversion import NEVER_ENTERED, Copy, delete_key, make_copy
from trimq.broker.timers.delivered_copies import DeliveredCopies
from trimq.broker.timers.metrics import TimerMetrics
from trimq.codec.entries.timer import MAGIC_DELETE
from trimq.codec.errors import CodecError
from trimq.codec.java.hashes import string_hash
from trimq.codec.records.properties import parse_properties
from trimq.codec.records.property_keys import REAL_TOPIC, TIMER_DEL_UNIQKEY
from trimq.codec.records.record import Record, parse_record
from trimq.remoting.log_throttle import LogThrottle
from trimq.store.config import StoreConfig
from trimq.store.errors import DiskFull, MessagesGone, StoreError, StoreNotWritable
from trimq.store.message_store import MessageStore
from trimq.store.messages.message import Message
from trimq.store.timers.chain import Due
from trimq.store.timers.timer_store import TimerStore

log = logging.getLogger("trimq.timers")

_FIRST_PAUSE: Final = 0.1
_LONGEST_PAUSE: Final = 10.0
# A message that only its own queue refuses is tried again so much later.
PUT_OFF_MILLIS: Final = 5_000


class Puts(Protocol):
    """The way of everything that is put, by the rules of a put."""

    def stage(self, message: Message, properties: dict[str, str]) -> str | None:
        """None: it is staged. Otherwise why it may never be stored. StoreError: not now."""
        ...


class CopyWriter:
    """Makes copies of messages and stores them: those of a slot, and those that were due at once."""

    def __init__(
        self,
        config: StoreConfig,
        store: MessageStore,
        timers: TimerStore,
        puts: Puts,
        metrics: TimerMetrics,
        clock: Clock,
    ) -> None:
        self._config = config
        self._store = store
        self._timers = timers
        self._puts = puts
        self._metrics = metrics
        self._clock = clock
        self._throttle = LogThrottle()
        self.out = DeliveredCopies()
        self.stored = 0
        """Copies stored since the start."""
        self.gone = 0
        """Messages whose bodies were deleted before their time."""
        self.given_up = 0
        """Messages that no put may ever store."""

    # --- reading

    async def fetch(self, batch: Sequence[Due]) -> list[Record | None]:
        """The messages; None for one that is no longer in the log."""
        while True:
            low, high = self._store.min_physical_offset, self._store.max_physical_offset
            extents = [
                (due.physical_offset, due.size)
                for due in batch
                if low <= due.physical_offset <= high - due.size
            ]
            try:
                buffers = self._store.load(extents)
                if buffers is None:
                    buffers = await load_cold(self._store, extents)
            except MessagesGone:
                # Deleted in the meantime.
                continue
            found = dict(zip(extents, buffers, strict=True))
            return [_record(found.get((due.physical_offset, due.size)), due) for due in batch]

    async def deletes(self, batch: Sequence[Due]) -> set[str]:
        """Which messages these records recall."""
        keys = set()
        for record in await self.fetch(batch):
            if record is None:
                continue
            properties = parse_properties(record.properties)
            key = properties.get(TIMER_DEL_UNIQKEY)
            if key is not None:
                self._metrics.add(properties.get(REAL_TOPIC, ""), 1)
                keys.add(key)
        return keys

    # --- storing

    async def put(
        self, batch: Sequence[Due], recalled: set[str] | frozenset[str] = frozenset()
    ) -> None:
        """Deliver these, in this order, and return when all are stored or need not be."""
        copies = []
        for due, record in zip(batch, await self.fetch(batch), strict=True):
            copy = self._copy(due, record, recalled)
            if copy is not None:
                copies.append(copy)
        pause = _FIRST_PAUSE
        while copies:
            stored, error = self._put_now(copies)
            copies = copies[stored:]
            if error is not None and copies:
                log.warning(
                    "timer message not delivered, trying again: topic=%s key=%s at=%d error=%s",
                    *copies[0].named(),
                    error,
                )
                await trio.sleep(pause)
                pause = min(pause * 2, _LONGEST_PAUSE) if not stored else _FIRST_PAUSE

    def _copy(
        self, due: Due, record: Record | None, recalled: set[str] | frozenset[str]
    ) -> Copy | None:
        if self._timers.is_put_off(due.physical_offset):
            return None
        if record is None:
            self.gone += 1
            log.error("timer message is gone before its time: at=%d", due.physical_offset)
            return None
        now = self._clock.millis()
        copy = make_copy(record, due, now)
        if copy is None:
            return None
        if (
            recalled
            and delete_key(copy.properties, self._config.append_topic_for_timer_delete_key)
            in recalled
        ):
            self._metrics.add(copy.real_topic, -1)
            return None
        if self.out.take(copy.key):
            self._leaves(copy)
            return None
        return copy

    def _put_now(self, copies: list[Copy]) -> tuple[int, StoreError | None]:
        """One write: how many are done, and what prevents the next one."""
        ready = 0
        error: StoreError | None = None
        staged: list[Copy] = []
        for copy in copies:
            try:
                refusal = self._puts.stage(copy.message, copy.properties)
            except (StoreNotWritable, DiskFull) as failure:
                error = failure
                break
            except StoreError as failure:
                if not self._put_off(copy, failure):
                    error = failure
                    break
            else:
                if refusal is None:
                    staged.append(copy)
                else:
                    self._give_up(copy, refusal)
            ready += 1
        try:
            self._store.write_staged()
        except StoreError as failure:
            # The others were put off or given up already: only these are tried again.
            copies[:ready] = staged
            return 0, failure
        for copy in staged:
            self._leaves(copy)
        self.stored += len(staged)
        return ready, error

    def _leaves(self, copy: Copy) -> None:
        # One that was due at once was never counted; a recall that rolls on was counted the other way.
        if copy.due.write_time != NEVER_ENTERED:
            self._metrics.add(copy.real_topic, 1 if copy.due.magic & MAGIC_DELETE else -1)

    def _give_up(self, copy: Copy, why: str) -> None:
        self.given_up += 1
        self._leaves(copy)
        log.error(
            "timer message given up, it may not be stored: topic=%s key=%s at=%d reason=%s",
            *copy.named(),
            why,
        )

    def _put_off(self, copy: Copy, why: StoreError) -> bool:
        """Back to the wheel, without a new record in the commit log; False if that is not possible now."""
        due = copy.due
        until = self._clock.millis() + PUT_OFF_MILLIS
        of_queue = due.write_time == NEVER_ENTERED
        put_off = self._timers.put_off(due, string_hash(copy.real_topic), until, of_queue=of_queue)
        if put_off and of_queue:
            self._metrics.add(copy.real_topic, 1)
        if put_off and self._throttle.times(copy.real_topic):
            log.warning("timer message put off: topic=%s key=%s at=%d error=%s", *copy.named(), why)
        return put_off


def _record(data: bytes | bytearray | None, due: Due) -> Record | None:
    if data is None:
        return None
    try:
        record = parse_record(bytes(data), check_crc=False)
    except CodecError:
        return None
    sound = record.physical_offset == due.physical_offset and record.total_size == due.size
    return record if sound else None
