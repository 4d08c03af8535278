"""The broker's background services: what happens without a request. One nursery runs them all.

Each is an async function that ends by cancellation. Blocking work goes to a worker thread.
"""

import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Final

import trio

from trimq.remoting.contract import Gate
from trimq.store.config import StoreConfig
from trimq.store.errors import StoreError
from trimq.store.message_store import MessageStore

log = logging.getLogger("trimq.server")

# BrokerController: scanExceptionChannel runs every 10 s, the config tables are written every 10 s.
SCAN_SECONDS: Final = 10
SETTLE_SECONDS: Final = 10
NOTICE_SECONDS: Final = 15
PAGE: Final = 4096


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
            await _flush(store, gate)


def is_flush_due(flushed: int, written: int, least_pages: int) -> bool:
    """Whether that many pages were begun since the last flush (DefaultMappedFile.isAbleToFlush)."""
    return flushed < written and written // PAGE - flushed // PAGE >= least_pages


async def flush_on_demand(store: MessageStore, gate: Gate, config: StoreConfig) -> None:
    """SYNC_FLUSH (GroupCommitService): one fdatasync for all replies that wait at its start.

    Messages that asked not to wait (WAIT=false) are flushed with the next one that does, or by
    interval.
    """
    async with trio.open_nursery() as nursery:
        by_interval = replace(config, flush_commit_log_least_pages=0)
        nursery.start_soon(flush_by_interval, store, gate, by_interval)
        while True:
            await gate.demanded()
            await _flush(store, gate)


async def _flush(store: MessageStore, gate: Gate) -> None:
    try:
        gate.advance(await trio.to_thread.run_sync(store.flush))
    except StoreError as error:
        # Replies that wait are answered FLUSH_DISK_TIMEOUT; the next round tries again.
        log.error("flush failed: reason=%s", error)
        await trio.sleep(1)


async def write_derived(store: MessageStore, config: StoreConfig) -> None:
    """Consume queues are written behind, a few at a time, then a checkpoint vouches for them.

    After a crash the log is scanned from there: so it is written after some time or some bytes.
    """
    interval = config.flush_consume_queue_thorough_interval / 1000
    due_at = trio.current_time() + interval
    done_at = -1
    while True:
        await trio.sleep(config.flush_interval_consume_queue / 1000)
        try:
            while store.write_derived():
                await trio.lowlevel.checkpoint()
            written = store.max_physical_offset
            if trio.current_time() >= due_at or written - done_at >= config.checkpoint_bytes:
                due_at = trio.current_time() + interval
                await trio.to_thread.run_sync(store.plan_checkpoint().run)
                done_at = written
        except StoreError as error:
            log.error("writing consume queues failed, trying again: reason=%s", error)
