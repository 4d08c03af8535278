"""The broker's background services: what happens without being asked. One nursery runs them all.

Each is an async function that ends by cancellation. Blocking work goes to a worker thread.
"""

import logging
from collections.abc import Awaitable, Callable
from typing import Final

import trio

from remoting.contract import Gate
from store.config import StoreConfig
from store.errors import StoreError
from store.message_store import MessageStore

log = logging.getLogger("trimq.server")

# BrokerController: scanExceptionChannel runs every 10 s, the config tables are written every 10 s.
SCAN_SECONDS: Final = 10
SETTLE_SECONDS: Final = 10
NOTICE_SECONDS: Final = 15


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

    An idle broker does not touch the disk, nor a thread.
    """
    while True:
        await trio.sleep(config.flush_interval_commit_log / 1000)
        if store.flushed_offset < store.max_physical_offset:
            await _flush(store, gate)


async def flush_on_demand(store: MessageStore, gate: Gate, config: StoreConfig) -> None:
    """SYNC_FLUSH (GroupCommitService): one fdatasync for all replies that wait at its start.

    Messages that asked not to wait (WAIT=false) are flushed with the next that does, or by interval.
    """
    async with trio.open_nursery() as nursery:
        nursery.start_soon(flush_by_interval, store, gate, config)
        while True:
            await gate.demanded()
            await _flush(store, gate)


async def _flush(store: MessageStore, gate: Gate) -> None:
    try:
        gate.advance(await trio.to_thread.run_sync(store.flush))
    except StoreError as error:
        # Replies that wait are answered FLUSH_DISK_TIMEOUT; the next round tries again.
        log.error("flush failed: %s", error)
        await trio.sleep(1)


async def write_derived(store: MessageStore, config: StoreConfig) -> None:
    """Consume queues are written behind, a few at a time, then a checkpoint vouches for them."""
    checkpoint_at = trio.current_time() + config.flush_consume_queue_thorough_interval / 1000
    while True:
        await trio.sleep(config.flush_interval_consume_queue / 1000)
        try:
            while store.write_derived():
                await trio.lowlevel.checkpoint()
            if trio.current_time() >= checkpoint_at:
                checkpoint_at += config.flush_consume_queue_thorough_interval / 1000
                await trio.to_thread.run_sync(store.plan_checkpoint().run)
        except StoreError as error:
            log.error("writing consume queues failed, trying again: %s", error)
