"""A popped message that comes again, in the retry topic of its group (PopReviveService.reviveRetry).

Together with the messages an acknowledgement of them is written, which RocketMQ does not do: its position in the
revive topic is seconds old after a crash, and what it put back since then comes twice. Large ones are put back in
several writes, so that nobody waits for all of them.

Hot: compiled by mypyc when a compiler is there.
"""

from __future__ import annotations

import logging
from typing import Final

import trio

from trimq.broker.config import BrokerConfig
from trimq.broker.groups.offsets.committed import NOT_FOUND, ConsumerOffsets
from trimq.broker.pop.checkpoints.in_flight import InFlight
from trimq.broker.pop.checkpoints.notes import Notes, is_last_try
from trimq.broker.pop.reading.result import records_in
from trimq.broker.pop.revive.clock_setbacks import ClockSetbacks
from trimq.broker.pop.revive.open_checkpoints import OpenCheckpoint
from trimq.broker.produce.puts.rules import PutRefused, PutRules
from trimq.broker.produce.puts.staging import Staging
from trimq.broker.records import (
    ColdRecord,
    NoRecord,
    fetch_record,
    record_in_memory,
    sound_record,
)
from trimq.broker.topics.table import Topics
from trimq.codec.bodies.pop import PopCheckPoint
from trimq.codec.bodies.topics import TopicConfig
from trimq.codec.entries.queue import QueueEntry
from trimq.codec.errors import CodecError
from trimq.codec.flags import Perm
from trimq.codec.names import RETRY_PREFIX, is_light, pop_retry_topic, pop_retry_topic_v2
from trimq.codec.pop.revive_records import Popped
from trimq.codec.records.properties import parse_properties
from trimq.codec.records.property_keys import FIRST_POP_TIME, ORIGIN_GROUP
from trimq.codec.records.record import Record
from trimq.remoting.errors import LimitReached
from trimq.store.errors import (
    DiskFull,
    MessageTooLarge,
    PropertiesLookTorn,
    PropertiesTooLong,
    StoreError,
    StoreNotWritable,
)
from trimq.store.messages.message import Message

log = logging.getLogger("trimq.pop")

_QUEUES: Final = 1
# What one step of the loop copies.
_STEP_BYTES: Final = 256 * 1024
# What is wrong with one message, and not with the store.
_BAD: Final = (CodecError, PutRefused, MessageTooLarge, PropertiesLookTorn, PropertiesTooLong)


class _Found:
    """A message of a checkpoint. Without a record it is gone, or `unread`: it may be read another time."""

    __slots__ = ("offset", "record", "unread")

    def __init__(self, offset: int, record: Record | None) -> None:
        self.offset = offset
        self.record = record
        self.unread = False

    def fail(self, error: StoreError) -> None:
        log.error("popped message cannot be read: at=%d reason=%s", self.offset, error)
        self.unread = True


class ReviveRetry:
    """`revived`: messages put back since the start. `clock_went_back`: what is known of that."""

    def __init__(
        self,
        config: BrokerConfig,
        staging: Staging,
        rules: PutRules,
        topics: Topics,
        offsets: ConsumerOffsets,
        notes: Notes,
        in_flight: InFlight,
    ) -> None:
        self._in_flight = in_flight
        self._notes = notes
        self._config = config
        self._staging = staging
        self._rules = rules
        self._topics = topics
        self._offsets = offsets
        self.clock_went_back = ClockSetbacks()
        self.revived = 0

    @property
    def longest_hidden(self) -> int:
        """Milliseconds for which messages may be hidden."""
        return self._staging.longest_wait

    async def put_back(self, one: OpenCheckpoint, revive_queue: int) -> None:
        """What is not acknowledged, in pieces, each in one write with a record that says so.

        What cannot be read gets a new checkpoint, and holds up nobody. StoreError, PutRefused, or what else keeps a
        piece from being stored: it is left, and all behind it.
        """
        left = one.left()
        while left:
            piece = await self._piece(one, left)
            self._write(one, piece, revive_queue)
            left = left[len(piece) :]
            if left:
                # Others have their turn.
                await trio.lowlevel.checkpoint()

    async def _piece(self, one: OpenCheckpoint, left: list[int]) -> list[_Found]:
        """The first messages: as many as one step of the loop may copy, and one in any case."""
        topic, queue_id = one.point.t or "", one.point.q
        together = self._together(topic, queue_id, left)
        piece: list[_Found] = []
        room = _STEP_BYTES
        for offset in left:
            found = _Found(offset, together.get(offset))
            if found.record is not None:
                room -= found.record.total_size
            else:
                entry = self._entry(topic, queue_id, found)
                room -= 0 if entry is None else entry.size
                if entry is not None and (room >= 0 or not piece):
                    await self._fetch(entry.physical_offset, found)
            if room < 0 and piece:
                break
            piece.append(found)
        if await self._is_another_life(one, piece):
            for found in piece:
                found.record = None
        return piece

    def _write(self, one: OpenCheckpoint, piece: list[_Found], revive_queue: int) -> None:
        done: list[int] = []
        failure: Exception | None = None
        for found in piece:
            try:
                self._stage_one(one.point, found, revive_queue)
            except Exception as error:
                # Whatever it is: what is staged already must not be written without its acknowledgement.
                failure = error
                break
            done.append(found.offset)
        if done:
            self._note_done(one.point, done, revive_queue)
            self._staging.store.write_staged()
            one.acknowledged |= frozenset(done)
        if failure is not None:
            raise failure

    def _note_done(self, point: PopCheckPoint, offsets: list[int], revive_queue: int) -> None:
        """Whoever reads the checkpoint again, in the next round or after a crash, finds them acknowledged."""
        assert point.t is not None
        assert point.c is not None
        popped = Popped(point.c, point.t, point.q, point.so, point.pt, point.bn)
        try:
            self._notes.ack_due(popped, offsets, point.due, revive_queue)
        except _BAD as error:
            # They come twice if a crash takes the position back; without them they would come in every round.
            log.error("what comes again is not noted: first=%d reason=%s", point.so, error)
        self._in_flight.done(point.c, point.t, point.pt, len(offsets))

    def _stage_one(self, point: PopCheckPoint, found: _Found, revive_queue: int) -> None:
        """A message that is gone, or that cannot be stored at all, is done."""
        if found.unread:
            self._try_again(point, found.offset, revive_queue)
            return
        if found.record is None:
            log.warning(
                "popped message is gone: topic=%s queue=%d offset=%d",
                point.t,
                point.q,
                found.offset,
            )
            return
        try:
            self._stage(point, found.record)
        except _BAD as error:
            log.error("popped message cannot come again: at=%d reason=%s", found.offset, error)
            return
        except (StoreNotWritable, DiskFull):
            raise
        except (StoreError, LimitReached) as failure:
            # Only its own topic or queue: others must not wait for that.
            log.error("popped message cannot come now: at=%d reason=%s", found.offset, failure)
            self._try_again(point, found.offset, revive_queue)
            return
        self.revived += 1

    def _try_again(self, point: PopCheckPoint, offset: int, revive_queue: int) -> None:
        """A new checkpoint for one message, with skipWhenCKRePutReachMaxTimes so many times and no more."""
        if self._config.skip_when_ck_re_put_reach_max_times and is_last_try(point):
            log.error(
                "popped message is given up: topic=%s queue=%d offset=%d times=%s",
                point.t,
                point.q,
                offset,
                point.rp,
            )
            return
        self._notes.checkpoint_again(point, offset, revive_queue)

    async def _is_another_life(self, one: OpenCheckpoint, piece: list[_Found]) -> bool:
        """The topic was deleted and made anew since the pop: other messages have these offsets now.

        Then they lie behind the pop, as the first one of the queue does, and are younger. A clock that was set back
        between a send and the pop makes messages look so, too: those that are younger than what was stored behind them
        tell that, and so does the first one if it is older.
        """
        point, place, first = one.point, one.place, None
        for found in piece:
            record = found.record
            if record is None or record.store_timestamp <= point.pt:
                continue
            if record.physical_offset > place.physical:
                return True
            first = first or record
        if first is None or first.store_timestamp > place.stored:
            return False
        if self.clock_went_back.covers(point.pt, first.store_timestamp):
            return False
        low, _ = self._staging.store.bounds(point.t or "", point.q)
        begin = _Found(low, None)
        entry = self._entry(point.t or "", point.q, begin)
        if entry is not None:
            await self._fetch(entry.physical_offset, begin)
        return begin.record is not None and begin.record.store_timestamp > point.pt

    def _together(self, topic: str, queue_id: int, offsets: list[int]) -> dict[int, Record]:
        """By offset, those that one read finds in memory; the others are looked for one by one."""
        if is_light(topic):
            # Its messages say where they lie in another queue.
            return {}
        store, first = self._staging.store, offsets[0]
        most = min(max(offsets[-1] - first + 1, 1), 2 * len(offsets))
        try:
            found = store.read(topic, queue_id, first, most, _STEP_BYTES, None)
            pieces = store.load(found.extents)
        except StoreError:
            return {}
        if pieces is None:
            return {}
        records: dict[int, Record] = {}
        for data in records_in(pieces):
            record = sound_record(data)
            if record is not None and (record.topic, record.queue_id) == (topic, queue_id):
                records[record.queue_offset] = record
        return records

    def _entry(self, topic: str, queue_id: int, found: _Found) -> QueueEntry | None:
        """Where the very message lies; not the next one, should it be gone."""
        store = self._staging.store
        low, high = store.bounds(topic, queue_id)
        if not low <= found.offset < high:
            return None
        try:
            return store.queue_entry(topic, queue_id, found.offset)
        except StoreError as error:
            found.fail(error)
            return None

    async def _fetch(self, physical_offset: int, found: _Found) -> None:
        store = self._staging.store
        try:
            try:
                found.record = record_in_memory(store, physical_offset)
            except ColdRecord:
                found.record = await fetch_record(store, physical_offset)
        except NoRecord:
            found.record = None
        except StoreError as error:
            found.fail(error)

    def _stage(self, point: PopCheckPoint, record: Record) -> None:
        assert point.t is not None
        assert point.c is not None
        topic = point.t
        if not topic.startswith(RETRY_PREFIX):
            make = pop_retry_topic_v2 if self._config.enable_retry_topic_v2 else pop_retry_topic
            topic = make(point.t, point.c)
        config = self._retry_topic(topic, point.c)
        properties = parse_properties(record.properties)
        if not record.reconsume_times or FIRST_POP_TIME not in properties:
            properties[FIRST_POP_TIME] = str(point.pt)
        properties[ORIGIN_GROUP] = point.c
        own = self._staging.own(topic, record.body, b"", record.born_timestamp)
        message = Message(
            topic,
            0,
            record.body,
            b"",
            record.flag,
            record.sys_flag & ~own.sys_flag | own.sys_flag,
            record.born_timestamp,
            own.store_host,
            own.store_host,
            record.reconsume_times + (not point.sp),
        )
        self._rules.apply(message, properties, config.attributes)
        self._staging.store.stage(message)

    def _retry_topic(self, topic: str, group: str) -> TopicConfig:
        known = self._topics.get(topic)
        if known is not None:
            return known
        made = self._topics.create_in_send_back(topic, _QUEUES, Perm.READ | Perm.WRITE, 0)
        for queue_id in range(_QUEUES):
            if self._offsets.query(group, topic, queue_id) == NOT_FOUND:
                self._offsets.commit("initPopRetryOffset", group, topic, queue_id, 0)
        return made
