"""Blocks of ordered consumption that open because the time of their messages is up.

A queue is looked at when its block opens as it stands now, or before; what opens later is looked at again. Nothing
runs while no block is open to time.
"""

from collections.abc import Callable
from heapq import heappop, heappush
from math import inf
from typing import Final

from trimq.base.clock import Clock
from trimq.base.waits import Wakeup
from trimq.broker.pop.order.rules import OrderedBlocks, OrderedQueue
from trimq.broker.steps import Pace
from trimq.broker.tables.spread_dict import SpreadDict

_CLOCK_CHECK_SECONDS: Final = 1.0


class BlockTimeouts:
    """`opened` is called with each queue whose block has opened by time."""

    def __init__(
        self, batches: OrderedBlocks, opened: Callable[[OrderedQueue], None], clock: Clock
    ) -> None:
        self._batches = batches
        self._opened = opened
        self.clock = clock
        # When to look at a queue, at most once for each.
        self._due: list[tuple[int, OrderedQueue]] = []
        self._looked_at = clock.millis()
        self._due_of: SpreadDict[OrderedQueue, int] = SpreadDict()
        self._sooner = Wakeup(clock)

    def watch(self, queue: OrderedQueue) -> None:
        """Its block has changed."""
        at = self._batches.free_at(queue)
        known = self._due_of.get(queue)
        if at is not None and (known is None or at < known):
            self._due_of[queue] = at
            heappush(self._due, (at, queue))
            if self._due[0][1] == queue:
                self._sooner.give()

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            left = inf
            if self._due:
                # The clock may be set while this sleeps.
                left = max(0, self._due[0][0] - self.clock.millis()) / 1000
                left = min(left, _CLOCK_CHECK_SECONDS)
            await self._sooner.wait(left)
            await self.release()

    def next_due(self) -> int | None:
        """When the first block opens by time, in milliseconds since 1970; None: none will."""
        return self._due[0][0] if self._due else None

    async def release(self) -> None:
        """Look at the queues whose time has come: all that were popped together may open together."""
        now, pace = self.clock.millis(), Pace()
        if now < self._looked_at:
            self._look_again()
        self._looked_at = now
        while self._due and self._due[0][0] <= now:
            await pace.keep()
            at, queue = heappop(self._due)
            if self._due_of.get(queue) != at:
                continue
            self._due_of.pop(queue)
            if self._batches.free_at(queue) is None:
                self._opened(queue)
            else:
                self.watch(queue)

    def _look_again(self) -> None:
        """The clock was set back: blocks open sooner than they would have."""
        queues = list(self._due_of)
        self._due.clear()
        self._due_of.clear()
        for queue in queues:
            at = self._batches.free_at(queue) or self.clock.millis()
            self._due_of[queue] = at
            heappush(self._due, (at, queue))
