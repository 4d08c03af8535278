"""A popped message that comes again, in the retry topic of its group (PopReviveService.reviveRetry).

Together with the messages an acknowledgement of them is written, which RocketMQ does not do: its position in the
revive topic is seconds old after a crash, and what it put back since then comes twice.

Hot: compiled by mypyc when a compiler is there.
"""

import logging
from typing import Final

from trimq.broker.config import BrokerConfig
from trimq.broker.groups.offsets import NOT_FOUND, ConsumerOffsets
from trimq.broker.pop.checkpoints import Notes
from trimq.broker.pop.found import records_in
from trimq.broker.pop.in_flight import InFlight
from trimq.broker.produce.puts import PutRefused, PutRules
from trimq.broker.produce.staging import Staging
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
from trimq.codec.errors import CodecError
from trimq.codec.flags import Perm
from trimq.codec.names import RETRY_PREFIX, is_light, pop_retry_topic, pop_retry_topic_v2
from trimq.codec.pop.notes import Popped
from trimq.codec.records.properties import parse_properties
from trimq.codec.records.property_keys import FIRST_POP_TIME, ORIGIN_GROUP
from trimq.codec.records.record import Record
from trimq.store.errors import MessageTooLarge, PropertiesLookTorn, PropertiesTooLong, StoreError
from trimq.store.messages.message import Message
from trimq.store.reading.pulls import MAX_PULL_BYTES

log = logging.getLogger("trimq.pop")

_QUEUES: Final = 1
# What is wrong with one message, and not with the store.
_BAD: Final = (CodecError, PutRefused, MessageTooLarge, PropertiesLookTorn, PropertiesTooLong)


class PuttingBack:
    """`revived`: messages put back since the start."""

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
        self.revived = 0

    async def put_back(self, point: PopCheckPoint, offsets: list[int], revive_queue: int) -> None:
        """In one write, with a record that says so. What cannot be read gets a new checkpoint, and holds up nobody.
        StoreError, PutRefused: what is not stored waits for the next round.
        """
        assert point.t is not None
        known = self._together(point.t, point.q, offsets)
        unread: set[int] = set()
        records: list[Record | None] = []
        for offset in offsets:
            record = known.get(offset)
            try:
                record = record or await self._fetch(point.t, point.q, offset)
            except StoreError as error:
                log.error("popped message cannot be read: at=%d reason=%s", offset, error)
                unread.add(offset)
            records.append(record)
        if await self._is_another_life(point, records):
            records = [None] * len(offsets)
        done: list[int] = []
        failure: StoreError | PutRefused | None = None
        for offset, record in zip(offsets, records, strict=True):
            try:
                if offset in unread:
                    self._notes.checkpoint_again(point, offset, revive_queue)
                else:
                    self._stage_one(point, offset, record)
            except (StoreError, PutRefused) as error:
                failure = error
                break
            done.append(offset)
        if done:
            self._note_done(point, done, revive_queue)
            self._staging.store.write_staged()
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

    def _stage_one(self, point: PopCheckPoint, offset: int, record: Record | None) -> None:
        """A message that is gone, or that cannot be stored at all, is done."""
        if record is None:
            log.warning(
                "popped message is gone: topic=%s queue=%d offset=%d", point.t, point.q, offset
            )
            return
        try:
            self._stage(point, record)
        except _BAD as error:
            log.error("popped message cannot come again: at=%d reason=%s", offset, error)
            return
        self.revived += 1

    async def _is_another_life(self, point: PopCheckPoint, records: list[Record | None]) -> bool:
        """The topic was deleted and made anew since the pop: other messages have these offsets now.

        Then the first one of the queue is younger than the pop, too. A clock that was set back between a send and the
        pop makes a message look so, but not all that were before it.
        """
        if point.t is None or all(
            one is None or one.store_timestamp <= point.pt for one in records
        ):
            return False
        low, _ = self._staging.store.bounds(point.t, point.q)
        try:
            first = await self._fetch(point.t, point.q, low)
        except StoreError:
            return False
        return first is not None and first.store_timestamp > point.pt

    def _together(self, topic: str, queue_id: int, offsets: list[int]) -> dict[int, Record]:
        """By offset, those that one read finds in memory; the others are looked for one by one."""
        if is_light(topic):
            # Its messages say where they lie in another queue.
            return {}
        store, first = self._staging.store, offsets[0]
        most = offsets[-1] - first + 1
        try:
            found = store.read(topic, queue_id, first, most, MAX_PULL_BYTES, None)
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

    async def _fetch(self, topic: str, queue_id: int, offset: int) -> Record | None:
        """The very message; not the next one, should it be gone."""
        store = self._staging.store
        entry = store.queue_entry(topic, queue_id, offset)
        if entry is None:
            return None
        try:
            try:
                return record_in_memory(store, entry.physical_offset)
            except ColdRecord:
                return await fetch_record(store, entry.physical_offset)
        except NoRecord:
            return None

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
