"""The rules of ordered consumption: what a group has of a queue blocks the queue for it (QueueLevelConsumerManager).

The last batch that a group got from a queue blocks it for the group until each of its messages is acknowledged or
visible again. A batch that is done stays: the next one is compared with it to count how often a message was consumed.
"""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from trimq.base.clock import Clock
from trimq.broker.steps import Steps
from trimq.broker.tables.pairs import Pairs
from trimq.codec.bodies.pop import OrderInfo
from trimq.codec.java.numbers import as_long
from trimq.codec.java.tables import hash_order

_BITS: Final = 64


class OrderedQueue(NamedTuple):
    """A group's view of a queue."""

    topic: str
    group: str
    queue_id: int

    @property
    def key(self) -> str:
        """Of the file's table."""
        return f"{self.topic}@{self.group}"


class NotInBlock(Exception):
    """The offset is none of the batch that the group has."""


class OrderedBlocks:
    """The last batch of each queue and group, in memory. Only methods here change one."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._table: dict[str, dict[int, OrderInfo]] = {}
        self._pairs = Pairs()

    def __len__(self) -> int:
        """How many pairs of a topic and a group have one."""
        return len(self._table)

    # --- the rules

    def find(self, queue: OrderedQueue) -> OrderInfo | None:
        """The last batch; for readers."""
        return self._table.get(queue.key, {}).get(queue.queue_id)

    def is_blocked(self, queue: OrderedQueue, attempt: str | None, invisible: int) -> bool:
        """For a pop of this attempt. `invisible`: that of the pop, which also counts for a batch that has none."""
        batch = self.find(queue)
        if batch is None or (batch.a is not None and batch.a == attempt):
            return False
        if batch.i is None or batch.i <= 0:
            batch.i = invisible
            self._touch(queue.key)
        return self.free_at(queue) is not None

    def free_at(self, queue: OrderedQueue) -> int | None:
        """When all that is not acknowledged is visible again; None if it is already."""
        batch = self.find(queue)
        if batch is None:
            return None
        now = self._clock.millis()
        if batch.l > now:
            self._set_back(queue.key, batch, now)
        latest = max(_visible_times(batch), default=0)
        return latest if latest > now else None

    def _set_back(self, key: str, batch: OrderInfo, now: int) -> None:
        """The clock says less than when the batch began. What was to be hidden for a minute is hidden for a minute from
        now at most; in RocketMQ the queue stands still until the clock has caught up.
        """
        shift = batch.l - now
        usual = as_long(batch.pop_time + (batch.i or 0))
        own = batch.ot or {}
        batch.ot = {offset: own.get(offset, usual) - shift for offset in _open(batch)}
        batch.l = now
        self._touch(key)

    def begin(
        self,
        queue: OrderedQueue,
        attempt: str | None,
        pop_time: int,
        invisible: int,
        offsets: Sequence[int],
    ) -> OrderInfo:
        """A new batch, in place of the last one. Another try of the same attempt counts as no consumption."""
        batch = OrderInfo(
            a=attempt,
            i=invisible,
            l=self._clock.millis(),
            o=[offsets[0], *(offset - offsets[0] for offset in offsets[1:])],
            pop_time=pop_time,
        )
        before = self.find(queue)
        if before is not None:
            batch.oc = _counts(before, attempt, offsets)
        self._put(queue.key, queue.queue_id, batch)
        self._touch(queue.key)
        return batch

    def acknowledge(self, queue: OrderedQueue, offset: int, pop_time: int) -> int | None:
        """Where the group goes on; None: the batch of this time has been replaced. NotInBlock."""
        batch = self._table[queue.key][queue.queue_id]
        offsets = offsets_of(batch)
        if offsets and pop_time != batch.pop_time:
            return None
        try:
            index = offsets.index(offset)
        except ValueError:
            raise NotInBlock from None
        batch.cm = as_long(batch.cm | 1 << index % _BITS)
        self._touch(queue.key)
        return next(_open(batch), offsets[-1] + 1)

    def hide(self, queue: OrderedQueue, offset: int, pop_time: int, until: int) -> None:
        """One message is visible again at another time, if it is of the batch."""
        batch = self.find(queue)
        if batch is None or batch.pop_time != pop_time or offset not in offsets_of(batch):
            return
        batch.ot = {**(batch.ot or {}), offset: until}
        self._touch(queue.key)

    def suspend(self, queue: OrderedQueue, pop_time: int, until: int) -> None:
        """All messages of the batch are visible again at that time, and coming again counts as no attempt."""
        batch = self.find(queue)
        if batch is None or batch.pop_time != pop_time:
            return
        if batch.oc is not None:
            batch.oc = {offset: max(count - 1, 0) for offset, count in batch.oc.items()}
        batch.ot = None
        batch.i = as_long(until - pop_time)
        self._touch(queue.key)

    # --- forgetting

    def forget_unused(self, since: int) -> Steps[None]:
        """Batches that nobody has used since that time, in milliseconds since 1970."""
        for key in list(self._table):
            yield
            queues = self._table.get(key, {})
            for number in [number for number, batch in queues.items() if batch.l < since]:
                del queues[number]
                self._forget_empty(key)

    def forget(self, topic: str, group: str, queue_id: int) -> None:
        """An operator has moved the group's offset."""
        key = OrderedQueue(topic, group, queue_id).key
        queues = self._table.get(key)
        if queues is not None and queues.pop(queue_id, None) is not None:
            self._forget_empty(key)

    def forget_topic(self, topic: str) -> Steps[None]:
        return self._forget_all(self._pairs.of_topic(topic))

    def forget_group(self, group: str) -> Steps[None]:
        return self._forget_all(self._pairs.of_group(group))

    def _forget_all(self, keys: list[str]) -> Steps[None]:
        for key in keys:
            if key in self._table:
                self._table[key] = {}
                self._forget_empty(key)
            yield

    def _put(self, key: str, queue_id: int, batch: OrderInfo) -> None:
        queues = self._table.get(key)
        if queues is None:
            queues = self._table[key] = {}
            self._pairs.add(key)
        queues[queue_id] = batch

    def _forget_empty(self, key: str) -> None:
        self._touch(key)
        if not self._table[key]:
            del self._table[key]
            self._pairs.remove(key)
            self._gone(key)

    def _touch(self, key: str) -> None:
        """A batch with this key has changed: for those that keep them elsewhere, too."""

    def _gone(self, key: str) -> None:
        """There is none with this key any more."""


def offsets_of(batch: OrderInfo) -> list[int]:
    """Of all its messages."""
    first, *distances = batch.o or [0]
    return [first, *(first + far for far in distances)] if batch.o else []


def _open(batch: OrderInfo) -> Iterator[int]:
    """The offsets that are not acknowledged."""
    for index, offset in enumerate(offsets_of(batch)):
        if not batch.cm >> index % _BITS & 1:
            yield offset


def _visible_times(batch: OrderInfo) -> Iterator[int]:
    usual = as_long(batch.pop_time + (batch.i or 0))
    own = batch.ot or {}
    for offset in _open(batch):
        yield own.get(offset, usual)


def _counts(before: OrderInfo, attempt: str | None, offsets: Sequence[int]) -> dict[int, int]:
    """How often messages of a batch were consumed before it, in the order of a Java map (mergeOffsetConsumedCount)."""
    counts = before.oc or {}
    if before.a is not None and before.a == attempt:
        return counts
    were = set(offsets_of(before))
    again = [offset for offset in offsets if offset in were]
    return {offset: counts.get(offset, 0) + 1 for offset in hash_order(again, _long_hash)}


def _long_hash(value: int) -> int:
    """Long.hashCode."""
    return (value ^ (value & 2**64 - 1) >> 32) & 0xFFFFFFFF
