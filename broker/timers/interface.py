"""What a put and the answers about timers need of the wheel; nothing else of it is known there.

Whoever feeds the wheel and delivers from it implements this (TimerMessageStore). All of it is asked on the
loop and answered from memory.

A broker that is started with timerWheelEnable=false has no such thing (None). Set to false while it runs,
it only keeps further messages from the wheel (`schedule_rule.py`): what waits is delivered, as there.
"""

from typing import Protocol


class Timers(Protocol):
    """The messages that wait for their time."""

    def waiting_at(self, out_ms: int) -> int:
        """How many are in the slot of this time (TimerWheel.getNum).

        `out_ms` is a TIMER_OUT_MS: milliseconds, a multiple of timerPrecisionMs.
        """
        ...

    def waiting(self) -> int:
        """How many are on the wheel and were not taken out (timerCongestNum)."""
        ...

    def unread(self) -> int:
        """Messages of rmq_sys_wheel_timer that are not on the wheel yet (timerOffsetBehind)."""
        ...

    def seconds_behind(self) -> int:
        """How far the slot to be taken out next lies in the past (timerReadBehind)."""
        ...

    def enqueued_per_second(self) -> float:
        """Messages put on the wheel lately (timerEnqueueTps)."""
        ...

    def dequeued_per_second(self) -> float:
        """Messages delivered lately (timerDequeueTps)."""
        ...

    def checkpoint(self) -> bytes:
        """The state as GET_TIMER_CHECK_POINT sends it: the 56 bytes of config/timercheck."""
        ...

    def metrics(self) -> bytes:
        """The counts by topic as GET_TIMER_METRICS sends them: compact JSON (TimerMetrics.encode)."""
        ...

    def forget_topic(self, topic: str) -> None:
        """The topic was deleted: so is its count (TimerMetrics.removeTimingCount)."""
        ...
