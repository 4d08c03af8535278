"""Resetting offsets in the broker, which gives the new ones to the group's next pulls.

AdminBrokerProcessor.resetOffsetInner; in force with useServerSideResetOffset=true, the default, and for elastic
topics always.
"""

import logging
from collections.abc import Callable, Sequence

from trimq.base.step_queue import Steps
from trimq.broker.groups.offsets.committed import ConsumerOffsets
from trimq.broker.groups.subscription_groups import SubscriptionGroups
from trimq.broker.steps import QUEUES_PER_STEP
from trimq.broker.store_views import QueueReader
from trimq.codec.bodies.topics import TopicConfig
from trimq.codec.codes import ResponseCode
from trimq.codec.headers.offsets import ResetOffsetRequestHeader
from trimq.remoting.contract import RemotingError

log = logging.getLogger("trimq.admin")

_NO_OFFSET = -1
_ASSIGNED_PER_STEP = 100


class BrokerReset:
    """Computes the new offsets and keeps them until a pull has used them."""

    def __init__(
        self,
        groups: SubscriptionGroups,
        offsets: ConsumerOffsets,
        store: QueueReader,
        left: Callable[[str], Sequence[int]],
        is_slave: bool = False,
    ) -> None:
        """`left`: a topic's queues that are not in the route, and are for a group that goes back.

        `is_slave`: the master's offsets would undo it.
        """
        self._is_slave = is_slave
        self._left = left
        self._groups = groups
        self._offsets = offsets
        self._store = store

    def steps(
        self, header: ResetOffsetRequestHeader, topic: TopicConfig | None
    ) -> Steps[dict[int, int]]:
        """The new offsets by queue id; RemotingError when there is nothing to reset.

        Either all of them are changed or none: also when nobody waits for the answer any more.
        """
        if self._is_slave:
            raise RemotingError(ResponseCode.SYSTEM_ERROR, "Can not reset offset in slave broker")
        if topic is None:
            raise RemotingError(
                ResponseCode.TOPIC_NOT_EXIST, f"Topic {header.topic} does not exist"
            )
        if header.group not in self._groups:
            raise RemotingError(
                ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, f"Group {header.group} does not exist"
            )
        chosen = yield from self._chosen(header, topic)
        if not chosen:
            raise RemotingError(ResponseCode.SYSTEM_ERROR, "No queues to reset.")
        yield from self._assign(header, chosen)
        log.info("offsets reset: group=%s topic=%s to=%s", header.group, header.topic, chosen)
        return chosen

    def _assign(self, header: ResetOffsetRequestHeader, chosen: dict[int, int]) -> Steps[None]:
        rest = iter(chosen.items())
        try:
            for number, (queue_id, offset) in enumerate(rest, 1):
                self._offsets.assign_reset(header.group, header.topic, queue_id, offset)
                if number % _ASSIGNED_PER_STEP == 0:
                    yield 0
        finally:
            for queue_id, offset in rest:
                self._offsets.assign_reset(header.group, header.topic, queue_id, offset)

    def _chosen(
        self, header: ResetOffsetRequestHeader, topic: TopicConfig
    ) -> Steps[dict[int, int]]:
        """New offsets by queue id: of one queue, or of all when its id is negative."""
        name = header.topic
        if header.queue_id < 0:
            chosen: dict[int, int] = {}
            for queue_id in (*range(topic.read_queue_nums), *self._left(name)):
                chosen[queue_id] = self._at(name, queue_id, header.timestamp)
                if len(chosen) % QUEUES_PER_STEP == 0:
                    yield 0
            return chosen
        if header.offset is None or header.offset == _NO_OFFSET:
            return {header.queue_id: self._at(name, header.queue_id, header.timestamp)}
        low = self._store.min_offset(name, header.queue_id)
        high = self._store.max_offset(name, header.queue_id)
        # The offset after the last one is allowed, as by the real broker.
        if (low >= 0 and header.offset < low) or header.offset > high + 1:
            raise RemotingError(
                ResponseCode.SYSTEM_ERROR,
                f"Target offset {header.offset} not in consume queue range [{low}-{high}]",
            )
        return {header.queue_id: header.offset}

    def _at(self, topic: str, queue_id: int, timestamp: int) -> int:
        """The first offset at or after the time; a negative time means the end of the queue."""
        if timestamp < 0:
            return self._store.max_offset(topic, queue_id)
        return self._store.offset_by_time(topic, queue_id, timestamp)
