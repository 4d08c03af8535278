"""The store as the broker sees it: appending, reading, flushing, opening and closing.

Synchronous, and for one thread: only `flush`, `Checkpointing.run`, `HeldRead.read` and what
`cleaning` and `trimming` say of themselves may (and should) run in a worker thread, because they
wait for the disk; they touch files and no state that anybody else changes.

How the broker drives it: `stage` for every send of one receive, then `write_staged` once;
`flush` every flush interval, or as soon as somebody waits under SYNC_FLUSH; `write_derived` about
every second until it answers False, then `plan_checkpoint().run()` in a thread.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from trimq.codec.frame import FRAME_LIMIT
from trimq.codec.queue_entry import QueueEntry
from trimq.codec.record import FIXED_SIZE, MAGIC_V1, MAGIC_V2, peek
from trimq.store.append import Appender, Listener
from trimq.store.batch_reading import BatchQueueReader
from trimq.store.checkpoint import raise_index_timestamp
from trimq.store.checkpointing import Checkpointing
from trimq.store.cleaning import LogCleaning
from trimq.store.commit_log import CommitLog
from trimq.store.config import StoreConfig
from trimq.store.consume_queues import ConsumeQueues
from trimq.store.directory import StoreDirectory
from trimq.store.disk_usage import used_share
from trimq.store.errors import MessagesGone, StoreError, StoreNotWritable
from trimq.store.files import OpenFiles, store_error
from trimq.store.held_read import ColdReads, HeldRead
from trimq.store.index import Index
from trimq.store.index_recovery import IndexRecovery
from trimq.store.index_search import IndexSearch
from trimq.store.loading import Buffer, join_now, load_now, view_now
from trimq.store.log_paths import LogPaths
from trimq.store.message import Appended, AppendedBatch, Message
from trimq.store.reading import QueueReader, ReadResult
from trimq.store.recovery import Recovery, RecoveryReport
from trimq.store.tags import TagCodes
from trimq.store.time_search import TimeSearch, store_timestamp
from trimq.store.trimming import Trimming
from trimq.store.write_behind import WriteBehind

_PHYSICAL_OFFSET_AT = 28


class MessageStore:
    """`now_millis` gives the store timestamps; nothing here reads the clock.

    `disk_use` tells how full the file system of a path is, from 0.0 to 1.0.
    """

    def __init__(
        self,
        config: StoreConfig,
        now_millis: Callable[[], int],
        disk_use: Callable[[Path], float] = used_share,
    ) -> None:
        self._config = config
        # No frame brings more, but for a setting; topic and properties are below 64 KiB each.
        self.largest_record = max(FRAME_LIMIT, config.max_message_size + 128 * 1024)
        self._directory = StoreDirectory(config.root)
        self._open_files = OpenFiles(config.open_files)
        self._log = CommitLog(
            LogPaths(config.commit_logs, config.read_only_commit_logs),
            config.mapped_file_size_commit_log,
            self._open_files,
            config.hot_bytes,
        )
        self._queues = ConsumeQueues(config, self._open_files)
        self._tags = TagCodes(config.delay_levels)
        self._appender = Appender(
            self._log, self._queues, self._tags, config.max_message_size, now_millis
        )
        self._index = Index(config, now_millis)
        self._appender.add_listener(self._index.arrived)
        self._reader = QueueReader(config, self._log)
        self._batch_reader = BatchQueueReader(config, self._log)
        self._batches = self._queues.batches
        self._times = TimeSearch(self._log)
        self._cold_reads = ColdReads()
        self.disk_use = disk_use
        self.cleaning = LogCleaning(config, self._log, now_millis, disk_use)
        self.trimming = Trimming(self._log, self._queues)
        self.trimming.derived.append(self._index)
        self._behind = WriteBehind(
            self._log,
            self._queues,
            self._index,
            self._open_files.unsynced,
            self._directory.checkpoint_file,
        )
        # A write that failed with messages whose stager does not know yet.
        self._owed: StoreError | None = None
        self._is_open = False

    def heed_settings(self) -> None:
        """Settings have changed: take over what is kept beside them for speed."""
        self._appender.limit_bodies(self._config.max_message_size)
        self._reader.heed_settings()
        self._batch_reader.heed_settings()

    # --- opening and closing

    def open(self, batch_topics: frozenset[str] = frozenset()) -> RecoveryReport:
        """Lock, recover, mark as open; blocks. StoreInUse, StoreDamaged: nothing was changed.

        `batch_topics` are those with `queue.type=BatchCQ`; found queues of that type count too.
        """
        try:
            self._directory.lock()
            self._directory.refuse_foreign()
            clean = not self._directory.was_aborted()
            checkpoint = self._behind.load_checkpoint()
            self._log.load(None if clean else checkpoint.queue_physical_offset)
            vouch = partial(raise_index_timestamp, self._directory.checkpoint_file)
            index = IndexRecovery(self._index, self._log, checkpoint, vouch)
            recovery = Recovery(self._log, self._queues, index, checkpoint, self._tags)
            report = recovery.run(clean, batch_topics, self._begin)
            # Recovery may have changed it.
            self._behind.load_checkpoint()
        except OSError as error:
            self.abandon()
            raise store_error(error, f"opening {self._config.root}") from error
        except StoreError:
            self.abandon()
            raise
        self._appender.last_offset = report.last_record
        self._appender.last_timestamp = report.last_timestamp
        self._is_open = True
        return report

    def _begin(self, checkpoint_is_wrong: bool) -> None:
        """Before anything changes: what comes now is no clean stop until it ends like one."""
        if checkpoint_is_wrong:
            self._behind.take_back_checkpoint()
        self._directory.mark_open()

    def close(self) -> None:
        """Write and flush everything; blocks. The `abort` file stays when that does not succeed."""
        if not self._is_open:
            return
        self._is_open = False
        try:
            self._appender.write()
            # The first round may have begun before the last messages came.
            while self.write_derived() or not self._queues.clean:
                pass
            self.plan_checkpoint().run()
            self._directory.mark_closed()
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Let go of the files and write nothing more: what a crash leaves, `abort` included."""
        self._is_open = False
        self._log.close()
        self._open_files.close()
        self._directory.unlock()

    def declare_batch_topic(self, topic: str) -> None:
        """From now on the topic's queues are of type BatchCQ; before it has a message."""
        self._batches.declare(topic)

    # --- appending

    def add_listener(self, listener: Listener) -> None:
        """Called once a write with its records, in order, before `write_staged` returns."""
        self._appender.add_listener(listener)

    @property
    def writable(self) -> bool:
        return self._is_open and self._log.writable and not self.cleaning.disk_full

    def check_writable(self) -> None:
        """StoreNotWritable when no message is taken, whatever it is (RunningFlags.isWriteable)."""
        if not self._is_open:
            raise StoreNotWritable("the store is not open")
        if self.cleaning.disk_full:
            raise StoreNotWritable(f"the disk is full: {self.cleaning.use}")

    def stage(self, message: Message) -> Appended:
        """Give the message its offsets; it is in the store when `write_staged` has returned."""
        self.check_writable()
        return self._appender.stage(message)

    def stage_batch(self, message: Message) -> AppendedBatch:
        """Like `stage`, for the messages that the body holds (codec.batch)."""
        self.check_writable()
        return self._appender.stage_batch(message)

    def write_staged(self) -> None:
        """All staged messages or, with StoreError, none of them."""
        if self._owed is not None:
            error, self._owed = self._owed, None
            self._appender.discard()
            raise StoreError(f"lost with another write: {error}") from error
        self._appender.write()

    def put(self, message: Message) -> Appended:
        """Stage and write. What others have staged before is written along.

        Should that fail, they hear of it from `write_staged`: nobody may take silence for success.
        """
        others = self._appender.has_staged
        appended = self.stage(message)
        try:
            self._appender.write()
        except StoreError as error:
            if others:
                self._owed = error
            raise
        return appended

    # --- reading

    def read(
        self,
        topic: str,
        queue_id: int,
        offset: int,
        max_messages: int,
        max_bytes: int,
        tag_codes: frozenset[int] | None,
    ) -> ReadResult:
        """What a pull at `offset` gets; `tag_codes` None takes every message."""
        if topic in self._batches.topics:
            batch_queue = self._batches.find(topic, queue_id)
            return self._batch_reader.read_batches(
                batch_queue, offset, max_messages, max_bytes, tag_codes
            )
        queue = self._queues.find(topic, queue_id)
        return self._reader.read(queue, offset, max_messages, max_bytes, tag_codes)

    def load(self, extents: list[tuple[int, int]]) -> list[Buffer] | None:
        """The bytes of the extents if that needs no waiting; None: use `hold`."""
        return load_now(self._log, extents)

    def join(self, found: ReadResult) -> bytes | None:
        """All that was found in one piece, where that is the fastest; None: use `view` or `load`."""
        try:
            return join_now(self._log, found)
        except OSError:
            # No address space or no mappings left: the loop may still read them.
            return None

    def view(self, extents: list[tuple[int, int]]) -> Sequence[Buffer | memoryview] | None:
        """Like `load`, for bytes that are sent and not looked at: nothing is copied."""
        try:
            return view_now(self._log, extents)
        except OSError:
            # No address space or no mappings left: the loop may still read them.
            return self.load(extents)

    def hold(self, extents: list[tuple[int, int]]) -> HeldRead:
        """Keep the files of the extents until `release`; `read` may run in a worker thread.

        MessagesGone when they are no longer there.
        """
        for offset, size in extents:
            if not self._log.contains(offset, size):
                raise MessagesGone(f"{size} bytes at {offset} are not in the log any more")
        segments = [self._log.segment_of(offset) for offset, _ in extents]
        pieces = [
            (segment, offset - segment.base, size)
            for segment, (offset, size) in zip(segments, extents, strict=True)
        ]
        ahead = bool(extents) and self._cold_reads.go_on(extents[0][0], sum(extents[-1]))
        return HeldRead(pieces, ahead)

    def load_blocking(self, extents: list[tuple[int, int]]) -> list[Buffer]:
        """Read the extents from the disk and wait for it."""
        held = self.hold(extents)
        try:
            return held.read()
        finally:
            held.release()

    def record_at(self, physical_offset: int) -> bytes | None:
        """The record that begins exactly there, if it is no larger than a message can be."""
        head = self._log.read(physical_offset, FIXED_SIZE)
        if head is None:
            return None
        size, magic = peek(head)
        named = int.from_bytes(head[_PHYSICAL_OFFSET_AT : _PHYSICAL_OFFSET_AT + 8], "big")
        if magic not in (MAGIC_V1, MAGIC_V2) or named != physical_offset:
            return None
        if size > self.largest_record:
            return None
        return self._log.read(physical_offset, size)

    def plan_query(
        self, topic: str, key: str, max_count: int, begin: int, end: int, index_type: str = ""
    ) -> IndexSearch:
        """Looks for messages by key, or by tag with type T: `run` it in a worker thread.

        Store timestamps from `begin` to `end` count.
        """
        return self._index.search(topic, key, max_count, begin, end, index_type)

    def min_offset(self, topic: str, queue_id: int) -> int:
        """-1 for an empty queue of type BatchCQ."""
        if topic in self._batches.topics:
            batch_queue = self._batches.find(topic, queue_id)
            return batch_queue.min_offset if batch_queue is not None else -1
        queue = self._queues.find(topic, queue_id)
        return queue.min_offset if queue is not None else 0

    def max_offset(self, topic: str, queue_id: int) -> int:
        if topic in self._batches.topics:
            batch_queue = self._batches.find(topic, queue_id)
            return batch_queue.max_offset if batch_queue is not None else 0
        queue = self._queues.find(topic, queue_id)
        return queue.max_offset if queue is not None else 0

    def queue_entry(self, topic: str, queue_id: int, queue_offset: int) -> QueueEntry | None:
        """Where the message lies; the tags code is never an address."""
        if topic in self._batches.topics:
            return self._batch_queue_entry(topic, queue_id, queue_offset)
        queue = self._queues.find(topic, queue_id)
        entry = queue.entry(queue_offset) if queue is not None else None
        if entry is not None and queue is not None:
            entry.tags_code = queue.tags_code(entry.tags_code)
        return entry

    def _batch_queue_entry(self, topic: str, queue_id: int, offset: int) -> QueueEntry | None:
        queue = self._batches.find(topic, queue_id)
        entry = queue.entry(offset) if queue is not None else None
        if entry is None:
            return None
        return QueueEntry(entry.physical_offset, entry.size, entry.tags_code)

    def offset_by_time(self, topic: str, queue_id: int, timestamp: int, upper: bool = False) -> int:
        if topic in self._batches.topics:
            batch_queue = self._batches.find(topic, queue_id)
            return batch_queue.offset_by_time(timestamp, upper) if batch_queue is not None else 0
        queue = self._queues.find(topic, queue_id)
        return self._times.find(queue, timestamp, upper) if queue is not None else 0

    def store_time(self, topic: str, queue_id: int, queue_offset: int) -> int:
        """-1 when there is no such message."""
        entry = self.queue_entry(topic, queue_id, queue_offset)
        if entry is None:
            return -1
        return store_timestamp(self._log, entry.physical_offset, entry.size)

    def earliest_store_time(self, topic: str, queue_id: int) -> int:
        """Of the queue's first message; -1 when it is empty."""
        return self.store_time(topic, queue_id, self.min_offset(topic, queue_id))

    def has_message(self, topic: str, queue_id: int, queue_offset: int) -> bool:
        """Whether the queue has this message and the log too (checkInMemByConsumeOffset).

        The real broker asks whether it lies in the page cache, by a method of MappedByteBuffer that
        JDK 17 no longer has; every message counts as one in memory there.
        """
        entry = self.queue_entry(topic, queue_id, queue_offset)
        return entry is not None and self._log.contains(entry.physical_offset, entry.size)

    def topics(self) -> list[str]:
        """Topics that have a consume queue."""
        return self._queues.topics()

    def queues(self, topic: str) -> list[int]:
        return self._queues.queue_ids(topic)

    def delete_topic(self, topic: str) -> bool:
        """Remove the topic's queues; its records stay until their file expires."""
        return self._queues.delete_topic(topic)

    # --- flushing

    @property
    def min_physical_offset(self) -> int:
        return self._log.min_offset

    @property
    def max_physical_offset(self) -> int:
        return self._log.written

    @property
    def flushed_offset(self) -> int:
        return self._log.flushed

    @property
    def dispatch_behind_bytes(self) -> int:
        """Always 0 (ReputMessageService.behind): entries are readable with their record."""
        return 0

    def flush(self) -> int:
        """Blocks until all that is written is on the disk; returns that offset."""
        return self._log.flush()

    def write_derived(self) -> bool:
        """Write some consume queues' new entries to their files; True when more are waiting.

        Waits for no disk, so it runs on the event loop. StoreError: the entries stay in memory,
        and the next call tries again. Not to be called while a checkpoint is written.
        """
        return self._behind.step(self._appender)

    def plan_checkpoint(self) -> Checkpointing:
        """What to sync and write down, for `run` in a worker thread."""
        return self._behind.plan_checkpoint()
