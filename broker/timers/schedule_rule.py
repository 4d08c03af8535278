"""What becomes of a message with a time of delivery when it is put (HookUtils.handleScheduleMessage).

The first of TIMER_DELAY_SEC, TIMER_DELAY_MS and TIMER_DELIVER_MS counts. Whoever calls this has seen that
the message has no delay level, which would beat them all.

Hot: compiled by mypyc when a compiler is there.
"""

import random
from collections.abc import Mapping
from enum import Enum
from typing import Final

from trimq.base.clock import Clock
from trimq.broker.timers.interface import Timers
from trimq.codec.java.numbers import as_long, parse_long
from trimq.codec.names import TIMER_TOPIC
from trimq.codec.records.property_keys import (
    REAL_QID,
    REAL_TOPIC,
    TIMER_DEL_UNIQKEY,
    TIMER_DELAY_MS,
    TIMER_DELAY_SEC,
    TIMER_DELIVER_MS,
    TIMER_DEQUEUE_MS,
    TIMER_ENQUEUE_MS,
    TIMER_OUT_MS,
    TIMER_ROLL_TIMES,
)
from trimq.codec.records.record import LONGEST_PROPERTIES
from trimq.store.config import StoreConfig
from trimq.store.messages.message import Message

# No slot has more messages: their number is an int. It is the default of timerCongestNumEachSlot.
_MOST_IN_SLOT: Final = 2**31 - 1
# The first that a message has counts.
TIMER_KEYS: Final = (TIMER_DELAY_SEC, TIMER_DELAY_MS, TIMER_DELIVER_MS)
# Digits of Long.MAX_VALUE, which TIMER_ENQUEUE_MS may be, and of a count that is an int.
_LONG_DIGITS: Final = 19
_INT_DIGITS: Final = 10
# What delivering adds to a property block, and rolling before it: each with its two separators.
_ADDED_LATER: Final = (
    sum(len(key) + 2 + _LONG_DIGITS for key in (TIMER_ENQUEUE_MS, TIMER_DEQUEUE_MS))
    + len(TIMER_ROLL_TIMES)
    + 2
    + _INT_DIGITS
)
# A block of more bytes could be stored, but never be delivered.
LONGEST_TO_WAIT: Final = LONGEST_PROPERTIES - _ADDED_LATER


class TimerVerdict(Enum):
    """How a put goes on; the refusals have their names in PutMessageStatus."""

    ORDINARY = "no timer message, or due already: it is stored as it is"
    WAITS = "its topic and queue are those of the wheel now"
    MSG_ILLEGAL = "WHEEL_TIMER_MSG_ILLEGAL"
    FLOW_CONTROL = "WHEEL_TIMER_FLOW_CONTROL"
    NOT_ENABLE = "WHEEL_TIMER_NOT_ENABLE"


class TimerRule:
    """Sends a message to the wheel, or says why it may not wait there."""

    def __init__(self, config: StoreConfig, clock: Clock, timers: Timers | None) -> None:
        """`timers` is None where nobody delivers: then it is as with timerWheelEnable=false."""
        self._config = config
        self._clock = clock
        self._timers = timers

    def apply(self, message: Message, properties: dict[str, str]) -> TimerVerdict:
        """Changes topic, queue and properties of a message that has to wait, and only of such a one."""
        if (
            message.topic == TIMER_TOPIC
            or TIMER_OUT_MS in properties
            or not any(key in properties for key in TIMER_KEYS)
        ):
            return TimerVerdict.ORDINARY
        if self._timers is None or not self._config.timer_wheel_enable:
            return TimerVerdict.NOT_ENABLE
        now = self._clock.millis()
        deliver_ms = deliver_time(properties, now)
        if deliver_ms is None:
            return TimerVerdict.MSG_ILLEGAL
        verdict = self.judge(deliver_ms, now)
        if verdict is TimerVerdict.ORDINARY and TIMER_DEL_UNIQKEY in properties:
            # To recall a message that is due is too late.
            return TimerVerdict.MSG_ILLEGAL
        if verdict is TimerVerdict.WAITS:
            properties[TIMER_OUT_MS] = str(self.slot_of(deliver_ms))
            properties[REAL_TOPIC] = message.topic
            properties[REAL_QID] = str(message.queue_id)
            message.topic = TIMER_TOPIC
            message.queue_id = 0
        return verdict

    def judge(self, deliver_ms: int, now: int) -> TimerVerdict:
        """What becomes of a message that is to be delivered at this time."""
        timers = self._timers
        if timers is None or not self._config.timer_wheel_enable:
            return TimerVerdict.NOT_ENABLE
        if deliver_ms <= now:
            return TimerVerdict.ORDINARY
        if deliver_ms - now > self._config.timer_max_delay_sec * 1000:
            return TimerVerdict.MSG_ILLEGAL
        if self._config.timer_congest_num_each_slot < _MOST_IN_SLOT and self._is_too_full(
            timers.waiting_at(self.slot_of(deliver_ms))
        ):
            return TimerVerdict.FLOW_CONTROL
        return TimerVerdict.WAITS

    def slot_of(self, deliver_ms: int) -> int:
        """The TIMER_OUT_MS of a message that waits for this time."""
        return slot_time(deliver_ms, self._config.timer_precision_ms)

    def _is_too_full(self, waiting: int) -> bool:
        """TimerMessageStore.isReject: between the limit and twice the limit some are let in.

        The share of those grows with the number that waits, as it does there.
        """
        limit = self._config.timer_congest_num_each_slot
        if waiting <= limit:
            return False
        if waiting >= 2 * limit:
            return True
        return random.randrange(1000) > 1000 * (waiting - limit) / (limit + 0.1)


def deliver_time(properties: Mapping[str, str], now: int) -> int | None:
    """When the message is to be delivered, in milliseconds since 1970; None: the text is no number.

    A sum that is too large becomes a time in the past, as Java's long does.
    """
    if TIMER_DELAY_SEC in properties:
        seconds = parse_long(properties[TIMER_DELAY_SEC])
        return None if seconds is None else as_long(now + as_long(seconds * 1000))
    if TIMER_DELAY_MS in properties:
        millis = parse_long(properties[TIMER_DELAY_MS])
        return None if millis is None else as_long(now + millis)
    return parse_long(properties[TIMER_DELIVER_MS])


def slot_time(deliver_ms: int, precision_ms: int) -> int:
    """The last whole slot before this time: a slot is taken out when the next one begins."""
    return (deliver_ms - 1) // precision_ms * precision_ms
