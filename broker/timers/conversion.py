"""What is delivered, or goes on the wheel again: a copy of a stored message (TimerMessageStore.convert).

All its properties stay, REAL_TOPIC and REAL_QID too; TIMER_ENQUEUE_MS and TIMER_DEQUEUE_MS are added, and
TIMER_ROLL_TIMES on one that rolls. Flags, body, times and hosts are those of the message.
"""

from __future__ import annotations

import logging
from typing import Final, NamedTuple

from trimq.codec.java.numbers import parse_int
from trimq.codec.records.properties import parse_properties
from trimq.codec.records.property_keys import (
    REAL_QID,
    REAL_TOPIC,
    TIMER_DEL_UNIQKEY,
    TIMER_DEQUEUE_MS,
    TIMER_ENQUEUE_MS,
    TIMER_OUT_MS,
    TIMER_ROLL_TIMES,
    UNIQ_KEY,
)
from trimq.codec.records.record import Record
from trimq.store.messages.message import Message, copy_to
from trimq.store.timers.chain import Due

log = logging.getLogger("trimq.timers")

# TIMER_ENQUEUE_MS of a message that was due before it came to the wheel: Long.MAX_VALUE.
NEVER_ENTERED: Final = 2**63 - 1


class CopyKey(NamedTuple):
    """By which a copy is recognised: no two that are to be stored have the same, unless producers made it so.

    `recalls`: a recall rolls too, and has the UNIQ_KEY and the time of the message that it names.
    """

    unique: str
    recalls: str
    out_ms: str
    topic: str
    queue_id: int
    rolls: str


class Copy:
    """A message on its way out of the wheel. `real_topic` is what it was sent to."""

    __slots__ = ("due", "message", "properties", "real_topic")

    def __init__(
        self, message: Message, properties: dict[str, str], due: Due, real_topic: str
    ) -> None:
        self.message = message
        self.properties = properties
        self.due = due
        self.real_topic = real_topic

    @property
    def key(self) -> CopyKey | None:
        return copy_key(self.message.topic, self.message.queue_id, self.properties)

    def named(self) -> tuple[str, str | None, int]:
        """Topic, key and place, for the log."""
        return self.real_topic, self.properties.get(UNIQ_KEY), self.due.physical_offset


def copy_key(topic: str, queue_id: int, properties: dict[str, str]) -> CopyKey | None:
    """None for a message that nobody could tell from others."""
    unique = properties.get(UNIQ_KEY)
    if unique is None:
        return None
    rolls = properties.get(TIMER_ROLL_TIMES, "")
    recalls, out_ms = properties.get(TIMER_DEL_UNIQKEY, ""), properties.get(TIMER_OUT_MS, "")
    return CopyKey(unique, recalls, out_ms, topic, queue_id, rolls)


def make_copy(record: Record, due: Due, now: int) -> Copy | None:
    """None when there is nothing to deliver: a recall that no longer recalls, or no topic to go to.

    Both are logged as what they are, or not at all.
    """
    properties = parse_properties(record.properties)
    real_topic = properties.get(REAL_TOPIC, "")
    topic, queue_id = record.topic, record.queue_id
    if due.rolls:
        times = parse_int(properties.get(TIMER_ROLL_TIMES, "0")) or 0
        properties[TIMER_ROLL_TIMES] = str(times + 1)
    else:
        if TIMER_DEL_UNIQKEY in properties:
            return None
        found = parse_int(properties.get(REAL_QID, ""))
        if not real_topic or found is None:
            log.error("timer message does not say where to go: at=%d", record.physical_offset)
            return None
        topic, queue_id = real_topic, found
    properties[TIMER_ENQUEUE_MS] = str(due.write_time)
    properties[TIMER_DEQUEUE_MS] = str(now)
    return Copy(copy_to(topic, queue_id, record), properties, due, real_topic)


def delete_key(properties: dict[str, str], with_topic: bool) -> str | None:
    """By which a recall names this message (TimerMessageStore.buildDeleteKey)."""
    unique = properties.get(UNIQ_KEY)
    if unique is None or not with_topic:
        return unique
    return f"{properties.get(REAL_TOPIC)}+{unique}"
