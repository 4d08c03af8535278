"""POP_MESSAGE: handing out messages of a group's queues, after storing a checkpoint (PopMessageProcessor).

A pop looks at the queues once, in an order that is drawn for it. For each in which something is wanted a checkpoint is
staged; the receive's write stores them before the answer leaves, and if it fails, nothing has moved. What lies on
the disk is read in a worker thread; that queue is looked at again then, since others may have popped it. A pop
that finds nothing waits, and looks once more when it is woken or its time is up.

Hot: compiled by mypyc when a compiler is there.
"""

import logging
import random
from collections.abc import Sequence
from typing import Final

import trio

from trimq.base.waits import Waited
from trimq.broker.config import BrokerConfig
from trimq.broker.filters.expressions import Expressions
from trimq.broker.pop.checkpoints.notes import Notes
from trimq.broker.pop.checkpoints.offsets import PopOffsets
from trimq.broker.pop.order.orderly import Orderly
from trimq.broker.pop.reading.checks import MOST_MESSAGES, PopChecks, Wanted, too_long
from trimq.broker.pop.reading.long_polling import PopLongPolling, time_left, use_up
from trimq.broker.pop.reading.result import PopResult, as_asked, offsets_in, records_in
from trimq.broker.pop.reading.selection import DRAWN_FROM, Place, Shares, places
from trimq.broker.produce.puts.rules import PutRefused
from trimq.broker.records import judge_cold, load_cold
from trimq.broker.stats.traffic import Traffic
from trimq.codec.codes import ResponseCode
from trimq.codec.headers.fast_pop import PopHeader
from trimq.codec.names import pop_retry_topic
from trimq.codec.pop.handle import ORDERLY
from trimq.codec.pop.revive_records import Popped
from trimq.remoting.contract import Buffer, Peer, RemotingError
from trimq.store.errors import MessagesGone, StoreError
from trimq.store.message_store import MessageStore
from trimq.store.reading.pulls import MAX_PULL_BYTES, ReadResult, ReadStatus, Scan

log = logging.getLogger("trimq.pop")

# PopMessageRequestHeader.isTimeoutTooMuch: milliseconds.
_TOO_LATE: Final = 500
_WRONG_OFFSET: Final = (
    ReadStatus.OFFSET_TOO_SMALL,
    ReadStatus.OFFSET_OVERFLOW_BADLY,
    ReadStatus.OFFSET_FOUND_NULL,
)
_NOTHING_WANTED: Final = (
    ReadStatus.NO_MATCHED_MESSAGE,
    ReadStatus.OFFSET_FOUND_NULL,
    ReadStatus.MESSAGE_WAS_REMOVING,
)


class LookedAt:
    """What was found in a queue. It may have to be read from the disk, or looked at in steps: `warm` does that.

    `first`: the offset that was asked for; `offset`: the one that was read from. `pieces`: the records, once read,
    one or more in each. `offsets` of the messages; None: the records say them.
    """

    __slots__ = ("first", "found", "offset", "offsets", "pieces", "scan")

    def __init__(self, first: int, offset: int, found: ReadResult, scan: Scan | None) -> None:
        self.first = first
        self.offset = offset
        self.found = found
        self.scan = scan
        self.pieces: Sequence[bytes | bytearray] = ()
        self.offsets: list[int] | None = None
        if found.packed:
            # Entries of a plain queue, one after the other, of which none was left out.
            end = found.next_begin_offset
            self.offsets = list(range(end - found.message_count, end))


class Popping:
    def __init__(
        self,
        config: BrokerConfig,
        checks: PopChecks,
        offsets: PopOffsets,
        notes: Notes,
        store: MessageStore,
        waits: PopLongPolling,
        orderly: Orderly,
        traffic: Traffic,
    ) -> None:
        self._elastic = orderly.elastic
        self._config = config
        self._checks = checks
        self._offsets = offsets
        self._notes = notes
        self._store = store
        self._waits = waits
        self._orderly = orderly
        self._traffic = traffic
        self._clock = checks.clock
        self._pops = 0

    @property
    def expressions(self) -> Expressions:
        """The filters that pops bring along."""
        return self._checks.expressions

    def check(self, header: PopHeader, peer: Peer) -> Wanted:
        """RemotingError, in the real broker's order."""
        checks, now = self._checks, self._clock.millis()
        if header.born_time == 0:
            header.born_time = now
        if now - self._clock.of_peer(header.born_time) - header.poll_time > _TOO_LATE:
            raise checks.refuse(ResponseCode.POLLING_TIMEOUT, "pop message is timeout too much")
        checks.readable("pop message")
        if header.max_msg_nums > MOST_MESSAGES:
            raise checks.refuse(
                ResponseCode.INVALID_PARAMETER, "pop message's num is greater than 32"
            )
        if not checks.of_store.timer_wheel_enable:
            raise checks.refuse(
                ResponseCode.SYSTEM_ERROR,
                "pop message is forbidden because timerWheelEnable is false",
            )
        # An orderly pop notes nothing on the wheel.
        why = None if header.order else too_long(header.invisible_time, checks.of_store)
        if why is not None:
            raise RemotingError(ResponseCode.INVALID_PARAMETER, why)
        checks.topic(header.topic, header.queue_id, peer)
        checks.group(header.consumer_group, peer)
        return checks.wanted(header.consumer_group, header.topic, header.exp_type, header.exp)

    def begin(self, header: PopHeader, peer: Peer, wanted: Wanted) -> PopResult:
        """A look at the queues; `look` does it. RemotingError."""
        if header.max_msg_nums < 0:
            # The original fails with an exception when it has found something.
            raise RemotingError(ResponseCode.SYSTEM_ERROR, "maxMsgNums is less than 0")
        drawn = int(random.random() * DRAWN_FROM)
        topic, group, config = header.topic, header.consumer_group, self._config
        retry = self._checks.retry_topic(topic, group)
        if config.enable_retry_topic_v2 and config.retrieve_message_from_pop_retry_topic_v1:
            # What is still in the topic of the first naming gets half of the looks.
            retry = pop_retry_topic(topic, group) if drawn % 2 == 0 else retry
        shares = self._shares(header, drawn)
        # What is popped in order comes again from its own queue.
        of_retry = (retry, 0 if header.order else self._checks.queues(retry))
        queues = self._checks.queues(topic)
        left = places(topic, header.queue_id, queues, of_retry, drawn, shares)
        if header.order:
            revive_queue = ORDERLY
        else:
            revive_queue = self._pops % config.revive_queue_num
            self._pops += 1
        news = self._waits.version
        pop = PopResult(header, peer, wanted, left, self._clock.millis(), revive_queue, news)
        if header.order and topic in self._elastic.topics:
            pop.durable_at = self._notes.durable_at(self._elastic.begin(group, topic))
        return pop

    def _shares(self, header: PopHeader, drawn: int) -> Shares:
        """With PRIORITY messages and in priority.factor of a hundred pops, queues are read by their number."""
        config, checks = self._config, self._checks
        factor = checks.priority_factor(header.topic, header.consumer_group)
        if not header.order and drawn < factor:
            share = config.pop_from_retry_probability_for_priority
            return Shares(share, config.priority_order_asc, by_priority=True)
        return Shares(config.pop_from_retry_probability, config.priority_order_asc)

    def look(self, pop: PopResult, warmed: LookedAt | None = None) -> LookedAt | None:
        """Read the queues that are left, and stage their checkpoints; None when that is done.

        `warmed`: what the look before returned, if it could be read.
        """
        while pop.left:
            if pop.room <= 0 and pop.left[0].is_retry and pop.left[-1].is_retry:
                # The retry topic comes after the topic: only if there is room, and it does not count otherwise.
                return None
            cold = self._look_at(pop, pop.left[0], warmed)
            if cold is not None:
                if not pop.count:
                    return cold
                # Nobody who has got something waits for the disk.
                pop.rest += cold.found.max_offset - cold.offset
            warmed = None
            pop.left.pop(0)
        return None

    async def warm(self, cold: LookedAt) -> LookedAt | None:
        """What `look` needs to go on; None: it has to look anew. RemotingError when the disk fails."""
        try:
            if cold.scan is not None:
                await self._sift(cold.scan)
            if cold.found.message_count:
                extents = cold.found.extents
                cold.pieces = self._store.load(extents) or await load_cold(self._store, extents)
        except MessagesGone as error:
            log.info("messages were deleted while they were read: reason=%s", error)
            return None
        except StoreError as failure:
            log.error("reading messages failed: reason=%s", failure)
            raise RemotingError(
                ResponseCode.SYSTEM_ERROR, f"reading the messages failed: {failure}"
            ) from None
        return cold

    async def wait(self, pop: PopResult) -> ResponseCode | None:
        """None: look again. Otherwise the code of an answer without messages."""
        header = pop.header
        if pop.moved or self._offsets.has_failed():
            # Nothing that it looked at was wanted, and there is more; or what it left to another pop is there again.
            await trio.lowlevel.checkpoint()
            return None
        if header.poll_time <= 0:
            return ResponseCode.POLLING_TIMEOUT
        left = time_left(header, self._clock)
        if left <= 0:
            return ResponseCode.POLLING_TIMEOUT
        key = header.topic, header.consumer_group, header.queue_id
        wanted = pop.wanted
        waited = await self._waits.wait(key, left / 1000, wanted.codes, wanted.filter, pop.news)
        if waited is Waited.TIME_OUT:
            use_up(header, self._clock)
        return ResponseCode.POLLING_FULL if waited is Waited.FULL else None

    def wake_next(self, pop: PopResult) -> None:
        """There is more for whoever waits for the same."""
        header = pop.header
        self._waits.wake_first(header.topic, header.consumer_group, header.queue_id)

    async def _sift(self, scan: Scan) -> None:
        while scan.is_paused:
            if scan.cold:
                await judge_cold(self._store, scan)
            else:
                await trio.lowlevel.checkpoint()
            scan.go_on()

    def _look_at(self, pop: PopResult, place: Place, warmed: LookedAt | None) -> LookedAt | None:
        group, topic, queue_id = pop.header.consumer_group, place.topic, place.queue_id
        position = self._offsets.position(group, topic, queue_id, pop.header.init_mode)
        if pop.header.order and self._orderly.is_blocked(pop, place):
            # It does not count as more to come: opening it wakes whoever waits.
            return None
        if pop.room <= 0:
            pop.rest += self._store.max_offset(topic, queue_id) - position
            return None
        if warmed is not None and warmed.offset == position and self._may_have(pop, place, warmed):
            self._conclude(pop, place, warmed)
            return None
        looked = self._read(pop, place, position)
        if looked.scan is not None and looked.scan.is_paused:
            return looked
        if looked.found.message_count and not self._load(looked):
            return looked
        self._conclude(pop, place, looked)
        return None

    def _may_have(self, pop: PopResult, place: Place, warmed: LookedAt) -> bool:
        """Whether no gate has closed before the end of what was read meanwhile."""
        until = self._elastic.until(pop.header.consumer_group, place.topic, place.queue_id)
        return until is None or warmed.found.next_begin_offset <= until

    def _load(self, looked: LookedAt) -> bool:
        """Whether the records could be had without waiting for the disk."""
        joined = self._store.join(looked.found)
        if joined is not None:
            looked.pieces = [joined]
            return True
        loaded = self._store.load(looked.found.extents)
        looked.pieces = loaded or ()
        return loaded is not None

    def _conclude(self, pop: PopResult, place: Place, looked: LookedAt) -> None:
        found = looked.found
        if looked.pieces:
            self._take(pop, place, looked)
        elif pop.header.order and self._orderly.is_open_work(pop, place):
            pass
        elif found.status in _NOTHING_WANTED and found.next_begin_offset > looked.offset:
            self._correct(pop, place, found.next_begin_offset)
            pop.moved = pop.moved or found.next_begin_offset < found.max_offset
        pop.rest += max(0, found.max_offset - found.next_begin_offset)

    def _correct(self, pop: PopResult, place: Place, offset: int) -> None:
        group, addr = pop.header.consumer_group, pop.peer.remote_addr
        self._offsets.correct(addr, group, place.topic, place.queue_id, offset)

    def _read(self, pop: PopResult, place: Place, first: int) -> LookedAt:
        found, scan = self._read_at(pop, place, first)
        offset = first
        # A slave may correct nothing.
        if found.status in _WRONG_OFFSET and found.next_begin_offset != first:
            offset = found.next_begin_offset
            log.warning(
                "pop offset corrected group=%s topic=%s queue=%d from=%d to=%d",
                pop.header.consumer_group,
                place.topic,
                place.queue_id,
                first,
                offset,
            )
            self._correct(pop, place, offset)
            found, scan = self._read_at(pop, place, offset)
        return LookedAt(first, offset, found, scan)

    def _read_at(self, pop: PopResult, place: Place, offset: int) -> tuple[ReadResult, Scan | None]:
        topic, queue_id, wanted, room = place.topic, place.queue_id, pop.wanted, pop.room
        until = self._elastic.until(pop.header.consumer_group, topic, queue_id)
        if wanted.filter is None:
            codes = wanted.codes
            found = self._store.read(topic, queue_id, offset, room, MAX_PULL_BYTES, codes, until)
            return found, None
        scan = self._store.scan(topic, queue_id, offset, room, wanted.filter, until)
        return scan.result, scan

    def _take(self, pop: PopResult, place: Place, looked: LookedAt) -> None:
        """Stage the checkpoint; without one, the messages stay. An orderly pop blocks the queue instead."""
        header, found, first = pop.header, looked.found, looked.first
        group, topic, queue_id = header.consumer_group, place.topic, place.queue_id
        renamed = place.is_retry and not self._config.pop_response_return_actual_retry_topic
        pieces: Sequence[Buffer] = looked.pieces
        offsets = looked.offsets
        if offsets is None:
            offsets = offsets_in(topic, records_in(looked.pieces))
        if header.order:
            # The group's offset stays where the batch begins, until its messages are acknowledged.
            self._orderly.popped(pop, place, offsets)
            self._elastic.handed_out(group, topic, queue_id, found.next_begin_offset)
            self._traffic.handed_out(group, topic, found.message_count, found.byte_count)
            pop.add(place, first, pieces, offsets)
            return
        try:
            end = self._note(pop, place, first, offsets)
        except (StoreError, PutRefused) as error:
            log.warning("nothing popped group=%s topic=%s reason=%s", group, topic, error)
            pop.rest += len(offsets)
            return
        self._offsets.stage(group, topic, queue_id, found.next_begin_offset, len(offsets))
        pop.durable_at = self._notes.durable_at(end)
        self._traffic.handed_out(group, topic, found.message_count, found.byte_count)
        if renamed:
            handle = pop.handle(first, topic, self._notes.broker_name)
            pieces = [as_asked(one, header.topic, handle) for one in records_in(looked.pieces)]
        pop.add(place, first, pieces, offsets)

    def _note(self, pop: PopResult, place: Place, first: int, offsets: list[int]) -> int:
        """Where the log ends behind the checkpoint. StoreError, PutRefused."""
        header, name = pop.header, self._notes.broker_name
        popped = Popped(
            header.consumer_group, place.topic, place.queue_id, first, pop.pop_time, name
        )
        distances = [offset - first for offset in offsets]
        return self._notes.checkpoint(popped, distances, header.invisible_time, pop.revive_queue)
