"""Reviving: what nobody acknowledged in time goes to the group's retry topic (PopReviveService).

Checkpoints and acknowledgements come off the wheel into the revive topic when they are due, a checkpoint
a second before its acknowledgements. Each of its queues is read in order. Two seconds after its time a
checkpoint is settled (the original waits as long, so that an acknowledgement may be a little late), if the
wheel is past it: what no acknowledgement names is put back, in one write, and then the position of
CID_RMQ_SYS_REVIVE_GROUP moves: it is the offset of the last record done.

A put-back that cannot be stored is tried again; a message that is gone is left out.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, Protocol

import trio

from trimq.base.clock import Clock
from trimq.broker.config import BrokerConfig
from trimq.broker.groups.offsets import ConsumerOffsets
from trimq.broker.groups.subscription_groups import SubscriptionGroups
from trimq.broker.pop.found import records_in
from trimq.broker.pop.putting_back import PuttingBack
from trimq.broker.produce.puts import PutRefused
from trimq.broker.records import load_cold
from trimq.broker.topics.table import Topics
from trimq.codec.bodies.base import decode_body
from trimq.codec.bodies.pop import PopCheckPoint, decode_ack
from trimq.codec.errors import CodecError
from trimq.codec.names import REVIVE_GROUP
from trimq.codec.pop.handle import normal_topic
from trimq.codec.pop.notes import CHECKPOINT
from trimq.codec.records.fields import queue_offset_at
from trimq.codec.records.properties import find_property
from trimq.codec.records.property_keys import TAGS
from trimq.codec.records.record import Record, parse_record
from trimq.store.errors import MessagesGone, StoreError
from trimq.store.message_store import MessageStore
from trimq.store.reading.pulls import MAX_PULL_BYTES, ReadStatus

log = logging.getLogger("trimq.pop")

_GRACE: Final = 2000
# Of rounds, when each checkpoint has a time of its own.
_LEAST_PAUSE: Final = 50
_AT_ONCE: Final = 32
_TAGS: Final = TAGS.encode()
_Key = tuple[str | None, str | None, int, int, int, str]


@dataclass(slots=True)
class _Open:
    """A checkpoint that is not settled: which record it is, and what is acknowledged of it."""

    point: PopCheckPoint
    at: int
    acknowledged: set[int] = field(default_factory=set)


class _ReviveQueue:
    """What is known of one queue of the revive topic. `next`: the first record not read."""

    __slots__ = ("next", "open")

    def __init__(self, position: int) -> None:
        self.next = position
        self.open: dict[_Key, _Open] = {}


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
        putting: PuttingBack,
        timers: Timers,
    ) -> None:
        # Of notes that name no broker.
        self._name = config.broker_name
        self._timers = timers
        self._config = config
        self._topic = topic
        self._store = store
        self._offsets = offsets
        self._topics = topics
        self._groups = groups
        self._putting = putting
        self._queues: dict[int, _ReviveQueue] = {}
        # The last round tried what is due before this time.
        self._looked_until = 0
        self.settled = 0

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            await trio.sleep(self.pause() / 1000)
            await self.round()

    def pause(self) -> int:
        """Milliseconds to the next round: until a checkpoint may be settled, at most `reviveInterval`.

        None if the time of one has come since the last round began, which may have been a long one. Another whose
        time is over waits for the wheel, or for a write that failed: no reason to hurry.
        """
        now, due = self._timers.clock.millis(), self._due()
        firsts = [next(iter(queue.open.values())) for queue in self._queues.values() if queue.open]
        if any(self._looked_until <= one.point.due < due for one in firsts):
            return 0
        waits = [one.point.due + _GRACE + 1 - now for one in firsts]
        soonest = min((wait for wait in waits if wait > 0), default=self._config.revive_interval)
        return min(self._config.revive_interval, max(soonest, _LEAST_PAUSE))

    def _due(self) -> int:
        """Checkpoints of before may be settled. What the wheel has not delivered may acknowledge later ones."""
        return min(self._timers.delivered_before(), self._timers.clock.millis() - _GRACE)

    async def round(self) -> None:
        """Read what has come, and settle what is due."""
        # Before the reads: what is delivered from now on is not read in this round.
        due = self._looked_until = self._due()
        for queue_id in self._numbers():
            end = self._store.max_offset(self._topic, queue_id)
            queue = self._queues.get(queue_id)
            if queue is None:
                done = self._offsets.query(REVIVE_GROUP, self._topic, queue_id)
                queue = self._queues[queue_id] = _ReviveQueue(done + 1)
            try:
                while queue.next < end:
                    await self._read(queue_id, queue)
                    await trio.lowlevel.checkpoint()
                await self._settle(queue_id, queue, due)
            except (StoreError, PutRefused) as error:
                log.warning("reviving is put off: queue=%d reason=%s", queue_id, error)

    def _numbers(self) -> list[int]:
        """Those that get something, and those that got it when reviveQueueNum was higher: RocketMQ forgets them."""
        return sorted({*range(self._config.revive_queue_num), *self._store.queues(self._topic)})

    @property
    def open(self) -> int:
        """Checkpoints that were read and are not settled."""
        return sum(len(queue.open) for queue in self._queues.values())

    def behind(self) -> int:
        """Records of the revive topic that are not read."""
        return sum(
            max(0, self._store.max_offset(self._topic, number) - queue.next)
            for number, queue in self._queues.items()
        )

    def latency(self) -> int:
        """How long the oldest checkpoint that is due has not been settled, in milliseconds."""
        oldest = min((one.point.due for one in self._all_open()), default=None)
        now = self._timers.delivered_before()
        return 0 if oldest is None else max(0, now - oldest)

    def _all_open(self) -> Iterator[_Open]:
        for queue in self._queues.values():
            yield from queue.open.values()

    async def _read(self, queue_id: int, queue: _ReviveQueue) -> None:
        found = self._store.read(self._topic, queue_id, queue.next, _AT_ONCE, MAX_PULL_BYTES, None)
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
            self._note(queue, parse_record(data, check_crc=False), queue_offset_at(data))
        queue.next = found.next_begin_offset

    def _note(self, queue: _ReviveQueue, record: Record, at: int) -> None:
        tag = find_property(record.properties, _TAGS)
        try:
            if tag == CHECKPOINT.encode():
                point = decode_body(PopCheckPoint, record.body)
                key = (point.t, point.c, point.q, point.so, point.pt, point.bn or self._name)
                known = queue.open.pop(key, None)
                queue.open[key] = opened = _Open(point, at)
                if known is not None:
                    opened.acknowledged = known.acknowledged
                    opened.point.sp = point.sp or known.point.sp
            else:
                ack = decode_ack(record.body)
                of = (ack.t, ack.c, ack.q, ack.so, ack.pt, ack.bn or self._name)
                open_one = queue.open.get(of)
                if open_one is not None:
                    open_one.acknowledged.update(ack.offsets())
        except CodecError as error:
            log.error("record of the revive topic left out: at=%d reason=%s", at, error)

    async def _settle(self, queue_id: int, queue: _ReviveQueue, due: int) -> None:
        for key, one in list(queue.open.items()):
            if one.point.due >= due:
                break
            await self._revive(one, queue_id)
            del queue.open[key]
            self.settled += 1
            self._offsets.commit("revive", REVIVE_GROUP, self._topic, queue_id, one.at)
            # Many may be due at once, and each may be of 32 messages.
            await trio.lowlevel.checkpoint()

    async def _revive(self, one: _Open, queue_id: int) -> None:
        """StoreError: nothing was put back."""
        point = one.point
        if point.t is None or point.c is None:
            return
        if normal_topic(point.t, point.c) not in self._topics:
            log.warning("checkpoint dropped, its topic is gone: topic=%s", point.t)
            return
        if self._groups.get(point.c) is None:
            log.warning("checkpoint dropped, its group is gone: group=%s", point.c)
            return
        left = [offset for offset in point.open_offsets() if offset not in one.acknowledged]
        if left:
            await self._putting.put_back(point, left, queue_id)
