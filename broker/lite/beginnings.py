"""Where a group begins to read lite topics that a client subscribes to (OffsetOption, resetOffset)."""

import logging
from typing import Final, Protocol

from trimq.broker.groups.offsets import ConsumerOffsets
from trimq.broker.lite.registry import FROM_FIRST, Subscriber
from trimq.broker.pop.batches import OrderedBatches

log = logging.getLogger("trimq.lite")

# OffsetOption.POLICY_MAX_VALUE.
_FROM_LAST: Final = 2


class Queues(Protocol):
    def max_offset(self, topic: str, queue_id: int) -> int: ...


class LiteBeginnings:
    """A listener of subscriptions. The next pop goes on from the new offset, and is not blocked by what was popped."""

    def __init__(self, offsets: ConsumerOffsets, batches: OrderedBatches, queues: Queues) -> None:
        self._offsets = offsets
        self._batches = batches
        self._queues = queues

    def begins_at(self, subscriber: Subscriber, queue: str, option: str | None, value: int) -> None:
        group = subscriber.group
        current = self._offsets.query(group, queue, 0)
        target = self._target(queue, option, value, current)
        if target is None or target == current:
            return
        log.info("lite offset moved: group=%s queue=%s to=%d", group, queue, target)
        self._offsets.assign_reset(group, queue, 0, target)
        self._batches.forget(queue, group, 0)

    def _target(self, queue: str, option: str | None, value: int, current: int) -> int | None:
        """None: it stays. A TIMESTAMP is ignored, as there."""
        if option == "POLICY":
            if value == FROM_FIRST:
                return 0
            return self._queues.max_offset(queue, 0) if value == _FROM_LAST else None
        if option == "OFFSET":
            return value
        if option == "TAIL_N" and current >= 0:
            return max(0, current - value)
        return None

    def joined(self, subscriber: Subscriber, queue: str) -> None:
        """It goes on where the group is."""

    def taken_over(self, subscriber: Subscriber, queue: str) -> None:
        """The group's offset stays."""

    def left(self, subscriber: Subscriber) -> None:
        """The group's offsets stay."""
