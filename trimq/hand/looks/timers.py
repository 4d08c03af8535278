"""What waits for its time: timer messages, on the wheel or on their way to it, and messages of delay levels."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import trio

from trimq.broker.delivery.level_queues import queue_of_level
from trimq.broker.records import fetch_buffers, sound_record
from trimq.broker.timers.conversion import delete_key
from trimq.broker.timers.service import WheelTimers
from trimq.codec.java.numbers import parse_long
from trimq.codec.names import SCHEDULE_TOPIC, TIMER_TOPIC, is_brokers_own
from trimq.codec.records.message_id import offset_message_id
from trimq.codec.records.properties import parse_properties
from trimq.codec.records.property_keys import (
    KEYS,
    REAL_TOPIC,
    TIMER_DEL_UNIQKEY,
    TIMER_OUT_MS,
    UNIQ_KEY,
)
from trimq.codec.records.record import Record
from trimq.hand.looks.answers import PendingTimer
from trimq.hand.looks.waiting import until
from trimq.hand.operation import HandError, Nothing, Operation
from trimq.store.message_store import MessageStore

if TYPE_CHECKING:
    from trimq.hand.hand import Hand

_MOST: Final = 100_000
_MOST_BYTES: Final = 256 << 20
# A slot that is being taken out is done within some steps.
_TAKING_SECONDS: Final = 2.0


class Waiting(NamedTuple):
    """A record that waits, before anybody has read it. `due_millis` is -1 where the record says it itself."""

    position: int
    due_millis: int
    level: int | None


def operations(hand: Hand) -> list[Operation[Any]]:
    return [
        Operation(
            "looks/pending_timers",
            Nothing,
            partial(_pending_timers, hand),
            "Messages that wait for their time, the first one due first: timer messages, and those of delay levels,"
            " retries among them. What was recalled is not in it.",
        )
    ]


async def _pending_timers(hand: Hand, _: Nothing) -> list[PendingTimer]:
    found = [*of_levels(hand)]
    timers = hand.broker.common.features.timers
    if timers is not None:
        await until(lambda: not timers.files.is_taking, _TAKING_SECONDS)
        found += [one async for one in _of_wheel(hand.context.store, timers)]
    if len(found) > _MOST:
        raise HandError(f"{len(found)} messages wait for their time: more than one answer may have")
    pending = await _read(hand, found)
    return sorted(pending, key=lambda one: one.due_millis)


def of_levels(hand: Hand) -> Iterator[Waiting]:
    """What delay levels have not delivered."""
    delays, store = hand.broker.common.features.delays, hand.context.store
    progress = delays.progress()
    for level in range(1, delays.max_level + 1):
        queue_id = queue_of_level(level)
        low, high = store.bounds(SCHEDULE_TOPIC, queue_id)
        for offset in range(max(low, progress.get(level, 0), 0), high):
            entry = store.queue_entry(SCHEDULE_TOPIC, queue_id, offset)
            if entry is not None:
                yield Waiting(entry.physical_offset, entry.tags_code, level)


async def _of_wheel(store: MessageStore, timers: WheelTimers) -> AsyncIterator[Waiting]:
    """What is in the slots, recalls among them, and what the wheel has not read yet."""
    files = timers.files
    if files.is_used:
        files.log.write()
        time, end = files.read_time, files.read_time + files.wheel.slots * files.precision
        while time < end:
            time, found = files.wheel.pass_empty(time, end)
            if found:
                for position in await _slot(timers, time):
                    yield Waiting(position, -1, None)
                time += files.precision
            await trio.lowlevel.checkpoint()
    for offset in range(files.queue_offset, store.max_offset(TIMER_TOPIC, 0)):
        entry = store.queue_entry(TIMER_TOPIC, 0, offset)
        if entry is not None:
            yield Waiting(entry.physical_offset, -1, None)


async def _slot(timers: WheelTimers, time: int) -> list[int]:
    """Where the records of one slot are in the commit log."""
    chain = timers.files.chain(time)
    while not chain.done:
        start, size = chain.wanted()
        data = timers.files.log.read_now(start, size)
        if data is None:
            data = await trio.to_thread.run_sync(timers.files.log.read_blocking, start, size)
        chain.take(start, data)
    return [
        found.at(index).physical_offset
        for found in (chain.deletes, chain.others)
        for index in range(len(found))
    ]


async def _read(hand: Hand, waiting: list[Waiting]) -> list[PendingTimer]:
    """Those that clients have sent and nobody has recalled."""
    by_position = {one.position: one for one in waiting}
    found: list[tuple[PendingTimer, str | None]] = []
    recalled: set[str] = set()
    settings = hand.context.plan.store
    appends_topic, precision = (
        settings.append_topic_for_timer_delete_key,
        settings.timer_precision_ms,
    )
    for data in await fetch_buffers(hand.context.store, [*by_position], _MOST_BYTES):
        record = sound_record(bytes(data))
        if record is None:
            continue
        properties = parse_properties(record.properties)
        if TIMER_DEL_UNIQKEY in properties:
            recalled.add(properties[TIMER_DEL_UNIQKEY])
        # POP's own records wait on the wheel, too.
        elif not is_brokers_own(properties.get(REAL_TOPIC, "")):
            one = _pending(record, properties, by_position[record.physical_offset], precision)
            found.append((one, delete_key(properties, appends_topic)))
    return [one for one, key in found if one.level is not None or key not in recalled]


def _pending(
    record: Record, properties: dict[str, str], waiting: Waiting, precision: int
) -> PendingTimer:
    due = waiting.due_millis
    if waiting.level is None:
        # A slot is delivered when the next one begins.
        due = (parse_long(properties.get(TIMER_OUT_MS, "")) or 0) + precision
    own_id = offset_message_id(record.store_host, record.physical_offset)
    return PendingTimer(
        topic=properties.get(REAL_TOPIC, ""),
        due_millis=due,
        id=properties.get(UNIQ_KEY) or own_id,
        level=waiting.level,
        keys=properties.get(KEYS),
    )
