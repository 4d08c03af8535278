"""Timer messages (TimerMessageStore): on the wheel, or stored and not yet on it."""

from trimq.broker.pending.taken_over import Found, Kind, TakenOver


def count(taken: TakenOver) -> Found:
    wheel = taken.wheel
    return Found(len(wheel.timers) + wheel.unread, at_most=wheel.unread > 0)


TIMERS = Kind(
    "timer message that waits for its time", "timer messages that wait for their time", count
)
