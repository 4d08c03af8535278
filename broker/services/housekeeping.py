"""Deleting what is too old, as a background service: the store's rules in small steps.

DefaultMessageStore.cleanFilesPeriodically and ConsumeQueueStore.cleanQueueFilesPeriodically: first
a minute after the start, then every `cleanResourceInterval`.
"""

import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final

import trio

from trimq.base.clock import Clock
from trimq.broker.topics.part_cleaning import PERIOD_SECONDS, PartCleaning
from trimq.store.config import StoreConfig
from trimq.store.errors import StoreError
from trimq.store.log.segment import Segment
from trimq.store.message_store import MessageStore
from trimq.store.upkeep.cleaning import LogCleaning, Round
from trimq.store.upkeep.trimming import Trimming

log = logging.getLogger("trimq.server")

FIRST_AFTER_SECONDS: Final = 60
# Looks at a commit-log file that is about to be deleted; no reader finds it any more. StoreError.
LastLook = Callable[[Segment], Awaitable[None]]


async def no_look(segment: Segment) -> None:
    """Nothing in the file is of interest."""


async def delete_old_files(
    store: MessageStore, config: StoreConfig, last_look: LastLook, clock: Clock
) -> None:
    """Until cancelled. Between two files the disk has its own time."""
    await clock.sleep(FIRST_AFTER_SECONDS)
    while True:
        store.cleaning.is_at_work = True
        for act in (
            partial(
                clean_log,
                store.cleaning,
                config.delete_commit_log_files_interval / 1000,
                last_look,
            ),
            partial(trim_queues, store.trimming, config.delete_consume_queue_files_interval / 1000),
        ):
            try:
                await act()
            except StoreError as error:
                log.error("deleting old files failed, trying again: reason=%s", error)
        store.cleaning.is_at_work = False
        await clock.sleep(config.clean_resource_interval / 1000)


async def clean_parts(cleaning: LogCleaning, parts: PartCleaning, clock: Clock) -> None:
    """Until cancelled: in the hours of `deleteWhen` forget parts of queues that were deleted."""
    while True:
        await clock.sleep(PERIOD_SECONDS)
        if cleaning.is_hour():
            await parts.clean()


async def clean_log(cleaning: LogCleaning, pause: float, last_look: LastLook) -> None:
    """One round: look at the disk and the clock, and delete one file after another."""
    use = await trio.to_thread.run_sync(cleaning.measure)
    one = cleaning.begin_round(use)
    while (segment := cleaning.next_file(one)) is not None:
        if not await _delete(cleaning, segment, one, last_look):
            break
        await trio.sleep(pause)
    cleaning.end_round(one)


async def _delete(
    cleaning: LogCleaning, segment: Segment, one: Round | None, last_look: LastLook
) -> bool:
    modified = await trio.to_thread.run_sync(cleaning.modified, segment)
    is_new = segment.removed_at < 0
    if not cleaning.take_out(segment, modified, one):
        return False
    if is_new:
        try:
            await last_look(segment)
        except StoreError as error:
            log.error("a file could not be looked at before it is deleted: error=%s", error)
    if cleaning.is_held(segment):
        return False
    await trio.to_thread.run_sync(cleaning.unlink, segment)
    cleaning.deleted(segment, one)
    return True


async def trim_queues(trimming: Trimming, pause: float) -> None:
    """When the beginning of the log has moved: the consume queues follow, then the rest."""
    if not trimming.begin():
        return
    topics = trimming.not_loaded()
    for topic in await trio.to_thread.run_sync(trimming.find_expired, topics):
        trimming.take_up(topic)
        await trio.lowlevel.checkpoint()
    while trimming.has_more:
        if trimming.step():
            await trio.sleep(pause)
        else:
            await trio.lowlevel.checkpoint()
    trimming.trim_derived()
