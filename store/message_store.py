"""The store as the broker sees it: appending, reading, flushing, opening and closing.

Synchronous, and for one thread: only `flush`, `Checkpointing.run`, `HeldRead.read` and what
`cleaning` and `trimming` document as such may (and should) run in a worker thread, because they
wait for the disk; they touch files, and no state that others change.

How the broker drives it: `stage` for every send of one receive, then `write_staged` once;
`flush` every flush interval, or as soon as somebody waits under SYNC_FLUSH, then `show`; `write_derived` about
every second until it answers False, then `plan_checkpoint().run()` in a thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from trimq.codec.entries.queue import QueueEntry
from trimq.codec.frames.frame import FRAME_LIMIT
from trimq.store.appending.appender import Appender
from trimq.store.appending.light_queues import LightQueues
from trimq.store.appending.showing import Listener, Showing, WriteListener
from trimq.store.config import StoreConfig
from trimq.store.disk.directory import StoreDirectory
from trimq.store.disk.files import OpenFiles, store_error
from trimq.store.disk.usage import used_share
from trimq.store.errors import MessagesGone, StoreError, StoreNotWritable
from trimq.store.following.copied_log import CopiedLog
from trimq.store.index.message_index import Index
from trimq.store.index.search import IndexSearch
from trimq.store.log.commit_log import CommitLog
from trimq.store.log.held_files import HeldFiles
from trimq.store.log.held_read import ColdReads, HeldRead
from trimq.store.log.page_guard import PageGuard
from trimq.store.log.paths import LogPaths
from trimq.store.log.scan import LogScanner, file_at_time, record_at
from trimq.store.messages.effects import Claim, Effect
from trimq.store.messages.filter import MessageFilter
from trimq.store.messages.message import Appended, AppendedBatch, Dispatched, Message
from trimq.store.messages.tags import TagCodes
from trimq.store.opening.index_recovery import IndexRecovery
from trimq.store.opening.recovery import Recovery, RecoveryReport
from trimq.store.queues.pull import PullLimits
from trimq.store.queues.queues import Queues
from trimq.store.queues.time_search import store_timestamp
from trimq.store.reading.loading import Buffer, join_now, load_now, view_now
from trimq.store.reading.pulls import MAX_PULL_BYTES, QueueReader, ReadResult, Scan
from trimq.store.reading.replaying import replay
from trimq.store.upkeep.checkpoint import raise_index_timestamp
from trimq.store.upkeep.checkpointing import Checkpointing
from trimq.store.upkeep.cleaning import LogCleaning
from trimq.store.upkeep.trimming import Trimming
from trimq.store.upkeep.write_behind import WriteBehind


class MessageStore:
    """`now_millis` gives the store timestamps; nothing here reads the clock.

    `disk_use` says how full the file system of a path is, from 0.0 to 1.0.
    """

    def __init__(
        self,
        config: StoreConfig,
        now_millis: Callable[[], int],
        disk_use: Callable[[Path], float] = used_share,
    ) -> None:
        self._config = config
        # No frame can be larger, unless a setting allows it; topic and properties are below 64 KiB
        # each.
        self.largest_record = max(FRAME_LIMIT, config.max_message_size + 128 * 1024)
        self._directory = StoreDirectory(config.root)
        self._open_files = OpenFiles(config.open_files)
        self._log = CommitLog(
            LogPaths(config.commit_logs, config.read_only_commit_logs),
            config.mapped_file_size_commit_log,
            self._open_files,
            config.hot_bytes,
        )
        self._queues = Queues(config, self._open_files)
        self.bit_maps = self._queues.bit_maps
        self._tags = TagCodes(config.delay_levels)
        has_light = config.enable_lmq and config.enable_multi_dispatch
        self._light = LightQueues(config, self._queues) if has_light else None
        self._showing = Showing(self._queues, when_flushed=config.flush_disk_type == "SYNC_FLUSH")
        self._appender = Appender(
            self._log,
            self._queues,
            self._tags,
            config.max_message_size,
            now_millis,
            self._showing,
            self._light,
        )
        self._index = Index(config, now_millis)
        self._showing.add_listener(self._index.arrived)
        self._reader = QueueReader(config, self._log)
        self._cold_reads = ColdReads()
        self._page_guard = PageGuard()
        self.disk_use = disk_use
        self.cleaning = LogCleaning(config, self._log, now_millis, disk_use)
        self.trimming = Trimming(self._log, self._queues)
        self.trimming.derived.append(self._index)
        checkpoint_file = self._directory.checkpoint_file
        self._behind = WriteBehind(
            self._log, self._queues, self._index, self._open_files.unsynced, checkpoint_file
        )
        # A failed write with messages whose stager does not know yet.
        self._owed: StoreError | None = None
        self._topic_listeners: list[Callable[[str], object]] = []
        # First offsets of queues whose older messages are kept outside of the log.
        self._kept_from: dict[tuple[str, int], int] = {}
        self._is_open = False
        # With another broker's log it takes no messages.
        self._copied: CopiedLog | None = None

    def heed_settings(self) -> None:
        """Settings have changed: update the copies kept for speed."""
        self._appender.limit_bodies(self._config.max_message_size)
        self._reader.heed_settings()

    # --- opening and closing

    def open(self, queue_types: Mapping[str, str] | None = None) -> RecoveryReport:
        """Lock, recover, mark as open; blocks. StoreInUse, StoreDamaged: nothing was changed.

        `queue_types`: the `queue.type` of topics that have one; what is found on disk counts too.
        """
        try:
            self._page_guard.set()
            self._directory.lock()
            self._directory.refuse_foreign()
            clean = not self._directory.was_aborted()
            checkpoint = self._behind.load_checkpoint()
            self._log.load(None if clean else checkpoint.queue_physical_offset)
            vouch = partial(raise_index_timestamp, self._directory.checkpoint_file)
            index = IndexRecovery(self._index, self._log, checkpoint, vouch)
            has_light = self._light is not None
            recovery = Recovery(self._log, self._queues, index, checkpoint, self._tags, has_light)
            report = recovery.run(clean, queue_types or {}, self._begin)
            # Recovery may have changed it.
            self._behind.load_checkpoint()
        except OSError as error:
            self.abandon()
            raise store_error(error, f"opening {self._config.root}") from error
        except StoreError:
            self.abandon()
            raise
        self._showing.last_offset = report.last_record
        self._showing.last_timestamp = report.last_timestamp
        self._is_open = True
        return report

    def _begin(self, checkpoint_is_wrong: bool) -> None:
        """Before anything changes: from now on this is not a clean stop until it ends like one."""
        if checkpoint_is_wrong:
            self._behind.take_back_checkpoint()
        self._directory.mark_open()

    def close(self) -> None:
        """Write and flush everything; blocks. The `abort` file stays if that fails."""
        if not self._is_open:
            return
        self._is_open = False
        try:
            self._appender.write()
            # Nobody reads any more; the checkpoint flushes before it vouches for anything.
            self.show(self._log.written)
            # The first round may have begun before the last messages came.
            while self.write_derived() or not self._queues.clean:
                pass
            self.plan_checkpoint().run()
            self._directory.mark_closed()
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Close the files and write nothing more: it leaves what a crash leaves, `abort` included."""
        self._is_open = False
        self._log.close()
        self._open_files.close()
        self._directory.unlock()

    def follow(self) -> CopiedLog:
        """From now on, on an open store: it takes another broker's log, and no message of its own."""
        has_light = self._light is not None
        self._copied = CopiedLog(
            self._log, self._queues, self._tags, self._showing, has_light, self.largest_record
        )
        return self._copied

    def declare_queue_type(self, topic: str, queue_type: str) -> None:
        """From now on the topic's queues are of this type; before it has a message."""
        self._queues.declare(topic, queue_type)

    # --- appending

    def add_listener(self, listener: Listener) -> None:
        """Called once a write with its records, in order, when readers see them: before `write_staged` returns, or
        with SYNC_FLUSH before `show` does.
        """
        self._showing.add_listener(listener)

    def add_write_listener(self, listener: WriteListener) -> None:
        """Called once a write, before `write_staged` returns, whether readers see its records or not."""
        self._showing.add_write_listener(listener)

    def give_effect(self, topic: str, effect: Effect) -> None:
        """Applied to each record of the topic once it is written, before listeners are called."""
        self._queues.give_effect(topic, effect)

    def enter_at_once(self, topic: str) -> None:
        """Only the broker itself reads this topic, and needs to see what it has written (as with an effect)."""
        self._queues.enter_at_once(topic)

    def replay(
        self, topic: str, queue_id: int, begin: int, effect: Effect, bodies: bool = True
    ) -> int:
        """Apply an effect to what the queue has from an offset on; where the queue ends. Blocks.

        For records that were written before this process began.
        """
        return replay(self._log, self._queues.find(topic, queue_id), begin, effect, bodies)

    @property
    def claims(self) -> set[Claim]:
        """What is decided by staged records; empty after the write, or when it has failed."""
        return self._appender.claims

    def add_last_stager(self, stage: Callable[[], None]) -> None:
        """Called in each write with claims, before it: stages one record for all of them."""
        self._appender.add_last_stager(stage)

    @property
    def writable(self) -> bool:
        return self._is_open and self._log.writable and not self.cleaning.disk_full

    def check_writable(self) -> None:
        """StoreNotWritable when no message is accepted, whatever it is (RunningFlags.isWriteable)."""
        if not self._is_open:
            raise StoreNotWritable("the store is not open")
        if self._copied is not None:
            raise StoreNotWritable("the store follows another broker's log")
        if self.cleaning.disk_full:
            raise StoreNotWritable(f"the disk is full: {self.cleaning.use}")

    def check_light(self, message: Message) -> None:
        """StoreError: why the light queues that the message names could not have it; `stage` just leaves them out."""
        if self._light is not None:
            self._light.check(message)

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
        """Stage and write. What others have staged before is written too.

        If that fails, `write_staged` tells them: nobody may mistake silence for success.
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
        queue = self._queues.find(topic, queue_id)
        return self._reader.read(queue, offset, max_messages, max_bytes, tag_codes).result

    @property
    def pull_limits(self) -> PullLimits:
        """How much one pull may return."""
        return self._reader.limits

    def scan(
        self, topic: str, queue_id: int, offset: int, max_messages: int, wanted: MessageFilter
    ) -> Scan:
        """`read` with a filter over properties, in steps: it holds the loop no longer than they last."""
        queue = self._queues.find(topic, queue_id)
        return self._reader.read(queue, offset, max_messages, MAX_PULL_BYTES, None, wanted)

    def load(self, extents: list[tuple[int, int]]) -> list[Buffer] | None:
        """The bytes of the extents if that needs no waiting; None: use `hold`."""
        return load_now(self._log, extents)

    def join(self, found: ReadResult) -> bytes | None:
        """All that was found, in one piece, if that is the fastest; None: use `view` or `load`."""
        return join_now(self._log, found)

    def view(self, extents: list[tuple[int, int]]) -> Sequence[Buffer | memoryview] | None:
        """Like `load`, for bytes that are sent and not read: nothing is copied."""
        return view_now(self._log, extents)

    def hold(self, extents: list[tuple[int, int]]) -> HeldRead:
        """Keep the files of the extents until `release`; `read` may run in a worker thread.

        MessagesGone when they no longer exist.
        """
        return self._cold_reads.hold(self._log, extents)

    def files(self, extents: list[tuple[int, int]]) -> HeldFiles | None:
        """The extents as they lie in the log, for a thread that sends them; None when they no longer exist."""
        try:
            held = self._cold_reads.hold(self._log, extents)
        except MessagesGone:
            return None
        return HeldFiles(held, sum([size for _, size in extents]))

    def is_hot(self, offset: int) -> bool:
        """Appended by this process, and recent enough to be certainly in the page cache."""
        return self._log.is_hot(offset)

    def load_blocking(self, extents: list[tuple[int, int]]) -> list[Buffer]:
        """Read the extents from the disk and wait for it."""
        held = self.hold(extents)
        try:
            return held.read()
        finally:
            held.release()

    def record_at(self, physical_offset: int) -> bytes | None:
        """The record that begins exactly there, if it is no larger than a message can be."""
        return record_at(self._log, physical_offset, self.largest_record)

    def records_from(self, physical_offset: int, since: int = 0) -> Iterator[Dispatched]:
        """All records from a boundary on, or in the files that end after `since`. Blocks."""
        start = max(physical_offset, file_at_time(self._log, since))
        return iter(LogScanner(self._log, start, self._log.written, self._tags))

    def plan_query(
        self, topic: str, key: str, max_count: int, begin: int, end: int, index_type: str = ""
    ) -> IndexSearch:
        """Looks for messages by key, or by tag with type T: `run` it in a worker thread.

        Store timestamps from `begin` to `end` count.
        """
        return self._index.search(topic, key, max_count, begin, end, index_type)

    def min_offset(self, topic: str, queue_id: int) -> int:
        """Of the first message that can be read; -1 for an empty queue of type BatchCQ."""
        first = self.first_in_log(topic, queue_id)
        return (
            min(first, self._kept_from.get((topic, queue_id), first)) if self._kept_from else first
        )

    def first_in_log(self, topic: str, queue_id: int) -> int:
        """Of the first message that is in the commit log."""
        return self._queues.find(topic, queue_id).min_offset

    def kept_from(self, topic: str, queue_id: int, offset: int) -> None:
        """The queue's messages can be read from there on, even when the log has them no longer."""
        self._kept_from[topic, queue_id] = offset

    def max_offset(self, topic: str, queue_id: int) -> int:
        return self._queues.find(topic, queue_id).max_offset

    def queue_entry(self, topic: str, queue_id: int, queue_offset: int) -> QueueEntry | None:
        """Where the message is; the tags code is never an address."""
        queue = self._queues.find(topic, queue_id)
        entry = queue.entry(queue_offset)
        if entry is not None:
            entry.tags_code = queue.tags_code(entry.tags_code)
        return entry

    def offset_by_time(self, topic: str, queue_id: int, timestamp: int, upper: bool = False) -> int:
        return self._queues.find(topic, queue_id).offset_by_time(timestamp, upper, self._log)

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

        The real broker asks whether it is in the page cache, by a method of MappedByteBuffer that
        JDK 17 no longer has; every message counts as one in memory there.
        """
        entry = self.queue_entry(topic, queue_id, queue_offset)
        return entry is not None and self._log.contains(entry.physical_offset, entry.size)

    def topics(self) -> list[str]:
        """Topics that have a consume queue."""
        return self._queues.topics()

    @property
    def light_queues(self) -> int:
        """How many light queues there are (getLmqNum)."""
        return len(self._queues.light)

    def queues(self, topic: str) -> list[int]:
        return self._queues.queue_ids(topic)

    def delete_topic(self, topic: str) -> bool:
        """Remove the topic's queues; its records stay until their file expires."""
        for place in [place for place in self._kept_from if place[0] == topic]:
            del self._kept_from[place]
        for listener in self._topic_listeners:
            listener(topic)
        self._showing.drop(topic)
        return self._queues.delete_topic(topic)

    def add_topic_listener(self, listener: Callable[[str], object]) -> None:
        """Called with each topic that is deleted."""
        self._topic_listeners.append(listener)

    # --- flushing

    @property
    def min_physical_offset(self) -> int:
        return self._log.min_offset

    @property
    def max_physical_offset(self) -> int:
        return self._log.written

    def next_log_file(self, offset: int) -> int:
        """First byte of the commit-log file after the one with `offset`."""
        return self._log.next_file(offset)

    @property
    def flushed_offset(self) -> int:
        return self._log.flushed

    @property
    def dispatch_behind_bytes(self) -> int:
        """What is in the log and in no queue yet (ReputMessageService.behind): never a message that was put here."""
        return 0 if self._copied is None else self._copied.end - self._copied.derived

    def flush(self) -> int:
        """Blocks until all that is written is on the disk; returns that offset."""
        return self._log.flush()

    def show(self, flushed: int) -> None:
        """With SYNC_FLUSH: readers may see what is written before this offset (CommitLog.getConfirmOffset)."""
        self._showing.show(flushed)

    def write_derived(self) -> bool:
        """Write some consume queues' new entries to their files; True when more are waiting.

        Waits for no disk, so it runs on the event loop. StoreError: the entries stay in memory,
        and the next call tries again. Not to be called while a checkpoint is written.
        """
        self._page_guard.check()
        return self._behind.step(self._showing)

    def plan_checkpoint(self) -> Checkpointing:
        """What to sync and write down, for `run` in a worker thread."""
        return self._behind.plan_checkpoint()
