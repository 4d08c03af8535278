"""ACK, BATCH_ACK and CHANGE_MESSAGE_INVISIBLETIME: what consumers say about popped messages.

An acknowledgement is a record that meets its checkpoint when that is due. A change of the time is a new checkpoint for
one message and an acknowledgement of the old one, in one write.

Hot: compiled by mypyc when a compiler is there.
"""

import binascii
import logging
from typing import Final

from trimq.base.clock import Clock
from trimq.broker.pop.checkpoints.in_flight import InFlight
from trimq.broker.pop.checkpoints.notes import Notes
from trimq.broker.pop.order.orderly import Changed, Orderly
from trimq.broker.pop.order.rules import OrderedQueue
from trimq.broker.pop.reading.checks import bad_queue, no_topic, too_long
from trimq.broker.produce.puts.rules import PutRefused, put_answer
from trimq.broker.topics.table import Topics
from trimq.codec.bodies.pop import BatchAck
from trimq.codec.codes import ResponseCode
from trimq.codec.errors import CodecError
from trimq.codec.headers.fast_pop import AckHeader
from trimq.codec.headers.pop import ChangeInvisibleTimeRequestHeader
from trimq.codec.java.numbers import as_long
from trimq.codec.names import REMARK_LEFT
from trimq.codec.pop.handle import ORDERLY, Handle, parse_handle, real_topic
from trimq.codec.pop.revive_records import Popped, bits
from trimq.remoting.contract import Peer, RemotingError
from trimq.store.config import StoreConfig
from trimq.store.errors import StoreError
from trimq.store.message_store import MessageStore

log = logging.getLogger("trimq.pop")

# A checkpoint has one bit of an int for each of its messages.
_MOST_BITS: Final = 1 << 16
# No checkpoint has more than a few; longer notes would not be read.
_MOST_IN_NOTE: Final = 1000
# Milliseconds that a chain of changes may be ahead of the clock.
_SAME_MOMENT: Final = 1000


class Acknowledgements:
    """All methods stage; the write at the end of the receive stores. They return up to where the client
    waits for the disk.
    """

    def __init__(
        self,
        topics: Topics,
        notes: Notes,
        orderly: Orderly,
        store: MessageStore,
        config: StoreConfig,
        queues: int,
        clock: Clock,
        in_flight: InFlight,
    ) -> None:
        """`queues`: those of the revive topic."""
        self._topics = topics
        self._notes = notes
        self._orderly = orderly
        self._store = store
        self._config = config
        self._queues = queues
        self._clock = clock
        self._in_flight = in_flight

    def not_noted(self, error: StoreError | PutRefused) -> RemotingError:
        """What cannot be stored is answered as a send is (the original says that all is well)."""
        log.warning("not noted for a consumer: reason=%s", error)
        code, remark = put_answer(error, self._config, self._store.disk_use)
        return RemotingError(code, remark)

    def ack(self, header: AckHeader, peer: Peer) -> int:
        """RemotingError, StoreError, PutRefused."""
        topic, queue_id, offset = header.topic, header.queue_id, header.offset
        self.check_queue(topic, queue_id, peer)
        low, high = self._bounds(topic, queue_id)
        if not low <= offset <= high:
            raise RemotingError(
                ResponseCode.NO_MESSAGE,
                f"offset is illegal, key:{topic}@{queue_id}, commit:{offset}, store:{low}~{high}",
            )
        handle = self._handle(header.extra_info)
        if handle.is_orderly:
            queue = OrderedQueue(topic, header.consumer_group, queue_id)
            self._orderly.ack(queue, offset, handle.pop_time, peer)
            return -1
        group, pop_time = header.consumer_group, handle.pop_time
        popped = Popped(group, topic, queue_id, handle.first, pop_time, handle.broker_name)
        end = self._notes.ack(popped, offset, handle.due, handle.revive_queue)
        self._in_flight.done(group, topic, pop_time, 1)
        return self._notes.durable_at(end)

    def ack_batch(self, batch: BatchAck, broker_name: str | None, peer: Peer) -> int:
        """-1 if there is nothing to note. CodecError: it cannot be read. RemotingError: for the answer, when
        all are done. StoreError, PutRefused.
        """
        if batch.t is None or batch.r is None or batch.b is None:
            raise CodecError("an entry without topic (t), kind of topic (r) or bits (b)")
        topic, wanted = real_topic(batch.t, batch.c or "", batch.r), _decoded(batch.b)
        if batch.c is None or not (batch.rq == ORDERLY or self._has_queue(batch.rq)):
            # The original notes it where nobody finds it.
            log.warning("entry of a batch ack left out group=%s rq=%d", batch.c, batch.rq)
            return -1
        low, high = self._bounds(topic, batch.q)
        first: int = batch.so
        offsets = [first + bit for bit in bits(wanted, _MOST_BITS)]
        if offsets and not (low <= offsets[0] and offsets[-1] <= high):
            offsets = [offset for offset in offsets if low <= offset <= high]
        if batch.rq == ORDERLY:
            self._ack_in_order(OrderedQueue(topic, batch.c, batch.q), offsets, batch.pt, peer)
            return -1
        if not offsets:
            return -1
        popped = Popped(batch.c, topic, batch.q, batch.so, batch.pt, broker_name)
        due = as_long(batch.pt + batch.it)
        end = -1
        for index in range(0, len(offsets), _MOST_IN_NOTE):
            some = offsets[index : index + _MOST_IN_NOTE]
            end = self._notes.ack_batch(popped, some, due, batch.rq)
        self._in_flight.done(batch.c, topic, batch.pt, len(offsets))
        return self._notes.durable_at(end)

    def change(self, header: ChangeInvisibleTimeRequestHeader, peer: Peer) -> Changed:
        """RemotingError, StoreError, PutRefused."""
        topic, queue_id, offset = header.topic, header.queue_id, header.offset
        self.check_queue(topic, queue_id, peer)
        low, high = self._bounds(topic, queue_id)
        if not low <= offset < high:
            raise RemotingError(ResponseCode.NO_MESSAGE, REMARK_LEFT)
        handle = self._handle(header.extra_info)
        if handle.is_orderly:
            queue = OrderedQueue(topic, header.consumer_group, queue_id)
            return self._orderly.change(queue, offset, handle.pop_time, header.invisible_time)
        why = too_long(header.invisible_time, self._config)
        if why is not None:
            raise RemotingError(ResponseCode.INVALID_PARAMETER, why)
        now = self._clock.millis()
        if now <= handle.pop_time <= now + _SAME_MOMENT:
            # Otherwise it might be taken for the checkpoint that it stands for, of which it is a part.
            now = handle.pop_time + 1
        group, name = header.consumer_group, handle.broker_name
        popped = Popped(group, topic, queue_id, offset, now, name)
        old = Popped(group, topic, queue_id, handle.first, handle.pop_time, name)
        end = self._notes.change(
            popped, header.invisible_time, header.suspend, old, handle.due, handle.revive_queue
        )
        durable_at = self._notes.durable_at(end)
        return Changed(now, header.invisible_time, handle.revive_queue, durable_at)

    def _ack_in_order(
        self, queue: OrderedQueue, offsets: list[int], pop_time: int, peer: Peer
    ) -> None:
        """All of them, whatever becomes of one; RemotingError of the last that is refused."""
        refused: RemotingError | None = None
        for offset in offsets:
            try:
                self._orderly.ack(queue, offset, pop_time, peer)
            except RemotingError as error:
                refused = error
        if refused is not None:
            raise refused

    def _handle(self, text: str) -> Handle:
        try:
            handle = parse_handle(text)
            self._check_revive_queue(handle.revive_queue)
        except CodecError as error:
            raise RemotingError(ResponseCode.SYSTEM_ERROR, str(error)) from None
        return handle

    def _check_revive_queue(self, number: int) -> None:
        if number != ORDERLY and not self._has_queue(number):
            raise CodecError(f"there is no revive queue {number} (reviveQueueNum={self._queues})")

    def _has_queue(self, number: int) -> bool:
        """Whether what is noted there is found: also in queues of a time when there were more of them."""
        return 0 <= number < self._queues or number in self._store.queues(self._notes.topic)

    def check_queue(self, topic: str, queue_id: int, peer: Peer) -> None:
        """RemotingError if there is no such queue to read."""
        config = self._topics.get(topic)
        if config is None:
            raise no_topic(topic)
        if not 0 <= queue_id < config.read_queue_nums:
            raise RemotingError(ResponseCode.MESSAGE_ILLEGAL, bad_queue(config, queue_id, peer))

    def _bounds(self, topic: str, queue_id: int) -> tuple[int, int]:
        return self._store.bounds(topic, queue_id)


def _decoded(text: str) -> bytes:
    try:
        return binascii.a2b_base64(text, strict_mode=True)
    except (binascii.Error, ValueError) as error:
        raise CodecError(f"bits (b) are not base64: {error}") from None
