"""Moving a group in lite topics that a client subscribes to (resetOffset), to where its subscription says."""

import logging

from trimq.broker.consume.first_offsets import QueueBounds, for_lite
from trimq.broker.groups.offsets.committed import ConsumerOffsets
from trimq.broker.lite.subscribers import Subscriber
from trimq.broker.pop.order.rules import OrderedBlocks

log = logging.getLogger("trimq.lite")


class LiteOffsetResets:
    """A listener of subscriptions. The next pop goes on from the new offset, and is not blocked by what was popped."""

    def __init__(
        self, offsets: ConsumerOffsets, batches: OrderedBlocks, queues: QueueBounds
    ) -> None:
        self._offsets = offsets
        self._batches = batches
        self._queues = queues

    def begins_at(self, subscriber: Subscriber, queue: str, option: str | None, value: int) -> None:
        group = subscriber.group
        current = self._offsets.query(group, queue, 0)
        target = for_lite(self._queues, queue, option, value, current)
        if target is None or target == current:
            return
        log.info("lite offset moved: group=%s queue=%s to=%d", group, queue, target)
        self._offsets.assign_reset(group, queue, 0, target)
        self._batches.forget(queue, group, 0)

    def joined(self, subscriber: Subscriber, queue: str) -> None:
        """It goes on where the group is."""

    def taken_over(self, subscriber: Subscriber, queue: str) -> None:
        """The group's offset stays."""

    def left(self, subscriber: Subscriber) -> None:
        """The group's offsets stay."""
