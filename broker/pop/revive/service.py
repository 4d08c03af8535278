"""Reviving: what nobody acknowledged in time goes to the group's retry topic (PopReviveService).

Checkpoints and acknowledgements come off the wheel into the revive topic when they are due, a checkpoint
a second before its acknowledgements. Each of its queues is read in order. Two seconds after its time a
checkpoint is settled (the original waits as long, so that an acknowledgement may be a little late), if the
wheel is past it: what no acknowledgement names is put back. Then the position of CID_RMQ_SYS_REVIVE_GROUP moves up
to the first checkpoint that is not settled: a clock that was set back makes some wait longer than others.

A put-back that cannot be stored is tried again; a message that is gone is left out. What nobody can read or settle
goes by, with a line in the log: it must not stop the others.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Final, Protocol

import trio

from trimq.base.clock import Clock
from trimq.broker.config import BrokerConfig
from trimq.broker.groups.offsets.committed import ConsumerOffsets
from trimq.broker.groups.subscription_groups import SubscriptionGroups
from trimq.broker.pop.reading.result import records_in
from trimq.broker.pop.revive.open_checkpoints import OpenCheckpoint, OpenCheckpoints, Place
from trimq.broker.pop.revive.retry import ReviveRetry
from trimq.broker.produce.puts.rules import PutRefused
from trimq.broker.records import load_cold
from trimq.broker.topics.table import Topics
from trimq.codec.bodies.base import decode_body
from trimq.codec.bodies.pop import PopCheckPoint, decode_ack
from trimq.codec.errors import CodecError
from trimq.codec.names import REVIVE_GROUP
from trimq.codec.pop.handle import normal_topic
from trimq.codec.pop.revive_records import CHECKPOINT
from trimq.codec.records.fields import queue_offset_at
from trimq.codec.records.properties import find_property
from trimq.codec.records.property_keys import TAGS
from trimq.codec.records.record import Record, parse_record
from trimq.remoting.log_throttle import LogThrottle
from trimq.store.errors import DiskFull, MessagesGone, StoreError, StoreNotWritable
from trimq.store.message_store import MessageStore
from trimq.store.opening.recovery_points import RecoveryPoint, Unit
from trimq.store.reading.pulls import ReadStatus

log = logging.getLogger("trimq.pop")

_GRACE: Final = 2000
# Of rounds, when each checkpoint has a time of its own.
_LEAST_PAUSE: Final = 50
_AT_ONCE: Final = 32
_READ_BYTES: Final = 256 * 1024
# A checkpoint has 127 messages at most, and an acknowledgement names as many; but names may be long.
_LONGEST_NOTE: Final = 128 * 1024
# How often a record is tried that cannot be read, or a checkpoint that cannot be settled for no known reason.
_TRIES: Final = 10
# So many are put off in a round before the rest of the queue is: then the store is to blame.
_FAILURES: Final = 3
# Checkpoints in memory, some 100 MB of them, and of one queue.
_MOST_OPEN: Final = 100_000
_LEAST_OPEN: Final = 1_000
_DAY: Final = 86_400_000
# The default of timerMaxDelaySec: what was popped before it was set to less is heeded as well.
_USUAL_LONGEST: Final = 3 * _DAY
# Further than that no clock is set back.
_CENTURY: Final = 36_525 * _DAY
_TAGS: Final = TAGS.encode()


class _ReviveQueue(OpenCheckpoints):
    """One queue of the revive topic. `failures`: how often its next record could not be read."""

    __slots__ = ("failures",)

    def __init__(self, begin: int, most: int, broker_name: str) -> None:
        super().__init__(begin, most, broker_name)
        self.failures = 0


class Timers(Protocol):
    @property
    def clock(self) -> Clock: ...

    def delivered_before(self) -> int: ...


class Reviving:
    """`topic`: the revive topic. `settled`: checkpoints done since the start; `revived`: messages put back."""

    def __init__(
        self,
        config: BrokerConfig,
        topic: str,
        store: MessageStore,
        offsets: ConsumerOffsets,
        topics: Topics,
        groups: SubscriptionGroups,
        revive_retry: ReviveRetry,
        timers: Timers,
    ) -> None:
        self._timers = timers
        self._config = config
        self._topic = topic
        self._store = store
        self._offsets = offsets
        self._topics = topics
        self._groups = groups
        self._revive_retry = revive_retry
        self._queues: dict[int, _ReviveQueue] = {}
        # The last round tried what is due before this time.
        self._looked_until = 0
        # When the next round begins; 0 while there is one, and before the first.
        self._next_round = 0
        self._throttle = LogThrottle()
        self.settled = 0
        # The position of each queue that the offsets' file has, and that it will have.
        self._written: dict[int, int] = {}
        self._being_written: dict[int, int] = {}
        self._is_late = False
        offsets.file.add_listener(self)
        self.recovery_point = RecoveryPoint(
            "popped messages",
            "checkpoints that are due are settled by them",
            Unit.LATER,
            self._needed_from,
            self._owed,
            self._hurry,
        )

    # --- where a start would begin

    def load(self) -> None:
        """After the offsets."""
        self.noting()
        self.noted()

    def noting(self) -> None:
        self._being_written = {number: self._position(number) for number in self._numbers()}

    def noted(self) -> None:
        self._written = self._being_written

    def _position(self, queue_id: int) -> int:
        """Up to there all is settled."""
        return self._offsets.query(REVIVE_GROUP, self._topic, queue_id)

    def _needed_from(self) -> int:
        store = self._store
        entries = (
            store.queue_entry(self._topic, number, first) for number, first in self._firsts_needed()
        )
        found = (entry.physical_offset for entry in entries if entry is not None)
        return min(found, default=store.max_physical_offset)

    def _owed(self) -> int:
        size_from, topic = self._store.size_from, self._topic
        return sum(size_from(topic, number, first) for number, first in self._firsts_needed())

    def _firsts_needed(self) -> Iterator[tuple[int, int]]:
        for number in self._numbers():
            written = self._written.get(number, -1) + 1
            yield number, max(written, self._store.min_offset(self._topic, number))

    def _hurry(self) -> None:
        """What is settled counts at once, and goes to the file. What waits for its time is waited for."""
        self._is_late = True
        if any(self._position(one) > self._written.get(one, -1) for one in self._numbers()):
            self._offsets.file.hurry()

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            pause = self.pause()
            self._next_round = self._timers.clock.millis() + pause
            await self._timers.clock.sleep(pause / 1000)
            self._next_round = 0
            await self.round()

    def pause(self) -> int:
        """Milliseconds to the next round: until a checkpoint may be settled, at most `reviveInterval`.

        None if the time of one has come since the last round began, which may have been a long one. Another whose
        time is over waits for the wheel, or for a write that failed: no reason to hurry.
        """
        now, due = self._timers.clock.millis(), self._due()
        firsts = [one.due for one in self._firsts()]
        if any(self._looked_until <= first < due for first in firsts):
            return 0
        waits = [first + _GRACE + 1 - now for first in firsts]
        soonest = min((wait for wait in waits if wait > 0), default=self._config.revive_interval)
        return min(self._config.revive_interval, max(soonest, _LEAST_PAUSE))

    def next_due(self, until: int) -> int | None:
        """When records are read, or the first checkpoint is settled, in ms since 1970; 0 during a round."""
        if self._next_round == 0 or self.behind():
            return self._next_round
        first = min((one.due for one in self._firsts()), default=None)
        return None if first is None else max(first + _GRACE + 1, self._next_round)

    def _due(self) -> int:
        """Checkpoints of before may be settled. What the wheel has not delivered may acknowledge later ones."""
        return min(self._timers.delivered_before(), self._timers.clock.millis() - _GRACE)

    async def round(self) -> None:
        """Read what has come, and settle what is due."""
        self._revive_retry.clock_went_back.look(self._timers.clock.millis())
        # Before the reads: what is delivered from now on is not read in this round.
        due = self._looked_until = self._due()
        for queue_id in self._numbers():
            queue = self._queues.get(queue_id) or self._begin(queue_id)
            try:
                await self._read_all(queue_id, queue)
                while await self._settle(queue_id, queue, due) and queue.go_back(due):
                    await self._read_all(queue_id, queue)
            except (StoreError, PutRefused) as error:
                log.warning("reviving is put off: queue=%d reason=%s", queue_id, error)

    def _begin(self, queue_id: int) -> _ReviveQueue:
        done = self._position(queue_id)
        most = max(_MOST_OPEN // self._config.revive_queue_num, _LEAST_OPEN)
        # The name is that of notes without one.
        queue = self._queues[queue_id] = _ReviveQueue(done + 1, most, self._config.broker_name)
        return queue

    def _numbers(self) -> list[int]:
        """Those that get something, and those that got it when reviveQueueNum was higher: RocketMQ forgets them."""
        return sorted({*range(self._config.revive_queue_num), *self._store.queues(self._topic)})

    @property
    def open(self) -> int:
        """Checkpoints that were read and are not settled."""
        return sum(len(queue) for queue in self._queues.values())

    def behind(self) -> int:
        """Records of the revive topic that are not read."""
        return sum(
            max(0, self._store.max_offset(self._topic, number) - queue.next)
            for number, queue in self._queues.items()
        )

    def latency(self) -> int:
        """How long the oldest checkpoint that is due has not been settled, in milliseconds."""
        oldest = min((one.due for one in self._firsts()), default=None)
        now = self._timers.delivered_before()
        return 0 if oldest is None else max(0, now - oldest)

    def _firsts(self) -> Iterator[OpenCheckpoint]:
        """Of each queue the checkpoint whose time comes first."""
        for queue in self._queues.values():
            first = queue.first_due()
            if first is not None:
                yield first

    # --- reading

    async def _read_all(self, queue_id: int, queue: _ReviveQueue) -> None:
        """StoreError: it has to be tried again."""
        end = self._store.max_offset(self._topic, queue_id)
        while queue.next < end:
            try:
                await self._read(queue_id, queue)
            except StoreError as error:
                queue.failures += 1
                if queue.failures < _TRIES:
                    raise
                # One record only was asked for by now. The next one is passed by at once if it cannot be read either.
                log.error(
                    "record of the revive topic left out: queue=%d at=%d reason=%s",
                    queue_id,
                    queue.next,
                    error,
                )
                queue.next += 1
                queue.failures = _TRIES - 1
            await trio.lowlevel.checkpoint()

    async def _read(self, queue_id: int, queue: _ReviveQueue) -> None:
        count = 1 if queue.failures else _AT_ONCE
        found = self._store.read(self._topic, queue_id, queue.next, count, _READ_BYTES, None)
        if found.status is not ReadStatus.FOUND:
            # Files that were deleted before they were read.
            queue.next = max(found.next_begin_offset, queue.next + 1)
            return
        try:
            extents = found.extents
            pieces = self._store.load(extents) or await load_cold(self._store, extents)
        except MessagesGone:
            return
        for data in records_in(pieces):
            self._note(queue, data)
        queue.next = found.next_begin_offset
        queue.failures = 0

    def _note(self, queue: _ReviveQueue, data: bytes) -> None:
        at = queue_offset_at(data)
        try:
            record = parse_record(data, check_crc=False)
            if len(record.body) > _LONGEST_NOTE:
                raise CodecError(f"{len(record.body)} bytes are more than a note has")
            if find_property(record.properties, _TAGS) == CHECKPOINT.encode():
                self._note_point(queue, record, at)
            else:
                queue.acknowledge(decode_ack(record.body))
        except CodecError as error:
            times = self._throttle.times("left out")
            if times:
                log.error(
                    "record of the revive topic left out: at=%d reason=%s times=%d",
                    at,
                    error,
                    times,
                )

    def _note_point(self, queue: _ReviveQueue, record: Record, at: int) -> None:
        point = decode_body(PopCheckPoint, record.body)
        if point.t is None or point.c is None:
            return
        stored = max(record.born_timestamp, record.store_timestamp)
        latest = stored + max(self._revive_retry.longest_hidden, _USUAL_LONGEST) + _DAY
        if point.due > min(latest, self._timers.clock.millis() + _CENTURY):
            # No pop is like that. Nothing would ever come of it, and it would never go.
            raise CodecError(f"messages that are hidden until {point.due}")
        queue.note(point, Place(at, record.physical_offset, record.store_timestamp))

    # --- settling

    async def _settle(self, queue_id: int, queue: _ReviveQueue, due: int) -> bool:
        """False: the rest waits for the next round. StoreError: no message is accepted at all."""
        left: list[OpenCheckpoint] = []
        before = self.settled
        try:
            while len(left) < _FAILURES and (one := queue.take_due(due)) is not None:
                left.append(one)
                if await self._is_settled(one, queue_id):
                    left.pop()
                    queue.settled(one)
                    self.settled += 1
                    if self._is_late:
                        self._is_late = False
                        self._commit(queue_id, queue)
                        self._offsets.file.hurry()
                # Many may be due at once, and each may be of 32 messages.
                await trio.lowlevel.checkpoint()
        finally:
            for one in left:
                queue.leave(one)
            if self.settled > before:
                self._commit(queue_id, queue)
        return len(left) < _FAILURES

    def _commit(self, queue_id: int, queue: _ReviveQueue) -> None:
        position = queue.position
        if position > self._position(queue_id):
            self._offsets.commit("revive", REVIVE_GROUP, self._topic, queue_id, position)

    async def _is_settled(self, one: OpenCheckpoint, queue_id: int) -> bool:
        """Whether it is done with; otherwise it is tried again."""
        try:
            await self._revive(one, queue_id)
        except (StoreNotWritable, DiskFull):
            raise
        except (StoreError, PutRefused) as error:
            log.warning("checkpoint is put off: which=%s reason=%s", _named(one), error)
            return False
        except Exception:
            # A bug, or a record that nobody has thought of.
            one.tries += 1
            is_last = one.tries >= _TRIES
            what = "is given up" if is_last else "is put off"
            log.exception(f"checkpoint {what}: which=%s", _named(one))
            return is_last
        return True

    async def _revive(self, one: OpenCheckpoint, queue_id: int) -> None:
        """StoreError: it is not done."""
        topic, group = one.point.t or "", one.point.c or ""
        if normal_topic(topic, group) not in self._topics:
            log.warning("checkpoint dropped, its topic is gone: topic=%s", topic)
        elif self._groups.get(group) is None:
            log.warning("checkpoint dropped, its group is gone: group=%s", group)
        else:
            await self._revive_retry.put_back(one, queue_id)


def _named(one: OpenCheckpoint) -> str:
    point = one.point
    return f"topic={point.t} group={point.c} queue={point.q} first={point.so} at={one.place.offset}"
