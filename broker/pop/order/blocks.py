"""Which queues orderly pops have blocked, by the rules of `rules`, in `config/consumerOrderInfo.json`.

The committed offset is that of the first message that is not acknowledged, so a block that is lost with a killed
broker lets messages come again early, and never out of order.
"""

import logging
import re
from collections.abc import Container, Iterator
from itertools import chain
from pathlib import Path
from typing import Final, Protocol

from trimq.base.clock import Clock
from trimq.broker.pop.order.rules import OrderedBlocks, OrderedQueue
from trimq.broker.steps import Pace
from trimq.broker.tables.file import TableFile
from trimq.broker.tables.json_members import JsonMembers, pretty, quoted
from trimq.codec.bodies.pop import ConsumerOrderInfo, OrderInfo
from trimq.codec.bodies.topics import TopicConfig

log = logging.getLogger("trimq.pop")

_UNUSED_FOR: Final = 24 * 3600 * 1000
_CLEAN_EVERY: Final = 600_000
_QUEUES_PER_PIECE: Final = 64
_OFFSETS: Final = re.compile(r'"o":\[([^\]]*)\]')


class Topics(Protocol):
    def get(self, name: str) -> TopicConfig | None: ...


class OrderBlocks(OrderedBlocks):
    """The last batch of each queue and group, and its file."""

    def __init__(
        self, directory: Path, topics: Topics, groups: Container[str], clock: Clock
    ) -> None:
        """`directory` is the store's `config` folder."""
        super().__init__(clock)
        self._topics = topics
        self._groups = groups
        self._members = JsonMembers(lambda key: _encoded(self._table[key]))
        # Topics and groups with many queues: each piece of the file has some of those.
        self._wide: dict[str, None] = {}
        self._file = TableFile(directory / "consumerOrderInfo.json", self._pieces)
        self._changed = False
        self._clean_at = 0

    def _touch(self, key: str) -> None:
        if len(self._table[key]) > _QUEUES_PER_PIECE:
            self._wide[key] = None
            self._members.removed(key)
        else:
            self._wide.pop(key, None)
            self._members.changed(key)
        self._changed = True

    def _gone(self, key: str) -> None:
        self._wide.pop(key, None)
        self._members.removed(key)

    # --- the file

    def load(self) -> list[OrderedQueue]:
        """Read the file, if there is one; which queues it names. Blocks: before the loop runs. TableDamaged."""
        loaded = self._file.load_as(ConsumerOrderInfo)
        for key, queues in loaded.table.items() if loaded is not None else ():
            for queue_id, batch in queues.items():
                self._put(key, queue_id, batch)
            if queues:
                self._touch(key)
        self._changed = False
        return [queue for key in self._table for queue in self._queues_of(key)]

    async def persist_in_steps(self) -> None:
        """Write what has changed since the last time; no step holds the loop for long."""
        if self._clock.steady_millis() >= self._clean_at:
            self._clean_at = self._clock.steady_millis() + _CLEAN_EVERY
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
        now, pace = self._clock.millis(), Pace()
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
            await pace.keep()

    def _queues_of(self, key: str) -> Iterator[OrderedQueue]:
        topic, _, group = key.partition("@")
        for queue_id in self._table[key]:
            yield OrderedQueue(topic, group, queue_id)

    def _pieces(self) -> Iterator[bytes]:
        level = '"orderedConsumptionLevel":"QUEUE"'
        head = f'{{\n\t"orderInfoCount":{len(self._table)},\n\t{level},\n\t"table":'
        if not self._table:
            return iter((head.encode(), b"{}\n}"))
        return chain((head.encode(), b"{"), self._members_and_wide(), (b"\n\t}\n}",))

    def _members_and_wide(self) -> Iterator[bytes]:
        before = ""
        for piece in self._members.pieces():
            yield piece
            before = ","
        for key in list(self._wide):
            queues = list(self._table.get(key, {}).items())
            yield f"{before}\n\t\t{quoted(key)}:{{".encode()
            before = ""
            for first in range(0, len(queues), _QUEUES_PER_PIECE):
                some = _encoded(dict(queues[first : first + _QUEUES_PER_PIECE]))
                yield (before + some.removeprefix("{").removesuffix("\n\t\t}")).encode()
                before = ","
            yield b"\n\t\t}"
            before = ","


def _encoded(queues: dict[int, OrderInfo]) -> str:
    # FastJSON leaves a list of Longs on one line. In an attempt's id the quotes would be escaped.
    return _OFFSETS.sub(lambda found: f'"o":[{"".join(found[1].split())}]', pretty(queues, 2))
