"""What consumers say about messages of lite topics: ACK_MESSAGE and CHANGE_MESSAGE_INVISIBLETIME with a `liteTopic`.

Rules of AckMessageProcessor.ackLite and ChangeInvisibleTimeProcessor.processChangeInvisibleTimeForLite, with one
exception: an acknowledgement for which no batch is known (the broker was started since) moves the offset only past the
very next message. The original moves it past any, and what lies between is lost to the group.
"""

from collections.abc import Callable

from trimq.base.clock import Clock
from trimq.broker.groups.offsets.committed import ConsumerOffsets
from trimq.broker.lite.events import LiteEvents
from trimq.broker.lite.metadata import LiteMetadata
from trimq.broker.pop.order.orderly import Changed
from trimq.broker.pop.order.rules import NotInBlock, OrderedBlocks, OrderedQueue
from trimq.broker.pop.order.timeouts import BlockTimeouts
from trimq.codec.codes import ResponseCode
from trimq.codec.errors import CodecError
from trimq.codec.headers.fast_pop import AckHeader
from trimq.codec.headers.pop import ChangeInvisibleTimeRequestHeader
from trimq.codec.java.numbers import as_long
from trimq.codec.names import REMARK_LEFT, lite_queue
from trimq.codec.pop.handle import Handle, parse_handle
from trimq.remoting.contract import Peer, RemotingError
from trimq.store.message_store import MessageStore


class LiteAcknowledgements:
    """RemotingError for what is refused; topic and number of the queue have been checked before."""

    def __init__(
        self,
        metadata: LiteMetadata,
        offsets: ConsumerOffsets,
        batches: OrderedBlocks,
        block_timeouts: BlockTimeouts,
        events: LiteEvents,
        store: MessageStore,
        clock: Clock,
    ) -> None:
        self._metadata = metadata
        self._offsets = offsets
        self._batches = batches
        self._block_timeouts = block_timeouts
        self._events = events
        self._store = store
        self._clock = clock
        # Told of each message that is acknowledged: group, topic, how many.
        self.counted: Callable[[str, str, int], None] = lambda group, topic, count: None

    def ack(self, header: AckHeader, peer: Peer) -> None:
        group, offset = header.consumer_group, header.offset
        if self._metadata.bind_topic(group) != header.topic:
            raise _refused(ResponseCode.INVALID_PARAMETER, "group type or bind topic not match.")
        queue = OrderedQueue(lite_queue(header.topic, header.lite_topic or ""), group, 0)
        if offset > self._store.max_offset(queue.topic, 0):
            raise _refused(ResponseCode.NO_MESSAGE, "ack offset illegal.")
        handle = _handle(header.extra_info)
        if header.queue_id != 0 or not handle.is_orderly:
            raise _refused(ResponseCode.INVALID_PARAMETER, "ack queue illegal.")
        committed = self._offsets.query(group, queue.topic, 0)
        if offset < committed:
            return
        following = self._following(queue, offset, committed, handle)
        self.counted(group, header.topic, 1)
        if following is None:
            return
        if not self._offsets.has_reset(group, queue.topic, 0):
            self._offsets.commit(peer.remote_addr, group, queue.topic, 0, following)
        if self._batches.free_at(queue) is None:
            self._events.available(queue.topic, group)

    def _following(
        self, queue: OrderedQueue, offset: int, committed: int, handle: Handle
    ) -> int | None:
        if self._batches.find(queue) is None:
            return offset + 1 if offset == max(committed, 0) else None
        try:
            return self._batches.acknowledge(queue, offset, handle.pop_time)
        except NotInBlock:
            raise _refused(ResponseCode.MESSAGE_ILLEGAL, "ack offset illegal.") from None

    def change(self, header: ChangeInvisibleTimeRequestHeader) -> Changed:
        """All zeros for a message that is done with. A suspension is one of all messages of the lite topic."""
        group, offset = header.consumer_group, header.offset
        queue = OrderedQueue(lite_queue(header.topic, header.lite_topic or ""), group, 0)
        if offset > self._store.max_offset(queue.topic, 0):
            raise _refused(ResponseCode.NO_MESSAGE, REMARK_LEFT)
        handle = _handle(header.extra_info)
        if offset < self._offsets.query(group, queue.topic, 0):
            return Changed(0, 0, 0, -1)
        # Sums turn over as in Java.
        until = as_long(self._clock.millis() + header.invisible_time)
        if header.suspend:
            self._batches.suspend(queue, handle.pop_time, until)
        else:
            self._batches.hide(queue, offset, handle.pop_time, until)
        if self._batches.free_at(queue) is None:
            self._events.available(queue.topic, group)
        else:
            self._block_timeouts.watch(queue)
        return Changed(handle.pop_time, as_long(until - handle.pop_time), handle.revive_queue, -1)


def is_lite(lite_topic: str | None) -> bool:
    """Whether a request is about a lite topic (StringUtils.isNotBlank)."""
    return lite_topic is not None and bool(lite_topic.strip())


def _handle(text: str) -> Handle:
    try:
        return parse_handle(text)
    except CodecError as error:
        raise _refused(ResponseCode.SYSTEM_ERROR, str(error)) from None


def _refused(code: ResponseCode, remark: str) -> RemotingError:
    return RemotingError(code, remark)
