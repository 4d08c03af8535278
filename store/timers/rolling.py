"""Where a timer message waits that must not wait in one place until its time, and how long in each.

A message is written anew (it rolls) at every stop of its way, so that its commit-log file is not deleted before it
is delivered.

Hot: compiled by mypyc when a compiler is there.
"""

from trimq.store.timers.recovery import BLANK_SLOTS
from trimq.store.timers.wheel import SLOTS


def next_stop(out_ms: int, write_time: int, window: int, precision: int) -> int:
    """Where a message waits first: at its time, or a stop of its way there (TimerMessageStore.doEnqueue).

    The last stop is not just before its time.
    """
    whole = window * precision
    left = out_ms - write_time - whole
    if left < 0:
        return out_ms
    if left < window // 3 * precision:
        return write_time + window // 2 * precision
    return write_time + whole


def longest_window(wanted: int, reserved_hours: int, precision: int, slots: int = SLOTS) -> int:
    """timerRollWindowSlot in units, at most what the wheel has room for and half of fileReservedTime.

    A message that waits in one place for longer than its file is kept would be lost.
    """
    most = slots // 2 - BLANK_SLOTS
    if not 2 <= wanted <= most:
        wanted = most
    half = reserved_hours * 3_600_000 // precision // 2
    return min(wanted, max(half, BLANK_SLOTS))
