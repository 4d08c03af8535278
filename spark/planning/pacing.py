"""When a stream's next batch is worthwhile: `minOffsetsPerTrigger` and `maxTriggerDelay`.

Spark hands a Python source its ReadMinRows back and leaves it to the source to wait, so the options are enough.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from trimq.spark.options.values import Triggers


class Pacing:
    """Says whether to wait for more messages. A query's first batch, even after a restart, never waits."""

    def __init__(self, triggers: Triggers, now: Callable[[], float] = time.monotonic) -> None:
        self._triggers = triggers
        self._now = now
        self._last: float | None = None

    def holds(self, waiting: int, begins: bool = False) -> bool:
        """Whether that many messages are too few for a batch now. If not, a batch begins now.

        `begins`: queues are new or start again, which is said once and not on every look.
        """
        now, least = self._now(), self._triggers.least
        recent = self._last is not None and now - self._last < self._triggers.delay
        if least is not None and waiting < least and recent and not begins:
            return True
        self._last = now
        return False
