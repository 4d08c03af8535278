"""Staging: messages become records, with their queue offset and place in the commit log.

Staged records are visible to nobody until `write` has written them to the files with one system
call; then their consume-queue entries and listeners (`dispatch.py`) and their effects (`messages/effects.py`)
follow. If writing fails, all offsets are as before, and nothing had an effect.

What two requests of one receive must know of each other before anything is written, say that a half
message was ended, is a claim: a set that is emptied by the write, and when what is staged is
forgotten. A write with claims first calls those who stage a last record for all of them.

Hot: compiled by mypyc when a compiler is there.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter_ns

from trimq.codec.flags import SysFlag
from trimq.codec.native import encode_record
from trimq.codec.records.multi_dispatch import NAMES_MARK
from trimq.codec.records.record import record_size
from trimq.store.appending.batch_sends import encode_batch
from trimq.store.appending.dispatch import Dispatch, Entered
from trimq.store.appending.lmq_queues import LightQueues
from trimq.store.appending.record_limits import RecordLimits, closed_properties
from trimq.store.errors import StoreError
from trimq.store.log.commit_log import CommitLog
from trimq.store.messages.effects import Claim, Effect
from trimq.store.messages.message import Appended, AppendedBatch, Dispatched, Message
from trimq.store.messages.tags import TagCodes
from trimq.store.queues.queue import Queue
from trimq.store.queues.queues import Queues


class Appender:
    __slots__ = (
        "_dispatch",
        "_effects",
        "_entered",
        "_light",
        "_limits",
        "_log",
        "_now_millis",
        "_queues",
        "_staged",
        "_staged_queues",
        "_tags",
        "_with_claims",
        "claims",
        "failed",
        "write_nanos",
    )

    def __init__(
        self,
        log: CommitLog,
        queues: Queues,
        tags: TagCodes,
        max_message_size: int,
        now_millis: Callable[[], int],
        dispatch: Dispatch,
        light: LightQueues | None = None,
    ) -> None:
        """`light`: None when messages are in their own queue only, whatever they say."""
        # How long the last write took, and how many messages were lost with one since the start.
        self.write_nanos = 0
        self.failed = 0
        self._log = log
        self._queues = queues
        self._tags = tags
        self._limits = RecordLimits(log, max_message_size)
        self._now_millis = now_millis
        self._dispatch = dispatch
        self._staged: list[Dispatched] = []
        # None for records without an entry.
        self._staged_queues: list[Queue | None] = []
        self._effects: list[tuple[Effect, Dispatched, Message]] = []
        self._light = light
        # Records with entries in light queues too.
        self._entered: list[Entered] = []
        self._with_claims: list[Callable[[], None]] = []
        # What the requests that staged have decided; to be added to, not replaced.
        self.claims: set[Claim] = set()

    def limit_bodies(self, longest: int) -> None:
        """From now on no body may have more bytes than this (maxMessageSize)."""
        self._limits.limit_bodies(longest)

    def add_last_stager(self, stage: Callable[[], None]) -> None:
        """Called before a write with claims: the place to stage one record for all of them.

        What it raises fails the write.
        """
        self._with_claims.append(stage)

    def stage(self, message: Message) -> Appended:
        if not has_queue(message.sys_flag):
            return self._stage_at(message, None, 0, 0)
        queue = self._queues.get(message.topic, message.queue_id)
        light = self._light
        # With the tag's hash, somebody has looked at the properties.
        if light is not None and message.tag_hash is None and NAMES_MARK in message.properties:
            return self._stage_light(message, queue, light)
        return self._stage_at(message, queue, queue.next_offset, queue.count(message))

    def stage_all(self, messages: list[Message]) -> list[Appended]:
        """`stage` for each, none of which names light queues; with StoreError nothing is staged."""
        for message in messages:
            properties, topic = closed_properties(message.properties), message.topic.encode()
            size = record_size(len(message.body), len(topic), len(properties), message.sys_flag)
            self._limits.check(message.body, properties, size)
            if has_queue(message.sys_flag):
                self._queues.get(message.topic, message.queue_id)
        return [self.stage(message) for message in messages]

    def _stage_light(self, message: Message, queue: Queue, light: LightQueues) -> Appended:
        """With an entry in each light queue that it names (CommitLog.handlePropertiesForLmqMsg)."""
        entered = light.enter(message, queue)
        appended = self._stage_at(message, queue, queue.next_offset, queue.count(message))
        if entered:
            record = self._staged[-1]
            record.light_queues = tuple([(one.topic, one.next_offset) for one in entered])
            for one in entered:
                one.next_offset += 1
            self._entered.append((record, entered))
        return appended

    def _stage_at(
        self, message: Message, queue: Queue | None, queue_offset: int, count: int
    ) -> Appended:
        topic = message.topic.encode()
        properties = closed_properties(message.properties)
        size = record_size(len(message.body), len(topic), len(properties), message.sys_flag)
        self._limits.check(message.body, properties, size)
        position = self._log.place(size)
        # Its own: what a timer has just let pass would be early by the time of the first one staged.
        now = self._now_millis()
        record = encode_record(
            topic,
            message.queue_id,
            message.flag,
            queue_offset,
            position,
            message.sys_flag,
            message.born_timestamp,
            message.born_host,
            now,
            message.store_host,
            message.reconsume_times,
            message.prepared_transaction_offset,
            message.body,
            properties,
        )
        self._log.add(position, record)
        size = len(record)
        self._note(message, queue, queue_offset, count, position, size, properties, now)
        return Appended(queue_offset, position, size, now)

    def stage_batch(self, message: Message) -> AppendedBatch:
        """Records for all items of the body, with consecutive queue offsets and in one file."""
        if not has_queue(message.sys_flag):
            raise StoreError("a batch cannot be part of a transaction")
        queue = self._queues.get(message.topic, message.queue_id)
        first = queue.next_offset
        now = self._now_millis()
        position = self._log.place(0)
        has_light = self._light is not None
        records = encode_batch(message, first, position, now, self._limits, has_light)
        if self._log.place(len(records.data)) != position:
            # They belong in the next file.
            position = self._log.place(len(records.data))
            records = encode_batch(message, first, position, now, self._limits, has_light)
        # Nothing can fail from here on: records and their offsets are staged together.
        self._log.add(position, records.data)
        at = position
        for index, size in enumerate(records.sizes):
            properties = records.properties[index]
            self._note(message, queue, first + index, 1, at, size, properties, now)
            at += size
        return AppendedBatch(first, position, records.sizes, at)

    def _note(
        self,
        message: Message,
        queue: Queue | None,
        queue_offset: int,
        count: int,
        position: int,
        size: int,
        properties: bytes,
        now: int,
    ) -> None:
        """Remember a record that was given to the log, until it is written."""
        dispatched = Dispatched(
            message.topic,
            message.queue_id,
            queue_offset,
            position,
            size,
            self._tags.code(message.topic, properties, now, message.tag_hash),
            now,
            message.sys_flag,
            properties,
            count,
        )
        if queue is not None:
            queue.next_offset = queue_offset + count
            if queue.effect is not None:
                self._effects.append((queue.effect, dispatched, message))
        self._staged.append(dispatched)
        self._staged_queues.append(queue)

    @property
    def has_staged(self) -> bool:
        """Whether a write would have something to do; a claim may be all there is yet."""
        return len(self._staged) > 0 or len(self.claims) > 0

    def discard(self) -> None:
        """Take back what is staged."""
        self._forget()
        self._log.discard()

    def _forget(self) -> None:
        # Backwards: each queue's first record has the last word.
        for index in range(len(self._staged) - 1, -1, -1):
            queue = self._staged_queues[index]
            if queue is not None:
                queue.next_offset = self._staged[index].queue_offset
        for record, entered in reversed(self._entered):
            for light, (_, offset) in zip(entered, record.light_queues, strict=True):
                light.next_offset = offset
        self._staged = []
        self._staged_queues = []
        self._effects = []
        self._entered = []
        self.claims.clear()

    def write(self) -> None:
        """Write what is staged to the log and notify the listeners; on StoreError all of it is taken back."""
        if self.claims:
            self._stage_last()
        staged = self._staged
        if not staged:
            return
        queues = self._staged_queues
        began = perf_counter_ns()
        try:
            self._log.write()
        except StoreError:
            self.failed += len(staged)
            self._forget()
            raise
        self.write_nanos = perf_counter_ns() - began
        effects = self._effects
        entered = self._entered
        self._staged = []
        self._staged_queues = []
        self._entered = []
        self._dispatch.enter(staged, queues, entered)
        if effects:
            self._effects = []
            for effect, record, message in effects:
                # Whatever one of them does: it is written, and the others are owed theirs.
                try:
                    effect(record, message)
                except Exception as error:
                    self._dispatch.failures.of_effect(record, error)
        if self.claims:
            self.claims.clear()
        self._dispatch.tell(staged)

    def _stage_last(self) -> None:
        try:
            for stage in self._with_claims:
                stage()
        except BaseException:
            # What decides must not be written without the record that says so.
            self.discard()
            raise


def has_queue(sys_flag: int) -> bool:
    """Prepared and rolled-back messages have no place in a queue."""
    kind = sys_flag & SysFlag.TRANSACTION_MASK
    return kind in (SysFlag.NOT_TRANSACTION, SysFlag.COMMIT)
