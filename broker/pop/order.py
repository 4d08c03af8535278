"""Which queues orderly pops have blocked (QueueLevelConsumerManager): `config/consumerOrderInfo.json`.

The last batch that a group got from a queue blocks it for the group until each of its messages is acknowledged or
visible again. A batch that is done stays: the next one is compared with it to count how often a message was consumed.

The committed offset is that of the first message that is not acknowledged, so a block that is lost with a killed
broker lets messages come again early, and never out of order.
"""

import logging
import re
from collections.abc import Container, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Final, NamedTuple, Protocol

import trio

from trimq.base.clock import Clock
from trimq.broker.tables.file import TableFile
from trimq.broker.tables.json_members import JsonMembers, pretty
from trimq.codec.bodies.pop import ConsumerOrderInfo, OrderInfo
from trimq.codec.bodies.topics import TopicConfig
from trimq.codec.java.numbers import as_long
from trimq.codec.java.tables import hash_order

log = logging.getLogger("trimq.pop")

_UNUSED_FOR: Final = 24 * 3600 * 1000
_CLEAN_EVERY: Final = 600_000
_BITS: Final = 64
_OFFSETS: Final = re.compile(r'"o":\[([^\]]*)\]')


class Topics(Protocol):
    def get(self, name: str) -> TopicConfig | None: ...


class OrderedQueue(NamedTuple):
    """A group's view of a queue."""

    topic: str
    group: str
    queue_id: int

    @property
    def key(self) -> str:
        """Of the file's table."""
        return f"{self.topic}@{self.group}"


class NotInBatch(Exception):
    """The offset is none of the batch that the group has."""


class OrderBlocks:
    """The last batch of each queue and group, and its file. Only methods here change one."""

    def __init__(
        self, directory: Path, topics: Topics, groups: Container[str], clock: Clock
    ) -> None:
        """`directory` is the store's `config` folder."""
        self._topics = topics
        self._groups = groups
        self._clock = clock
        self._table: dict[str, dict[int, OrderInfo]] = {}
        self._members = JsonMembers(self._encode)
        self._file = TableFile(directory / "consumerOrderInfo.json", self._pieces)
        self._changed = False
        self._clean_at = 0

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
        latest = max(_visible_times(batch), default=0)
        return latest if latest > self._clock.millis() else None

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
        self._table.setdefault(queue.key, {})[queue.queue_id] = batch
        self._touch(queue.key)
        return batch

    def acknowledge(self, queue: OrderedQueue, offset: int, pop_time: int) -> int | None:
        """Where the group goes on; None: the batch of this time has been replaced. NotInBatch."""
        batch = self._table[queue.key][queue.queue_id]
        offsets = offsets_of(batch)
        if offsets and pop_time != batch.pop_time:
            return None
        try:
            index = offsets.index(offset)
        except ValueError:
            raise NotInBatch from None
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

    # --- forgetting

    def forget(self, topic: str, group: str, queue_id: int) -> None:
        """An operator has moved the group's offset."""
        key = OrderedQueue(topic, group, queue_id).key
        queues = self._table.get(key)
        if queues is not None and queues.pop(queue_id, None) is not None:
            self._forget_empty(key)

    def forget_topic(self, topic: str) -> None:
        self._forget_all(key for key in self._table if key.partition("@")[0] == topic)

    def forget_group(self, group: str) -> None:
        self._forget_all(key for key in self._table if key.partition("@")[2] == group)

    def _forget_all(self, keys: Iterator[str]) -> None:
        for key in list(keys):
            self._table[key] = {}
            self._forget_empty(key)

    def _forget_empty(self, key: str) -> None:
        self._touch(key)
        if not self._table[key]:
            del self._table[key]
            self._members.removed(key)

    def _touch(self, key: str) -> None:
        self._members.changed(key)
        self._changed = True

    # --- the file

    def load(self) -> list[OrderedQueue]:
        """Read the file, if there is one; which queues it names. Blocks: before the loop runs. TableDamaged."""
        loaded = self._file.load_as(ConsumerOrderInfo)
        for key, queues in loaded.table.items() if loaded is not None else ():
            self._table[key] = queues
            self._members.changed(key)
        return [queue for key in self._table for queue in self._queues_of(key)]

    async def persist_in_steps(self) -> None:
        """Write what has changed since the last time; no step holds the loop for long."""
        if self._clock.millis() >= self._clean_at:
            self._clean_at = self._clock.millis() + _CLEAN_EVERY
            await self.clean()
        if self._changed:
            self._changed = False
            await self._file.write_in_steps()

    def persist(self) -> None:
        """Write everything at once and make it durable, as soon as there was something. Blocks: for the shutdown."""
        if self._changed or self._file.begun:
            self._changed = False
            self._file.close()

    async def clean(self) -> None:
        """Drop what nobody has used for a day, and batches of queues, topics and groups that are gone."""
        now = self._clock.millis()
        for key in list(self._table):
            topic, _, group = key.partition("@")
            config = self._topics.get(topic)
            queues = self._table.get(key, {})
            number = 0 if config is None or group not in self._groups else config.read_queue_nums
            for queue_id, batch in list(queues.items()):
                if queue_id >= number or now - batch.l > _UNUSED_FOR:
                    log.info("order of a queue forgotten: key=%s queue=%d", key, queue_id)
                    del queues[queue_id]
                    self._touch(key)
            if key in self._table and not queues:
                self._forget_empty(key)
            await trio.lowlevel.checkpoint()

    def _queues_of(self, key: str) -> Iterator[OrderedQueue]:
        topic, _, group = key.partition("@")
        for queue_id in self._table[key]:
            yield OrderedQueue(topic, group, queue_id)

    def _encode(self, key: str) -> str:
        text = pretty(self._table[key], 2)
        # FastJSON leaves a list of Longs on one line. In an attempt's id the quotes would be escaped.
        return _OFFSETS.sub(lambda found: f'"o":[{"".join(found[1].split())}]', text)

    def _pieces(self) -> Iterator[bytes]:
        level = '"orderedConsumptionLevel":"QUEUE"'
        head = f'{{\n\t"orderInfoCount":{len(self._table)},\n\t{level},\n\t"table":'
        return chain((head.encode(),), self._members.object_pieces(), (b"\n}",))


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
