"""Taking slots out when they are due, and delivering what is in them (TimerDequeueGetService and what follows it).

A slot of time T is due when the next one has begun: never early. First its recalls are read, then its
messages are delivered in the order in which they were sent, some at a time between requests. While a wheel has
nothing to do, one slot is looked at each second; without a wheel, this waits for one.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from typing import Final

import trio

from trimq.base.clock import Clock
from trimq.broker.steps import BYTES_PER_STEP
from trimq.broker.timers.copy_writer import CopyWriter
from trimq.broker.timers.enqueue import TimerEnqueue
from trimq.codec.entries.timer import MAGIC_ROLL
from trimq.store.config import StoreConfig
from trimq.store.errors import StoreError
from trimq.store.message_store import MessageStore
from trimq.store.timers.chain import Chain, Due
from trimq.store.timers.timer_store import TimerStore

log = logging.getLogger("trimq.timers")

# Messages delivered with one write: a few milliseconds. With larger bodies, fewer.
_BATCH: Final = 64
_RETRY_SECONDS: Final = 1.0
_CATCHING_UP_SECONDS: Final = 0.02


class Delivery:
    """Takes slots out of the wheel."""

    def __init__(
        self,
        config: StoreConfig,
        store: MessageStore,
        timers: TimerStore,
        enqueue: TimerEnqueue,
        clock: Clock,
    ) -> None:
        self._config = config
        self._store = store
        self._timers = timers
        self._enqueue = enqueue
        self._clock = clock

    async def run(self, copy_writer: CopyWriter) -> None:
        """Until cancelled."""
        await self._enqueue.wheel_made()
        while True:
            await self._until_due()
            if self._config.timer_stop_dequeue:
                await trio.sleep(_RETRY_SECONDS)
                continue
            if self._enqueue.is_catching_up:
                await trio.sleep(_CATCHING_UP_SECONDS)
                continue
            await self._make_room(copy_writer)
            time = self._timers.find_due(self._clock.millis())
            if time is not None:
                await self._deliver_slot(time, copy_writer)
            if not self._enqueue.is_catching_up and copy_writer.out.forget(self._timers.read_time):
                self._timers.let_go()
            # Empty slots are passed many at a time.
            await trio.lowlevel.checkpoint()

    async def _until_due(self) -> None:
        """The wall clock may be set while this sleeps, so it is looked at once per slot."""
        timers = self._timers
        while not timers.is_in_the_way and not timers.is_behind(now := self._clock.millis()):
            left = timers.read_time + timers.precision - now
            await self._clock.sleep(min(max(left, 1), timers.precision) / 1000)

    async def _make_room(self, copy_writer: CopyWriter) -> None:
        """The clock was set back by weeks, and what waits for the time before that is in the way: it rolls.

        RocketMQ forgets it.
        """
        time = self._timers.take_in_the_way()
        chain = None if time is None else await self._taken_out(time)
        if time is None or chain is None:
            return
        log.warning("timer messages roll, as the clock was set back: slot=%d", time)
        for deletes in (True, False):
            for batch in batches(chain, deletes=deletes):
                await copy_writer.put([due._replace(magic=due.magic | MAGIC_ROLL) for due in batch])
                await trio.lowlevel.checkpoint()
        self._timers.finish(time)

    async def _taken_out(self, time: int) -> Chain | None:
        """None: it could not be read, and is tried again."""
        try:
            chain = self._timers.begin(time, self._store.max_physical_offset)
            await self._read(chain)
        except (StoreError, OSError) as error:
            log.error(
                "slot of the timer wheel not read, trying again: time=%d error=%s", time, error
            )
            await trio.sleep(_RETRY_SECONDS)
            return None
        return chain

    async def _deliver_slot(self, time: int, copy_writer: CopyWriter) -> None:
        chain = await self._taken_out(time)
        if chain is None:
            return
        recalled: set[str] = set()
        for batch in batches(chain, deletes=True):
            recalled |= await copy_writer.deletes(batch)
            await trio.lowlevel.checkpoint()
        for batch in batches(chain, deletes=False):
            await copy_writer.put(batch, recalled)
            await trio.lowlevel.checkpoint()
        self._timers.finish(time)

    async def _read(self, chain: Chain) -> None:
        """All of the slot's records; what is not in memory in a worker thread."""
        timer_log = self._timers.log
        while not chain.done:
            start, size = chain.wanted()
            data = timer_log.read_now(start, size)
            if data is None:
                data = await trio.to_thread.run_sync(timer_log.read_blocking, start, size)
            chain.take(start, data)
            await trio.lowlevel.checkpoint()


def batches(chain: Chain, *, deletes: bool) -> Iterator[list[Due]]:
    """A slot's records from the oldest on, so many at a time that a step of the loop stays short."""
    found = chain.deletes if deletes else chain.others
    return in_batches(found.at(index) for index in range(len(found)))


def in_batches(waiting: Iterable[Due]) -> Iterator[list[Due]]:
    """The same for any that are to be read, and maybe copied."""
    batch: list[Due] = []
    size = 0
    for due in waiting:
        if batch and (len(batch) >= _BATCH or size + due.size > BYTES_PER_STEP):
            yield batch
            batch, size = [], 0
        batch.append(due)
        size += due.size
    if batch:
        yield batch
