"""What runtime info says about timer messages, as texts (AdminBrokerProcessor.prepareRuntimeInfo)."""

from trimq.broker.timers.interface import Timers
from trimq.store.config import StoreConfig


class TimerFigures:
    """Zeros while no message is accepted for the wheel, as the real broker has it."""

    def __init__(self, config: StoreConfig, timers: Timers | None) -> None:
        self._config = config
        self._timers = timers

    def texts(self) -> dict[str, str]:
        """By the keys of runtime info."""
        timers = self._timers if self._config.timer_wheel_enable else None
        behind = unread = waiting = 0
        enqueued = dequeued = 0.0
        if timers is not None:
            behind, unread, waiting = timers.seconds_behind(), timers.unread(), timers.waiting()
            enqueued, dequeued = timers.enqueued_per_second(), timers.dequeued_per_second()
        return {
            "timerReadBehind": str(behind),
            "timerOffsetBehind": str(unread),
            "timerCongestNum": str(waiting),
            "timerEnqueueTps": str(round(enqueued, 2)),
            "timerDequeueTps": str(round(dequeued, 2)),
        }
