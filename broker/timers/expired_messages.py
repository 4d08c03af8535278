"""Timer messages that are deleted before their time, with the commit-log file that they lie in.

A message waits in the commit log, and rolls from file to file well within `fileReservedTime`; but a full disk
has files deleted whatever their age, and while `timerStopDequeue` is set nothing rolls. Then each message that
is lost is logged by topic and key, before its file goes.
"""

from __future__ import annotations

import logging
from collections import Counter
from typing import Final

import trio

from trimq.broker.steps import BYTES_PER_STEP
from trimq.broker.timers.enqueue import TimerEnqueue
from trimq.broker.timers.queue_positions import first_behind
from trimq.codec.errors import CodecError
from trimq.codec.java.numbers import parse_long
from trimq.codec.names import TIMER_TOPIC
from trimq.codec.records.properties import parse_properties
from trimq.codec.records.property_keys import (
    REAL_TOPIC,
    TIMER_DEL_UNIQKEY,
    TIMER_OUT_MS,
    UNIQ_KEY,
)
from trimq.codec.records.record import Record, parse_record
from trimq.store.log.held_read import HeldRead
from trimq.store.log.segment import Segment
from trimq.store.message_store import MessageStore
from trimq.store.timers.rolling import next_stop
from trimq.store.timers.timer_store import TimerStore

log = logging.getLogger("trimq.timers")

_BATCH: Final = 64
# So many of a file are logged one by one.
_MOST_LOGGED: Final = 1000


class ExpiredMessages:
    """Looks at commit-log files that are about to be deleted."""

    def __init__(self, store: MessageStore, timers: TimerStore, enqueue: TimerEnqueue) -> None:
        self._store = store
        self._timers = timers
        self._enqueue = enqueue
        self.lost = 0
        """Messages deleted before their time since the start."""

    async def look_at(self, segment: Segment) -> None:
        """A file that the log has let go of, and that still exists. StoreError: it cannot be read."""
        if self._timers.wheel.waiting <= 0 and not self._enqueue.unread:
            return
        lost: Counter[str] = Counter()
        offset = first_behind(self._store, segment.base)
        while pieces := self._pieces(segment, offset):
            held = HeldRead(pieces)
            try:
                buffers = await trio.to_thread.run_sync(held.read)
            finally:
                held.release()
            for at, data in enumerate(buffers):
                topic = self._topic_if_lost(bytes(data), offset + at, lost.total())
                if topic is not None:
                    lost[topic] += 1
            offset += len(pieces)
        self.lost += lost.total()
        for topic, count in lost.items():
            log.error(
                "timer messages deleted before their time: topic=%s count=%d path=%s",
                topic,
                count,
                segment.path,
            )

    def _pieces(self, segment: Segment, offset: int) -> list[tuple[Segment, int, int]]:
        """The next timer messages in the file: file, position, bytes."""
        end, size = self._store.min_physical_offset, 0
        pieces: list[tuple[Segment, int, int]] = []
        for at in range(offset, offset + _BATCH):
            entry = self._store.queue_entry(TIMER_TOPIC, 0, at)
            if entry is None or not segment.base <= entry.physical_offset < end:
                break
            size += entry.size
            if pieces and size > BYTES_PER_STEP:
                break
            pieces.append((segment, entry.physical_offset - segment.base, entry.size))
        return pieces

    def _topic_if_lost(self, data: bytes, queue_offset: int, already: int) -> str | None:
        try:
            record = parse_record(data, check_crc=False)
        except CodecError:
            return None
        properties = parse_properties(record.properties)
        if TIMER_DEL_UNIQKEY in properties or not self._waits(record, properties, queue_offset):
            return None
        topic = properties.get(REAL_TOPIC, "")
        if already < _MOST_LOGGED:
            log.warning(
                "timer message deleted before its time: topic=%s key=%s due=%s",
                topic,
                properties.get(UNIQ_KEY),
                properties.get(TIMER_OUT_MS),
            )
        return topic

    def _waits(self, record: Record, properties: dict[str, str], queue_offset: int) -> bool:
        """One that has rolled on is in the queue again, behind this."""
        timers = self._timers
        if queue_offset >= timers.queue_offset:
            return True
        out_ms = parse_long(properties.get(TIMER_OUT_MS, ""))
        if out_ms is None:
            return False
        write_time = record.store_timestamp - record.store_timestamp % timers.precision
        stop = next_stop(out_ms, write_time, self._enqueue.window, timers.precision)
        return stop >= timers.read_time
