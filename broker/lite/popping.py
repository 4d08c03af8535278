"""POP_LITE_MESSAGE: handing out messages of a client's lite topics, each in its order (PopLiteMessageProcessor).

Nothing is stored by a pop: what was handed out blocks its lite topic for the group, in memory, until it is
acknowledged or visible again; after a restart it comes again at once.
"""

import logging
from collections.abc import Sequence
from typing import Final, NamedTuple

import trio

from trimq.base.waits import Waited
from trimq.broker.lite.consumer_lag import LiteConsumerLag
from trimq.broker.lite.events import LiteEvents
from trimq.broker.lite.registry import LiteSubscriptions
from trimq.broker.pop.checkpoints.offsets import PopOffsets
from trimq.broker.pop.order.rules import OrderedBlocks, OrderedQueue
from trimq.broker.pop.order.timeouts import BlockTimeouts
from trimq.broker.pop.reading.long_polling import PopLongPolling, time_left, use_up
from trimq.broker.records import load_cold
from trimq.broker.stats.traffic import Traffic
from trimq.codec.bodies.pop import OrderInfo
from trimq.codec.codes import ResponseCode
from trimq.codec.headers.lite import PopLiteMessageRequestHeader
from trimq.codec.pop.offset_info import OffsetInfo
from trimq.remoting.contract import Buffer, Peer, RemotingError
from trimq.store.errors import MessagesGone, StoreError
from trimq.store.message_store import MessageStore
from trimq.store.reading.pulls import MAX_PULL_BYTES, ReadResult, ReadStatus

log = logging.getLogger("trimq.lite")

# ConsumeInitMode.MAX.
_NEWEST: Final = 1
_WRONG_OFFSET: Final = (
    ReadStatus.OFFSET_TOO_SMALL,
    ReadStatus.OFFSET_OVERFLOW_BADLY,
    ReadStatus.OFFSET_FOUND_NULL,
    ReadStatus.NO_MATCHED_MESSAGE,
    ReadStatus.MESSAGE_WAS_REMOVING,
    ReadStatus.NO_MATCHED_LOGIC_QUEUE,
)
_VERSION: Final = "0"


class LitePop:
    """One look at a client's lite topics."""

    __slots__ = (
        "bodies",
        "count",
        "counts",
        "header",
        "looked",
        "news",
        "pop_time",
        "seen",
        "size",
        "unused",
    )

    def __init__(self, header: PopLiteMessageRequestHeader, pop_time: int) -> None:
        self.header = header
        self.pop_time = pop_time
        self.bodies: list[Buffer] = []
        # How often each message was handed out before.
        self.counts: list[str] = []
        self.count = 0
        self.size = 0
        self.seen: set[str] = set()
        # Notes that this pop cannot use any more.
        self.unused: list[str] = []
        # All lite topics of the client were looked at, as it had no notes left.
        self.looked = False
        # How much it knows of; -1: it has not looked.
        self.news = -1

    @property
    def room(self) -> int:
        return self.header.max_msg_num - self.count


class ColdLite:
    """Messages of a light queue that have to be read from the disk. The queue is taken until they are."""

    __slots__ = ("found", "pieces", "queue")

    def __init__(self, queue: OrderedQueue, found: ReadResult) -> None:
        self.queue = queue
        self.found = found
        self.pieces: Sequence[Buffer] = ()


class Progress(NamedTuple):
    """How far groups are in light queues, what they have of them, and when that is visible again."""

    positions: PopOffsets
    batches: OrderedBlocks
    block_timeouts: BlockTimeouts
    lags: LiteConsumerLag


class LitePopping:
    def __init__(
        self,
        subscriptions: LiteSubscriptions,
        events: LiteEvents,
        waits: PopLongPolling,
        progress: Progress,
        store: MessageStore,
        traffic: Traffic,
    ) -> None:
        self._subscriptions = subscriptions
        self._events = events
        self._waits = waits
        self._positions, self._batches, self._block_timeouts, self._lags = progress
        self._store = store
        self._traffic = traffic
        # Queues that are being read from the disk for somebody, and whether a note about them came meanwhile.
        self._taken: dict[OrderedQueue, bool] = {}

    def look(self, pop: LitePop, peer: Peer) -> ColdLite | None:
        """Hand out from one lite topic with news after the other; None: there is no more, or no room."""
        before = self._waits.version
        cold = self._look(pop, peer)
        # What a look notes itself, it takes.
        pop.news = (before if pop.news < 0 else pop.news) + self._waits.version - before
        return cold

    def _look(self, pop: LitePop, peer: Peer) -> ColdLite | None:
        client_id, group = pop.header.client_id, pop.header.consumer_group
        while pop.room > 0:
            name = self._next(pop)
            if name is None:
                break
            if name in pop.seen:
                pop.unused.append(name)
                continue
            pop.seen.add(name)
            if self._subscriptions.is_evicted(client_id, group, name):
                # Whoever has taken it over has a note of its own.
                continue
            cold = self._look_at(pop, OrderedQueue(name, group, 0), peer)
            if cold is not None:
                return cold
        for name in pop.unused:
            self._events.give_back(client_id, group, name)
        pop.unused.clear()
        return None

    def _next(self, pop: LitePop) -> str | None:
        client_id = pop.header.client_id
        name = self._events.take(client_id)
        if name is None and not pop.looked:
            pop.looked = True
            self._events.look_now(client_id)
            name = self._events.take(client_id)
        return name

    def _look_at(self, pop: LitePop, queue: OrderedQueue, peer: Peer) -> ColdLite | None:
        if queue in self._taken:
            self._taken[queue] = True
            return None
        header = pop.header
        moved = self._positions.has_reset(queue.group, queue.topic, 0)
        if not moved and self._batches.is_blocked(queue, header.attempt_id, header.invisible_time):
            # Its opening notes it anew.
            return None
        found = self._read(queue, pop.room, peer)
        if not found.message_count:
            return None
        pieces = self._store.load(found.extents)
        if pieces is None:
            self._taken[queue] = False
            return ColdLite(queue, found)
        self._hand_out(pop, queue, found, pieces)
        return None

    def _read(self, queue: OrderedQueue, room: int, peer: Peer) -> ReadResult:
        name, group, _ = queue
        offset = self._positions.position(group, name, 0, _NEWEST)
        found = self._store.read(name, 0, offset, room, MAX_PULL_BYTES, None)
        if found.status in _WRONG_OFFSET and found.next_begin_offset != offset:
            offset = found.next_begin_offset
            log.warning("lite offset corrected: group=%s queue=%s to=%d", group, name, offset)
            self._positions.correct(peer.remote_addr, group, name, 0, offset)
            found = self._store.read(name, 0, offset, room, MAX_PULL_BYTES, None)
        return found

    async def warm(self, pop: LitePop, cold: ColdLite) -> None:
        """Read what was found from the disk, and hand it out. RemotingError when the disk fails."""
        queue = cold.queue
        try:
            pieces = await load_cold(self._store, cold.found.extents)
        except MessagesGone as error:
            log.info("messages were deleted while they were read: reason=%s", error)
            self._taken[queue] = True
        except StoreError as failure:
            log.error("reading messages failed: reason=%s", failure)
            raise RemotingError(
                ResponseCode.SYSTEM_ERROR, f"reading the messages failed: {failure}"
            ) from None
        except trio.Cancelled:
            # Its client has left: they are for the next one.
            self._taken[queue] = True
            raise
        else:
            self._hand_out(pop, queue, cold.found, pieces)
        finally:
            if self._taken.pop(queue):
                self._events.available(queue.topic, queue.group)

    def _hand_out(
        self, pop: LitePop, queue: OrderedQueue, found: ReadResult, pieces: Sequence[Buffer]
    ) -> None:
        header = pop.header
        end, count = found.next_begin_offset, found.message_count
        offsets = list(range(end - count, end))
        batch = self._batches.begin(
            queue, header.attempt_id, pop.pop_time, header.invisible_time, offsets
        )
        self._block_timeouts.watch(queue)
        pop.counts.append(counted(batch, count))
        pop.bodies.extend(pieces)
        pop.count += count
        pop.size += found.byte_count
        self._traffic.handed_out(queue.group, header.topic, count, found.byte_count)
        self._lags.popped(queue, header.topic, end, pop.room <= 0)

    async def wait(self, pop: LitePop) -> ResponseCode | None:
        """None: look again. Otherwise the code of an answer without messages."""
        header = pop.header
        left = time_left(header, self._block_timeouts.clock)
        if header.poll_time <= 0 or left <= 0:
            return ResponseCode.POLLING_TIMEOUT
        key = header.client_id, "", 0
        waited = await self._waits.wait(key, left / 1000, seen=pop.news)
        if waited is Waited.TIME_OUT:
            use_up(header, self._block_timeouts.clock)
        return ResponseCode.POLLING_FULL if waited is Waited.FULL else None

    def wake(self, client_id: str) -> bool:
        """One of the client's pops that wait, the one whose time is up first."""
        return wake_client(self._waits, client_id)


def wake_client(waits: PopLongPolling, client_id: str) -> bool:
    return waits.wake_first(client_id, "", 0)


def counted(batch: OrderInfo, count: int) -> str:
    """One number a message; with messages that come again, the segments of those (transformOrderCountInfo)."""
    counts, places = batch.oc or {}, OffsetInfo()
    if not counts:
        return ";".join(["0"] * count)
    for offset, times in counts.items():
        places.count_message(_VERSION, 0, offset, times)
    return places.order_count_info
