"""Topics that keep the newest message of each key (CompactionStore, CompactionService).

What such a topic gets is copied into files of its own, in worker threads: at the latest when somebody pulls it, or
a second later. Pulls read there, whatever their filter, so that messages are there after
their commit-log file is gone. Now and then each queue is rewritten without what has a newer message of its key.

What has to be copied is read from the topic's ordinary queue, now and after a crash alike.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Iterator
from functools import partial
from typing import Final, NamedTuple

import trio

from trimq.base.waits import Wakeup
from trimq.broker.compaction.queue_offsets import Numbering
from trimq.broker.tables.attributes import is_compacted
from trimq.broker.topics.table import Topics
from trimq.codec.bodies.topics import TopicConfig
from trimq.codec.entries.queue import QueueEntry
from trimq.codec.errors import CodecError
from trimq.codec.records.fields import store_time_at
from trimq.store.compaction.files import CompactionFiles
from trimq.store.compaction.pair import Kept
from trimq.store.compaction.queue import CompactedQueue
from trimq.store.config import StoreConfig
from trimq.store.disk.files import store_error
from trimq.store.errors import MessagesGone, StoreError
from trimq.store.log.held_read import HeldRead
from trimq.store.message_store import MessageStore
from trimq.store.opening.recovery_points import RecoveryPoint, Unit
from trimq.store.queues.reading.pull import ReadResult, ReadStatus

log = logging.getLogger("trimq.compaction")

_LOOK_SECONDS: Final = 1.0
_SYNC_SECONDS: Final = 10.0
_GONE_SECONDS: Final = 0.1
# How much is copied in one go.
_AT_ONCE: Final = 512
_BYTES_AT_ONCE: Final = 4 << 20
_MOST_UNSYNCED: Final = 32 * 1024

Place = tuple[str, int]


class CompactedRead(NamedTuple):
    """What a pull gets, and up to where the ordinary queue is copied."""

    result: ReadResult
    records: list[bytes]
    end: int


class Opened:
    """A compacted queue that is in use."""

    def __init__(self, queue: CompactedQueue) -> None:
        self.queue = queue
        # Of the tasks that append and read.
        self.lock = trio.Lock()
        # When it is rewritten next; nobody knows before the loop runs.
        self.due: float | None = None
        # Messages copied since the last sync.
        self.unsynced = 0
        self.gone = False


class Compaction:
    """One per broker; `load` before anything is served."""

    def __init__(
        self, config: StoreConfig, store: MessageStore, topics: Topics, is_master: bool = True
    ) -> None:
        """A slave's queues follow its master's log, whatever they are here."""
        self._is_master = is_master
        self._config = config
        self._store = store
        self._topics = topics
        self._files = CompactionFiles(config)
        self._numbering = Numbering(store, self._files)
        self._opened: dict[Place, Opened] = {}
        self._opening = trio.Lock()
        self._names: set[str] = set()
        self._pause = Wakeup()
        self.recovery_point = RecoveryPoint(
            "compaction",
            "messages of compacted topics that are in no file of theirs",
            Unit.LATER,
            self._needed_from,
            self._owed,
            self._pause.give,
        )
        # Rewritten files since the start, for /metrics.
        self.rewritten = 0
        topics.add_listener(self._changed)
        store.deletion.add_listener(self._deleted)

    def load(self) -> None:
        """Open the queues that there are. Blocks. StoreError."""
        for config in self._topics.all().values():
            self._changed(config)
        for topic, queue_id in self._files.load():
            if topic in self._names:
                queue = self._files.open(topic, queue_id)
                if self._is_master:
                    self._numbering.mend((topic, queue_id), queue)
                self._add((topic, queue_id), queue)
            else:
                log.warning("compaction files of a topic that is not compacted: topic=%s", topic)

    def recover(self, log_end: int) -> None:
        """The log was cut: what is gone there goes here; what was dropped for its sake stays so. Blocks. StoreError."""
        for place, opened in self._opened.items():
            end = self._store.max_offset(*place)
            if opened.queue.fed > end:
                try:
                    self._files.cut(*place, opened.queue, end)
                except OSError as error:
                    raise store_error(error, f"cutting {opened.queue.folders[0]}") from error

    def close(self) -> None:
        """What was copied survives a power loss. Blocks."""
        for opened in self._opened.values():
            opened.queue.sync()

    # --- where a start would begin

    def _needed_from(self) -> int:
        store = self._store
        entries = [store.queue_entry(*place, first) for place, first in self._uncopied()]
        found = (entry.physical_offset for entry in entries if entry is not None)
        return min(found, default=store.max_physical_offset)

    def _owed(self) -> int:
        return sum(self._store.size_from(*place, first) for place, first in self._uncopied())

    def _uncopied(self) -> Iterator[tuple[Place, int]]:
        """Queues that have messages to be copied, and the first of these."""
        store = self._store
        for topic in self._names:
            for queue_id in store.queues(topic):
                opened = self._opened.get((topic, queue_id))
                fed = 0 if opened is None else opened.queue.fed
                first = max(fed, store.first_in_log(topic, queue_id))
                if first < store.max_offset(topic, queue_id):
                    yield (topic, queue_id), first

    def _changed(self, topic: TopicConfig) -> None:
        if is_compacted(topic.attributes):
            self._names.add(topic.topic_name)

    def _deleted(self, topic: str) -> None:
        """Also what a topic left that is not compacted any more: the next one of its name counts from 0."""
        if topic not in self._names and not self._files.has(topic):
            return
        self._names.discard(topic)
        places = [place for place in self._opened if place[0] == topic]
        for place in places:
            opened = self._opened.pop(place)
            opened.gone = True
            opened.queue.end()
        try:
            self._files.delete_topic(topic, [queue_id for _, queue_id in places])
        except OSError as error:
            log.error("compaction files not deleted: topic=%s error=%s", topic, error)

    # --- reading

    async def read(self, topic: str, queue_id: int, offset: int, most: int) -> CompactedRead:
        """What a pull gets. StoreError."""
        opened = await self._open((topic, queue_id))
        if opened is None:
            return CompactedRead(ReadResult(ReadStatus.NO_MESSAGE_IN_QUEUE, 0, 0, 0), [], 0)
        queue = opened.queue
        async with opened.lock:
            await self._copy((topic, queue_id), opened)
            read = partial(queue.read, offset, most, self._store.pull_limits)
            try:
                result, records = await trio.to_thread.run_sync(read)
            except OSError as error:
                raise store_error(error, f"reading {queue.folders[0]}") from error
            return CompactedRead(result, records, queue.fed)

    async def _open(self, place: Place) -> Opened | None:
        """None for a queue that never had a message."""
        opened = self._opened.get(place)
        if opened is not None:
            return opened
        async with self._opening:
            opened = self._opened.get(place)
            if opened is None and self._store.max_offset(*place) > 0 and place[0] in self._names:
                queue = await trio.to_thread.run_sync(self._files.open, *place)
                opened = self._add(place, queue)
            return opened

    def _add(self, place: Place, queue: CompactedQueue) -> Opened:
        opened = self._opened[place] = Opened(queue)
        self._tell(place, queue)
        return opened

    def _tell(self, place: Place, queue: CompactedQueue) -> None:
        """Whoever asks for the first message is told of what is kept here."""
        if queue.min_offset >= 0:
            self._store.kept_from(*place, queue.min_offset)

    # --- copying

    async def _copy(self, place: Place, opened: Opened) -> None:
        """All that the ordinary queue has by now."""
        queue = opened.queue
        while not opened.gone:
            begin = max(queue.fed, self._store.first_in_log(*place))
            entries = list(self._entries(place, begin))
            if not entries:
                return
            offsets = [offset for offset, _ in entries]
            extents = [(entry.physical_offset, entry.size) for _, entry in entries]
            tags = [entry.tags_code for _, entry in entries]
            try:
                held = self._store.hold(extents)
            except MessagesGone:
                # The file was deleted since; the queue begins later now.
                await trio.sleep(_GONE_SECONDS)
                continue
            try:
                await trio.to_thread.run_sync(_append, queue, held, offsets, tags)
            except OSError as error:
                raise store_error(error, f"writing {queue.folders[0]}") from error
            finally:
                held.release()
            queue.fed = offsets[-1] + 1
            opened.unsynced += len(offsets)
            if opened.unsynced >= _MOST_UNSYNCED:
                await self._sync(opened)
            self._tell(place, queue)

    def _entries(self, place: Place, begin: int) -> Iterator[tuple[int, QueueEntry]]:
        """The queue's next ones, with their offsets."""
        end = min(self._store.max_offset(*place), begin + _AT_ONCE)
        size = 0
        for offset in range(begin, end):
            entry = self._store.queue_entry(*place, offset)
            if entry is None or size > _BYTES_AT_ONCE:
                return
            size += entry.size
            yield offset, entry

    # --- services

    async def keep_copied(self) -> None:
        """Copy what comes, so that it is there when its commit-log file goes. Until cancelled."""
        synced = trio.current_time()
        while True:
            await self._pause.wait(_LOOK_SECONDS)
            is_due = trio.current_time() - synced >= _SYNC_SECONDS
            for topic in list(self._names):
                for queue_id in self._store.queues(topic):
                    await self._keep((topic, queue_id), is_due)
            if is_due:
                synced = trio.current_time()

    async def _keep(self, place: Place, sync: bool) -> None:
        try:
            opened = await self._open(place)
            if opened is None:
                return
            async with opened.lock:
                await self._copy(place, opened)
                if sync and opened.unsynced:
                    await self._sync(opened)
        except (OSError, StoreError) as error:
            log.error(
                "messages not copied, trying again: topic=%s queue=%d error=%s", *place, error
            )

    async def _sync(self, opened: Opened) -> None:
        await trio.to_thread.run_sync(opened.queue.sync)
        opened.unsynced = 0

    async def keep_rewritten(self) -> None:
        """Rewrite each queue when its time has come. Until cancelled."""
        while True:
            await trio.sleep(_LOOK_SECONDS)
            for place, opened in list(self._opened.items()):
                if opened.due is None:
                    opened.due = self._next_time()
                elif trio.current_time() >= opened.due:
                    await self._rewrite(place, opened)
                    opened.due = self._next_time()

    async def _rewrite(self, place: Place, opened: Opened) -> None:
        try:
            while not opened.gone and await trio.to_thread.run_sync(
                self._files.rewrite, *place, opened.queue
            ):
                self.rewritten += 1
                self._tell(place, opened.queue)
                log.info("queue rewritten: topic=%s queue=%d", *place)
        except (OSError, StoreError, CodecError) as error:
            log.error(
                "queue not rewritten, trying again later: topic=%s queue=%d error=%s", *place, error
            )

    def _next_time(self) -> float:
        """As RocketMQ spreads it: after one to two intervals."""
        interval = self._config.compaction_schedule_internal
        return trio.current_time() + (interval + 1000 + random.randrange(interval)) / 1000


def _append(queue: CompactedQueue, held: HeldRead, offsets: list[int], tags: list[int]) -> None:
    """In a worker thread."""
    records = [bytes(data) for data in held.read()]
    queue.append(
        Kept(offset, record, code, store_time_at(record))
        for offset, record, code in zip(offsets, records, tags, strict=True)
    )
