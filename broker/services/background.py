"""The broker's background services: what happens without a request. One nursery runs them all.

Each is an async function that ends by cancellation. Blocking work goes to a worker thread.
"""

import logging
from collections.abc import Awaitable, Callable
from typing import Final

import trio

from trimq.base.waits import Wakeup
from trimq.broker.steps import Steps, in_steps
from trimq.remoting.contract import Gate
from trimq.store.config import StoreConfig
from trimq.store.errors import StoreError
from trimq.store.message_store import MessageStore

log = logging.getLogger("trimq.server")

# BrokerController: scanExceptionChannel runs every 10 s, the config tables are written every 10 s.
SCAN_SECONDS: Final = 10
SETTLE_SECONDS: Final = 10
NOTICE_SECONDS: Final = 15
# Until GroupCommitService looks by itself.
UNAWAITED_SECONDS: Final = 0.01
PAGE: Final = 4096
# Checkpoints, with the queues that are written for them, take a tenth of the time; but what a start has to scan after
# a crash is not to become older than this.
_PAUSE: Final = 9
_LONGEST_PAUSE: Final = 20


async def every(seconds: float, act: Callable[[], object]) -> None:
    """Call a quick function again and again."""
    while True:
        await trio.sleep(seconds)
        act()


async def every_async(seconds: float, act: Callable[[], Awaitable[object]]) -> None:
    """Await something again and again; the pause comes after it."""
    while True:
        await trio.sleep(seconds)
        await act()


async def every_in_steps(seconds: float, act: Callable[[], Steps[object]]) -> None:
    """Do something again and again that may be much."""
    while True:
        await trio.sleep(seconds)
        await in_steps(act())


async def flush_by_interval(store: MessageStore, gate: Gate, config: StoreConfig) -> None:
    """ASYNC_FLUSH (FlushRealTimeService): what was written goes to disk every flush interval.

    A few bytes wait longer, for more to come or for the thorough interval; the checkpoint after
    them does not. An idle broker does not touch the disk, nor a thread.
    """
    thorough_at = trio.current_time()
    while True:
        least_pages = config.flush_commit_log_least_pages
        if trio.current_time() >= thorough_at:
            thorough_at = trio.current_time() + config.flush_commit_log_thorough_interval / 1000
            least_pages = 0
        await trio.sleep(config.flush_interval_commit_log / 1000)
        if is_flush_due(store.flushed_offset, store.max_physical_offset, least_pages):
            await flush(store, gate)


def is_flush_due(flushed: int, written: int, least_pages: int) -> bool:
    """Whether that many pages were begun since the last flush (DefaultMappedFile.isAbleToFlush)."""
    return flushed < written and written // PAGE - flushed // PAGE >= least_pages


class FlushOnDemand:
    """SYNC_FLUSH (GroupCommitService): one fdatasync for all replies that wait at its start.

    Nobody can read a message before. What nobody waits for, because the producer asked not to (WAIT=false) or the
    broker wrote it itself, is flushed 10 ms later at the latest, as there.
    """

    def __init__(self, store: MessageStore, gate: Gate) -> None:
        self._store = store
        self._gate = gate
        self._grown = Wakeup()

    def written(self) -> None:
        """The store's write listener."""
        self._grown.give()

    async def run(self) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._demand)
            while True:
                await self._gate.demanded()
                await flush(self._store, self._gate)

    async def _demand(self) -> None:
        while True:
            await self._grown.wait()
            await trio.sleep(UNAWAITED_SECONDS)
            self._gate.want(self._store.max_physical_offset)


async def flush(store: MessageStore, gate: Gate) -> None:
    """What was written is on the disk, and whoever waits for that goes on."""
    term = gate.term
    try:
        flushed = await trio.to_thread.run_sync(store.flush)
        store.show(flushed)
        gate.advance(flushed, term)
    except StoreError as error:
        # Replies that wait are answered FLUSH_DISK_TIMEOUT; the next round tries again.
        log.error("flush failed: reason=%s", error)
        await trio.sleep(1)


async def write_derived(store: MessageStore, config: StoreConfig) -> None:
    """Consume queues are written behind, a few at a time, then a checkpoint vouches for them.

    After a crash the log is scanned from there: so it is written after some time, or when that would be too much.
    Thousands of queues that get a message now and then are written for a checkpoint only: each costs a call however
    little it has, and a page on the disk. Where a checkpoint takes seconds, the next one waits longer; one that is late
    waits as long as the last one took, or the disk would be busy with nothing else.
    """
    interval = config.flush_consume_queue_thorough_interval / 1000
    due_at = trio.current_time() + interval
    not_before = due_at - interval
    pause = Wakeup()
    store.derived_points.hurry_by(pause.give)
    while True:
        is_late = await pause.wait(config.flush_interval_consume_queue / 1000)
        if is_late:
            await trio.sleep_until(not_before)
        begun_at = trio.current_time()
        try:
            is_due = is_late or begun_at >= due_at
            if not is_due and store.many_queues_wait:
                continue
            await _write_queues(store)
            if is_due:
                due_at = trio.current_time() + interval
                await trio.to_thread.run_sync(store.plan_checkpoint().run)
                ended_at = trio.current_time()
                rest = min((ended_at - begun_at) * _PAUSE, _LONGEST_PAUSE)
                due_at = max(due_at, ended_at + rest)
                not_before = 2 * ended_at - begun_at
        except StoreError as error:
            log.error("writing consume queues failed, trying again: reason=%s", error)


async def _write_queues(store: MessageStore) -> None:
    """Everything that they have now: the disk is waited for in a worker thread, a part of a second sometimes."""
    is_more = True
    while is_more:
        writing = store.take_derived()
        try:
            if writing.is_empty:
                await trio.lowlevel.checkpoint()
            else:
                await trio.to_thread.run_sync(writing.run)
        finally:
            is_more = store.settle_derived(writing)
