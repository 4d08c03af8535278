"""Walking over the timer log's records, as recovery does: forwards, and back from an end.

A record counts when its size and magic are right (TimerMessageStore.recoverAndRevise) and it speaks of a
message that can exist. A power loss leaves zeros in place of what was not synced.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from trimq.codec.entries.timer import ALL_MAGIC, RECORD_SIZE, TimerRecord, parse_timer_record
from trimq.codec.records.record import FIXED_SIZE
from trimq.store.timers.log import TimerLog

_PIECE: Final = 1024 * 1024 // RECORD_SIZE * RECORD_SIZE


def is_sound(record: TimerRecord) -> bool:
    return (
        record.size == RECORD_SIZE
        and 0 < record.magic <= ALL_MAGIC
        and record.message_size >= FIXED_SIZE
        and record.write_time > 0
        and record.physical_offset >= 0
    )


class Records:
    """Iterates over positions and records from a record's begin on; `position` is where it stopped."""

    def __init__(self, timer_log: TimerLog, begin: int) -> None:
        self._log = timer_log
        self.position = begin

    def __iter__(self) -> Iterator[tuple[int, TimerRecord]]:
        """Blocks on the disk."""
        timer_log = self._log
        while self._enter():
            last = timer_log.base_of(self.position) + timer_log.last_unit()
            room = last + RECORD_SIZE - self.position
            data = timer_log.read_blocking(self.position, min(_PIECE, room))
            if len(data) < RECORD_SIZE:
                return
            for at in range(0, len(data) // RECORD_SIZE * RECORD_SIZE, RECORD_SIZE):
                record = parse_timer_record(data, at)
                if not is_sound(record):
                    return
                yield self.position, record
                self.position += RECORD_SIZE

    def _enter(self) -> bool:
        """Behind a file's last record is its blank, if there is a next file."""
        timer_log = self._log
        base = timer_log.base_of(self.position)
        following = base + timer_log.file_size
        if self.position > base + timer_log.last_unit():
            if not timer_log.contains(following):
                return False
            self.position = following
        return timer_log.contains(self.position)


def starting_point(timer_log: TimerLog, position: int) -> int:
    """Where to begin reading, to find what was appended after a checkpoint at `position`.

    The position itself, if a record ends there; otherwise the begin of its file, or of the last one.
    """
    if position <= timer_log.begin:
        return timer_log.begin
    before = timer_log.before(position)
    record = timer_log.record(before) if before >= 0 else None
    if record is not None and is_sound(record):
        base = timer_log.base_of(position)
        if position == base or position in (before + RECORD_SIZE, base + timer_log.file_size):
            return position
    last = timer_log.base_of(max(timer_log.written - 1, 0))
    return max(min(timer_log.base_of(position), last), timer_log.begin)


def without_future(timer_log: TimerLog, end: int, log_end: int) -> int:
    """The end without those last records that speak of messages behind the commit log's end (10668).

    Records follow each other as their messages do.
    """
    while (before := timer_log.before(end)) >= 0:
        record = timer_log.record(before)
        if record is None or record.physical_offset + record.message_size <= log_end:
            return end
        end = before
    return end
