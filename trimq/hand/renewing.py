"""A broker that a test can have opened anew, in the same process and on the same ports.

Clients lose their connections, as when a broker is restarted, and connect again by themselves: the ports stay open
meanwhile, and whoever connects is served as soon as the new broker is there.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Generic, TypeVar

import trio

from trimq.hand.operation import HandError

if TYPE_CHECKING:
    from trimq.hand.hand import Hand

R = TypeVar("R")
Opens = Callable[[], AbstractAsyncContextManager[R]]


def _nothing() -> None:
    return None


class Renewing(Generic[R]):
    def __init__(self, opens: Opens[R]) -> None:
        self._opens = opens
        self._one_at_a_time = trio.Lock()
        self._wanted = trio.Event()
        self._change: Callable[[], None] | None = None
        self._then: Callable[[], None] = _nothing
        self._changed = trio.Event()
        self._error: Exception | None = None
        self._running: list[R] = []

    @property
    def running(self) -> R:
        """What is open now, or was last; once `run` has started."""
        return self._running[0]

    async def run(self, task_status: trio.TaskStatus[R] = trio.TASK_STATUS_IGNORED) -> None:
        """Open it, until `stop` or cancelled."""
        first = True
        while True:
            async with self._opens() as running:
                self._running = [running]
                if first:
                    task_status.started(running)
                    first = False
                self._changed.set()
                await self._wanted.wait()
            self._wanted = trio.Event()
            if self._change is None:
                return
            try:
                await trio.to_thread.run_sync(self._change)
                self._then()
            except (HandError, OSError) as error:
                # Whoever asked is told; the broker goes on with what there is.
                self._error = error

    async def renew(self, change: Callable[[], None], then: Callable[[], None] = _nothing) -> None:
        """Close the broker, run `change` in a worker thread, then `then` here, and open a broker again.

        HandError, OSError: their own.
        """
        async with self._one_at_a_time:
            self._then = then
            self._change, self._error, self._changed = change, None, trio.Event()
            self._wanted.set()
            await self._changed.wait()
            if self._error is not None:
                raise self._error

    def stop(self) -> None:
        """Close it for good, in order."""
        self._change = None
        self._wanted.set()


@asynccontextmanager
async def renewable(hand: Hand, opens: Opens[R]) -> AsyncIterator[Renewing[R]]:
    """The broker that `opens` opens each time, until the block ends; the hand may renew it."""
    renewing = Renewing(opens)
    async with trio.open_nursery() as nursery:
        await nursery.start(renewing.run)
        hand.renew = renewing.renew
        yield renewing
        renewing.stop()
