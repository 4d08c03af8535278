"""Long answers of one connection: one after the other, each in steps, in turn with those of all others."""

from collections.abc import Callable
from typing import Final, TypeVar

import trio

from trimq.base.step_queue import StepQueue, Steps
from trimq.remoting.memory_budget import Share
from trimq.remoting.serving.receiving import Receiving
from trimq.remoting.wire.outbox import Outbox

T = TypeVar("T")

# So many may wait; then the connection is not read until half of them are done. RocketMQ's queue for such requests has
# no bound, so nobody expects a refusal.
_MOST: Final = 64


class LongWork:
    """`under_way`: how many are not done yet."""

    __slots__ = ("_go_on", "_one_by_one", "_outbox", "_queue", "_receiving", "_share", "under_way")

    def __init__(
        self, queue: StepQueue, outbox: Outbox, receiving: Receiving, share: Share
    ) -> None:
        self._queue = queue
        self._outbox = outbox
        self._receiving = receiving
        self._share = share
        self._one_by_one: trio.Lock | None = None
        self._go_on: trio.Event | None = None
        self.under_way = 0

    async def run(self, steps: Steps[T], before: Callable[[], None]) -> T:
        """The outcome. Not begun while the peer does not read: answers would only pile up here.

        `before` is called when it begins.
        """
        kept = 0

        def grown(size: int) -> None:
            nonlocal kept
            kept += size
            self._share.add(size)

        if self._one_by_one is None:
            self._one_by_one = trio.Lock()
        self._begin()
        try:
            async with self._one_by_one:
                await self._outbox.room()
                before()
                return await self._queue.run(steps, grown)
        finally:
            steps.close()
            self._share.add(-kept)
            self._end()

    async def room(self) -> None:
        """Wait until more may be read."""
        while self._receiving.held:
            if self._go_on is None:
                self._go_on = trio.Event()
            await self._go_on.wait()

    def _begin(self) -> None:
        self.under_way += 1
        if self.under_way >= _MOST:
            self._receiving.held = True

    def _end(self) -> None:
        self.under_way -= 1
        if self._receiving.held and self.under_way <= _MOST // 2:
            self._receiving.held = False
            if self._go_on is not None:
                self._go_on.set()
                self._go_on = None
