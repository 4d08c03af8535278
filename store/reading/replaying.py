"""Applying an effect to records that are in the log already: at start, and for one queue."""

from __future__ import annotations

from typing import Final

from trimq.codec.errors import CodecError
from trimq.codec.records.bodiless import HEAD_SIZE, body_extent, parse_bodiless
from trimq.codec.records.record import Record, parse_record
from trimq.store.errors import StoreError
from trimq.store.log.commit_log import CommitLog
from trimq.store.messages.effects import Effect
from trimq.store.messages.failures import Failures
from trimq.store.messages.message import Dispatched, Message, copy_to
from trimq.store.queues.queue import Queue

# A smaller record is read with its body, since one read costs less than two.
_SMALL: Final = 16 * 1024


def replay(log: CommitLog, queue: Queue, begin: int, effect: Effect, bodies: bool) -> int:
    """Apply the effect to the queue's records from `begin` on, in order; where the queue ends. Blocks.

    Records that are gone or damaged, or whose effect fails, are left out. Without `bodies` those of large
    records are not read, and the message has an empty one.
    """
    end, failures = queue.max_offset, Failures()
    for offset in range(max(begin, queue.min_offset), end):
        entry = queue.entry(offset)
        if entry is None:
            continue
        record = _record(log, entry.physical_offset, entry.size, bodies)
        if record is None:
            continue
        found = _dispatched(record, queue.tags_code(entry.tags_code))
        _apply(effect, found, message_of(record), failures)
    return end


def apply_effect(log: CommitLog, effect: Effect, record: Dispatched, failures: Failures) -> None:
    """Apply it to a record that has just come to the log. Blocks, if that is not in the page cache any more."""
    found = _record(log, record.physical_offset, record.size, bodies=True)
    if found is not None:
        _apply(effect, record, message_of(found), failures)


def _apply(effect: Effect, record: Dispatched, message: Message, failures: Failures) -> None:
    """StoreError: of the disk, for whoever reads to try again."""
    try:
        effect(record, message)
    except StoreError:
        raise
    except Exception as error:
        failures.of_effect(record, error)


def _record(log: CommitLog, position: int, size: int, bodies: bool) -> Record | None:
    try:
        if bodies or size <= _SMALL:
            data = log.read(position, size)
            record = None if data is None else parse_record(data, check_crc=False)
        else:
            record = _bodiless(log, position, size)
    except CodecError:
        return None
    return record if record is not None and record.physical_offset == position else None


def _bodiless(log: CommitLog, position: int, size: int) -> Record | None:
    head = log.read(position, HEAD_SIZE)
    if head is None:
        return None
    _, end = body_extent(head)
    if end > size:
        raise CodecError(f"the body of the record at {position} ends at {end} of {size}")
    tail = log.read(position + end, size - end)
    return None if tail is None else parse_bodiless(head, tail)


def message_of(record: Record) -> Message:
    """The message that a record was made of."""
    message = copy_to(record.topic, record.queue_id, record)
    message.prepared_transaction_offset = record.prepared_transaction_offset
    return message


def _dispatched(record: Record, tags_code: int) -> Dispatched:
    return Dispatched(
        record.topic,
        record.queue_id,
        record.queue_offset,
        record.physical_offset,
        record.total_size,
        tags_code,
        record.store_timestamp,
        record.sys_flag,
        record.properties,
    )
