"""Orderly POP: what its pops, acknowledgements and changes of the time do to blocks and offsets.

Rules and answers are those of AckMessageProcessor.ackOrderly and ChangeInvisibleTimeProcessor, with one exception: an
acknowledgement for which no batch is known (the broker was killed since) moves the offset only past the very next
message. The original moves it past any, and what lies between is lost to the group.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from trimq.base.clock import Clock
from trimq.broker.groups.offsets.committed import ConsumerOffsets
from trimq.broker.pop.order.blocks import OrderBlocks
from trimq.broker.pop.order.rules import NotInBlock, OrderedQueue
from trimq.broker.pop.order.timeouts import BlockTimeouts
from trimq.broker.pop.reading.elastic_pops import ElasticPops
from trimq.broker.pop.reading.long_polling import PopLongPolling
from trimq.broker.pop.reading.result import PopResult
from trimq.broker.pop.reading.selection import Place
from trimq.codec.codes import ResponseCode
from trimq.codec.java.numbers import as_long
from trimq.codec.pop.handle import ORDERLY, retry_version
from trimq.remoting.contract import Peer, RemotingError

_ALL_QUEUES: Final = -1


class Changed(NamedTuple):
    """The answer to a change of the time. `durable_at`: up to where the client waits for the disk."""

    pop_time: int
    invisible_time: int
    revive_queue: int
    durable_at: int


class Orderly:
    """`block_timeouts` wakes who waits for queues whose blocks open by time. `waits`: pops, and who asks to be told."""

    def __init__(
        self,
        blocks: OrderBlocks,
        offsets: ConsumerOffsets,
        waits: Sequence[PopLongPolling],
        elastic: ElasticPops,
        clock: Clock,
    ) -> None:
        self.elastic = elastic
        self._blocks = blocks
        self._offsets = offsets
        self._waits = waits
        self._clock = clock
        self.block_timeouts = BlockTimeouts(blocks, self._wake, clock)

    def load(self) -> None:
        """Read the blocks. Blocks: before the loop runs. TableDamaged."""
        for queue in self._blocks.load():
            self.block_timeouts.watch(queue)

    def is_blocked(self, pop: PopResult, place: Place) -> bool:
        header = pop.header
        queue = OrderedQueue(place.topic, header.consumer_group, place.queue_id)
        blocked = self._blocks.is_blocked(queue, header.attempt_id, header.invisible_time)
        if blocked:
            # A batch without a time of its own has the pop's now.
            self.block_timeouts.watch(queue)
        return blocked

    def is_open_work(self, pop: PopResult, place: Place) -> bool:
        """Somebody has messages of the queue, maybe the same attempt: its offset must not move past them."""
        queue = OrderedQueue(place.topic, pop.header.consumer_group, place.queue_id)
        return self._blocks.free_at(queue) is not None

    def popped(self, pop: PopResult, place: Place, offsets: list[int]) -> None:
        """Block the queue, and note how often its messages were consumed before (ExtraInfoUtil)."""
        header = pop.header
        queue = OrderedQueue(place.topic, header.consumer_group, place.queue_id)
        batch = self._blocks.begin(
            queue, header.attempt_id, pop.pop_time, header.invisible_time, offsets
        )
        counts = batch.oc or {}
        version = retry_version(place.topic)
        for offset, count in counts.items():
            pop.places.count_message(version, place.queue_id, offset, count)
        # The map has only messages that were consumed before.
        least = min(counts.values()) if len(counts) == len(offsets) else 0
        pop.places.count_queue(version, place.queue_id, least)
        self.block_timeouts.watch(queue)

    def ack(self, queue: OrderedQueue, offset: int, pop_time: int, peer: Peer) -> None:
        """RemotingError if the batch has no such offset. Late ones are none of anybody's business."""
        topic, group, queue_id = queue
        committed = self._offsets.query(group, topic, queue_id)
        if offset < committed:
            return
        following: int | None
        if self._blocks.find(queue) is None:
            following = offset + 1 if offset == committed else None
        else:
            try:
                following = self._blocks.acknowledge(queue, offset, pop_time)
            except NotInBlock:
                raise RemotingError(
                    ResponseCode.MESSAGE_ILLEGAL,
                    f"offset is illegal, key:{topic}@{group}@{queue_id}, old:{committed}, "
                    f"commit:{offset}, next:-1, /{peer.remote_addr}",
                ) from None
        if following is None:
            return
        if not self._offsets.has_reset(group, topic, queue_id):
            self._offsets.commit(peer.remote_addr, group, topic, queue_id, following)
        self._changed(queue)

    def change(self, queue: OrderedQueue, offset: int, pop_time: int, invisible: int) -> Changed:
        """All zeros for a message that is done with."""
        topic, group, queue_id = queue
        if offset < self._offsets.query(group, topic, queue_id):
            return Changed(0, 0, 0, -1)
        # Sums turn over as in Java.
        until = as_long(self._clock.millis() + invisible)
        self._blocks.hide(queue, offset, pop_time, until)
        self._changed(queue)
        return Changed(pop_time, as_long(until - pop_time), ORDERLY, -1)

    def _changed(self, queue: OrderedQueue) -> None:
        """Who waits looks now, or when the block opens, which may be sooner than it was."""
        if self._blocks.free_at(queue) is None:
            self._wake(queue)
        else:
            self.block_timeouts.watch(queue)

    def _wake(self, queue: OrderedQueue) -> None:
        topic, group, queue_id = queue
        for waits in self._waits:
            waits.wake_first(topic, group, _ALL_QUEUES)
            waits.wake_first(topic, group, queue_id)
