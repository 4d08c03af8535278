"""The store as the broker sees it: opening and closing, appending and flushing. What is read: `ReadableStore`.

Synchronous, and for one thread: only `flush`, `Checkpointing.run`, `HeldRead.read` and what
`cleaning` and `trimming` document as such may (and should) run in a worker thread, because they
wait for the disk; they touch files, and no state that others change.

How the broker drives it: `stage` for every send of one receive, then `write_staged` once;
`flush` every flush interval, or as soon as somebody waits under SYNC_FLUSH, then `show`; `write_derived` about
every second until it answers False, then `plan_checkpoint().run()` in a thread.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from pathlib import Path

from trimq.store.appending.appender import Appender
from trimq.store.appending.dispatch import NO_BOUND, Dispatch, Listener, WriteListener
from trimq.store.appending.lmq_queues import LightQueues
from trimq.store.config import StoreConfig
from trimq.store.disk.directory import StoreDirectory
from trimq.store.disk.files import store_error
from trimq.store.disk.usage import used_share
from trimq.store.errors import StoreError, StoreNotWritable
from trimq.store.log.page_guard import PageGuard
from trimq.store.messages.effects import Claim, Effect
from trimq.store.messages.message import Appended, AppendedBatch, Message
from trimq.store.opening.derived_points import DerivedPoints
from trimq.store.opening.opening import Opening
from trimq.store.opening.recovery_points import RecoveryPoints
from trimq.store.opening.report import RecoveryReport
from trimq.store.opening.truncation import Truncation
from trimq.store.queues.files.writing import Writing
from trimq.store.reading.readable_store import ReadableStore
from trimq.store.slave.copied_log import CopiedLog
from trimq.store.upkeep.checkpointing import Checkpointing
from trimq.store.upkeep.cleaning import LogCleaning
from trimq.store.upkeep.deletion import QueueDeletion
from trimq.store.upkeep.trimming import Trimming
from trimq.store.upkeep.write_behind import WriteBehind


class MessageStore(ReadableStore):
    """`now_millis` gives the store timestamps; nothing here reads the clock.

    `disk_use` says how full the file system of a path is, from 0.0 to 1.0.
    """

    def __init__(
        self,
        config: StoreConfig,
        now_millis: Callable[[], int],
        disk_use: Callable[[Path], float] = used_share,
    ) -> None:
        super().__init__(config, now_millis)
        self._directory = StoreDirectory(config.root)
        has_light = config.enable_lmq and config.enable_multi_dispatch
        self._light = LightQueues(config, self._queues) if has_light else None
        self._dispatch = Dispatch(self._queues, when_flushed=config.flush_disk_type == "SYNC_FLUSH")
        self._appender = Appender(
            self._log,
            self._queues,
            self._tags,
            config.max_message_size,
            now_millis,
            self._dispatch,
            self._light,
        )
        self._dispatch.add_listener(self._index.arrived)
        self._page_guard = PageGuard()
        self.disk_use = disk_use
        self.cleaning = LogCleaning(config, self._log, now_millis, disk_use)
        self.trimming = Trimming(self._log, self._queues)
        self.trimming.derived.append(self._index)
        self.deletion = QueueDeletion(self._queues, self._dispatch)
        self.deletion.add_listener(self._forget_kept)
        checkpoint_file = self._directory.checkpoint_file
        self._behind = WriteBehind(
            self._log, self._queues, self._index, self._open_files.unsynced, checkpoint_file
        )
        self.recovery_points = RecoveryPoints(
            lambda: self._log.written, lambda: config.recovery_bytes
        )
        self.derived_points = DerivedPoints(
            self.recovery_points, self._log, self._index, self._behind, self._dispatch
        )
        self._dispatch.add_write_listener(self.recovery_points.written)
        recovered = (
            self._log,
            self._queues,
            self._index,
            self._behind,
            self._tags,
            has_light,
            self.derived_points,
        )
        self._opening = Opening(self._directory, *recovered)
        self._truncation = Truncation(*recovered)
        self._cut_listeners: list[Callable[[int], object]] = []
        # A failed write with messages whose stager does not know yet.
        self._owed: StoreError | None = None
        self._is_open = False
        # The last record that recovery has found.
        self._last_found = 0
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
            report = self._opening.run(queue_types or {})
        except OSError as error:
            self.abandon()
            raise store_error(error, f"opening {self._config.root}") from error
        except StoreError:
            self.abandon()
            raise
        self._recovered(report)
        self._is_open = True
        return report

    def _recovered(self, report: RecoveryReport) -> None:
        self._dispatch.restart(report.end, report.last_record, report.last_timestamp)
        self._last_found = max(report.last_record, 0)

    def close(self) -> None:
        """Write and flush everything; blocks. The `abort` file stays if that fails."""
        if not self._is_open:
            return
        self._is_open = False
        try:
            self._appender.write()
            # Nobody reads any more; the checkpoint flushes before it vouches for anything.
            self._dispatch.show_whatever(self._log.written)
            self._behind.stop()
            self._queues.finish_removals()
            # The first round may have begun before the last messages came.
            while self.write_derived() or not self._queues.rounds.clean:
                pass
            self._log.settle()
            self.plan_checkpoint().run()
            self._directory.mark_closed()
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Close the files and write nothing more: it leaves what a crash leaves, `abort` included."""
        self._is_open = False
        self._behind.stop()
        self._log.close()
        self._open_files.close()
        self._directory.unlock()

    def cut(self, offset: int) -> RecoveryReport:
        """The store is as if it had been closed, its log had ended there, and it had been opened again.

        So the log ends with the last whole record at or before `offset`, which a flushed or confirmed message may be
        behind: that is for whoever cuts to know. What somebody is being sent of the rest, he gets whole, or the read
        fails (MessagesGone). Blocks on the disk as opening does, and while a flush or checkpoint is under way.
        StoreError: nothing has changed, or the store takes nothing more until it is opened again.
        """
        if self._appender.has_staged:
            raise StoreError("what is staged has to be written before the log is cut")
        self._dispatch.show_whatever(offset)
        report = self._truncation.cut(offset, self._opening.begin)
        self._recovered(report)
        self.trimming.restart()
        if self._copied is not None:
            self._copied.restart()
        self._dispatch.failures.take_topics()
        for listener in self._cut_listeners:
            listener(report.end)
        return report

    def add_cut_listener(self, listener: Callable[[int], object]) -> None:
        """Called with the log's new end when it was cut: whatever was made of records behind it has to be forgotten."""
        self._cut_listeners.append(listener)

    def follow(self) -> CopiedLog:
        """From now on, on an open store: it takes another broker's log, and no message of its own."""
        has_light = self._light is not None
        self._copied = CopiedLog(
            self._log, self._queues, self._tags, self._dispatch, has_light, self.largest_record
        )
        return self._copied

    @property
    def last_shown(self) -> int:
        """Where the last record is that queues have; -1 without any."""
        return self._dispatch.last_offset

    @property
    def master_flushed_offset(self) -> int:
        """What a slave was told that its master has flushed; nothing here depends on it."""
        return self._behind.checkpoint.master_flushed_offset

    @master_flushed_offset.setter
    def master_flushed_offset(self, offset: int) -> None:
        """The next checkpoint says so, too."""
        self._behind.checkpoint.master_flushed_offset = offset

    def declare_queue_type(self, topic: str, queue_type: str) -> None:
        """From now on the topic's queues are of this type; before it has a message."""
        self._queues.declare(topic, queue_type)

    # --- appending

    def add_listener(self, listener: Listener) -> None:
        """Called once a write with its records, in order, when readers see them: before `write_staged` returns, or
        with SYNC_FLUSH before `show` does.
        """
        self._dispatch.add_listener(listener)

    def add_write_listener(self, listener: WriteListener) -> None:
        """Called once a write, before `write_staged` returns, whether readers see its records or not."""
        self._dispatch.add_write_listener(listener)

    def take_failed_effects(self) -> set[str]:
        """Topics of which an effect has failed since this was asked last: what was made of them is not whole."""
        return self._dispatch.failures.take_topics()

    @property
    def failures(self) -> int:
        """How often an effect or a listener has failed since the start."""
        return self._dispatch.failures.count

    def give_effect(self, topic: str, effect: Effect) -> None:
        """Applied to each record of the topic once it is written, before listeners are called."""
        self._queues.give_effect(topic, effect)

    def enter_at_once(self, topic: str) -> None:
        """Only the broker itself reads this topic, and needs to see what it has written (as with an effect)."""
        self._queues.enter_at_once(topic)

    @property
    def claims(self) -> set[Claim]:
        """What is decided by staged records; empty after the write, or when it has failed."""
        return self._appender.claims

    def add_last_stager(self, stage: Callable[[], None]) -> None:
        """Called in each write with claims, before it: stages one record for all of them."""
        self._appender.add_last_stager(stage)

    @property
    def longest_body(self) -> int:
        """Bytes of a message's body, at most (maxMessageSize)."""
        return self._config.max_message_size

    @property
    def writable(self) -> bool:
        return self._is_open and self._log.writable and not self.cleaning.disk_full

    def check_writable(self) -> None:
        """StoreNotWritable when no message is accepted, whatever it is (RunningFlags.isWriteable)."""
        if not self._is_open or self._copied is not None:
            self._check_own()
        if self.cleaning.disk_full:
            raise StoreNotWritable(f"the disk is full: {self.cleaning.use}")

    def _check_own(self) -> None:
        if not self._is_open:
            raise StoreNotWritable("the store is not open")
        if self._copied is not None:
            raise StoreNotWritable("the store follows another broker's log")

    def check_light(self, message: Message) -> None:
        """StoreError: why the light queues that the message names could not have it; `stage` just leaves them out."""
        if self._light is not None:
            self._light.check(message)

    def stage(self, message: Message) -> Appended:
        """Give the message its offsets; it is in the store when `write_staged` has returned."""
        self.check_writable()
        return self._appender.stage(message)

    def stage_all(self, messages: list[Message]) -> list[Appended]:
        """Like `stage` for each of these, which name no light queues; with StoreError none of them is staged."""
        self.check_writable()
        return self._appender.stage_all(messages)

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

    @property
    def last_write_millis(self) -> int:
        """How long the last write to the log took."""
        return self._appender.write_nanos // 1_000_000

    @property
    def failed_puts(self) -> int:
        """Messages whose write failed, since the start."""
        return self._appender.failed

    def put(self, message: Message) -> Appended:
        """Stage and write. What others have staged before is written too.

        If that fails, `write_staged` tells them: nobody may mistake silence for success.
        """
        self.check_writable()
        return self._put(message)

    def put_again(self, message: Message) -> Appended:
        """`put` for what would go with a file, even on a disk that counts as full: or no file could go."""
        self._check_own()
        return self._put(message)

    def _put(self, message: Message) -> Appended:
        others = self._appender.has_staged
        appended = self._appender.stage(message)
        self._write_now(others)
        return appended

    def write_others(self) -> None:
        """Write what others have staged, before a decision about where queues end. StoreError as with `put`."""
        if self._appender.has_staged:
            self._write_now(others=True)

    def _write_now(self, others: bool) -> None:
        try:
            self._appender.write()
        except StoreError as error:
            if others:
                self._owed = error
            raise

    def begin_queue(self, topic: str, queue_id: int, offset: int) -> None:
        """The queue forgets all that it has and goes on at this offset. For a start. StoreError."""
        try:
            queue = self._queues.get(topic, queue_id)
            queue.begin_at(offset)
            queue.prepare()
        except OSError as error:
            raise store_error(error, f"numbering queue {queue_id} of {topic} anew") from error

    # --- topics that go

    def delete_topic(self, topic: str) -> bool:
        """At once, blocking on the disk (`deletion.at_once`)."""
        return self.deletion.at_once(topic)

    def delete_in_steps(self, topic: str) -> Generator[Callable[[], object] | None, None, bool]:
        """Some queues at a time, with a worker thread (`deletion.in_steps`)."""
        return self.deletion.in_steps(topic)

    # --- flushing

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
        """What is written before this offset is on the disk: with SYNC_FLUSH readers may see it, if nothing else
        keeps them from it (CommitLog.getConfirmOffset).
        """
        # The log may have been cut since that flush began.
        self._dispatch.flushed(min(flushed, self._log.flushed))
        if self._copied is not None:
            self._copied.show()

    def confirm(self, offset: int | None) -> None:
        """In a term: its slaves have everything before this offset, within a record or not, and readers see no
        record that ends behind it. Queue offsets behind it are used up all the same. None: there is no such bound.
        """
        self._dispatch.confirm(NO_BOUND if offset is None else offset)
        if self._copied is not None:
            self._copied.show()

    @property
    def many_queues_wait(self) -> bool:
        """Whether so many queues have new entries that to write them often costs more than it is worth."""
        return self._queues.rounds.many_are_dirty

    def take_derived(self) -> Writing:
        """The entries of some consume queues, to be run in a worker thread and settled then. Not to be called while a
        checkpoint is written.
        """
        self._page_guard.check()
        return self._behind.take(self._dispatch)

    def settle_derived(self, writing: Writing) -> bool:
        """It has run: what is in the files need not be in memory any more, what is not will be taken again. True when
        more is waiting.
        """
        return self._behind.settle(writing)

    def write_derived(self) -> bool:
        """The same at once: write some consume queues' new entries; True when more are waiting. Blocks on the disk.

        StoreError: the entries stay in memory, and the next call tries again.
        """
        writing = self.take_derived()
        try:
            writing.run()
        finally:
            is_more = self.settle_derived(writing)
        return is_more

    def plan_checkpoint(self) -> Checkpointing:
        """What to sync and write down, for `run` in a worker thread."""
        confirmed = self._dispatch.confirmed
        if confirmed == NO_BOUND:
            # RocketMQ notes what it has found at its start, and no more until there is a term.
            confirmed = self._last_found
        return self._behind.plan_checkpoint(min(confirmed, self._log.written))
