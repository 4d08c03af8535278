"""From which record on the elastic map is read at a start: `config/elasticMap.json`.

Whatever is known of a topic or a group, its last record says all of it. So what lies before the oldest of these last
records is not needed any more, and the file says where that is. What has not changed for long is appended anew when too
much lies behind it. A file that does not fit the log is worth nothing: then all records are read, as without one.
"""

import logging
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from time import perf_counter
from typing import Final, Protocol

import msgspec
import trio

from trimq.base.waits import Wakeup
from trimq.broker.steps import Steps, in_steps
from trimq.broker.tables.file import TableFile
from trimq.codec.bodies.base import Body, Int64
from trimq.codec.names import ELASTIC_MAP_TOPIC
from trimq.store.errors import StoreError
from trimq.store.message_store import MessageStore
from trimq.store.messages.message import Dispatched
from trimq.store.opening.recovery_points import RecoveryPoint, Unit

log = logging.getLogger("trimq.elastic")

_QUEUE: Final = 0
_RETRY_SECONDS: Final = 1.0
_ALWAYS: Final = 3600.0
# Behind every record.
NOWHERE: Final = 1 << 62


class KeptRecords(Body, kw_only=True):
    """`begin`: the queue offset of the first record that is needed. `at`: where that lies in the commit log.

    `end`, `last`: the same of the last one that was there when this was found, `end` being behind it.
    """

    at: Int64 = -1
    begin: Int64 = 0
    end: Int64 = 0
    last: Int64 = -1


class Holder(Protocol):
    """Who makes something of the records."""

    def needs(self) -> int:
        """Where the oldest of its last records lies; NOWHERE without any."""

    def keep_in_steps(self, end: int) -> Steps[None]:
        """What has its last record before that offset of the log is appended anew. StoreError."""


class ElasticRecords:
    """Where to begin, how much that is, and moving it on."""

    def __init__(self, store: MessageStore, directory: Path) -> None:
        self._store = store
        self._kept = self._being_kept = KeptRecords()
        self._file = TableFile(directory / "elasticMap.json", self._pieces, spare=True)
        # Whether something may be appended: a slave has its master's log.
        self.appends: Callable[[], bool] = lambda: True
        self.begin = 0
        """The queue offset of the first record that is needed."""
        # Of the records from there on: queue offsets, places in the log, and how many bytes they and those before have.
        self._offsets = array("q")
        self._places = array("q")
        self._sizes = array("q")
        self._size_before = 0
        self._size = 0
        self._pause = Wakeup()
        self.recovery_point = RecoveryPoint(
            "elastic map",
            "elastic topics and their groups are made of its records",
            Unit.QUEUES,
            self._needed_from,
            lambda: self._size - self._size_before,
            self._hurry,
        )
        # Bytes that were left when it was moved on last: all of them are needed.
        self._left = 0

    # --- reading

    def load(self) -> None:
        """Blocks: before the loop runs."""
        self._kept = self._file.load_as(KeptRecords) or KeptRecords()
        self.begin = self._kept.begin if self._fits() else 0

    def cut(self) -> None:
        """The log was cut. A file that names what is gone must not be believed when others lie there. Blocks."""
        if self._kept.end and not self._fits():
            self._kept = self._being_kept = KeptRecords()
            self._file.close()
            self.begin = 0

    def read(self, replay: Callable[[int], object]) -> None:
        """All records that are needed come now, and are told by `written`. Blocks."""
        began = perf_counter()
        self._offsets, self._places, self._sizes = array("q"), array("q"), array("q")
        self._size = self._size_before = 0
        replay(self.begin)
        self.recovery_point.has_read(self._needed_from(), self._size, perf_counter() - began)

    def written(self, record: Dispatched) -> None:
        self._size += record.size
        self._offsets.append(record.queue_offset)
        self._places.append(record.physical_offset)
        self._sizes.append(self._size)

    def _fits(self) -> bool:
        kept = self._kept
        first, last = self._at(kept.begin), self._at(kept.end - 1)
        return 0 <= kept.begin < kept.end and (first, last) == (kept.at, kept.last)

    def _at(self, offset: int) -> int:
        entry = self._store.queue_entry(ELASTIC_MAP_TOPIC, _QUEUE, offset)
        return -1 if entry is None else entry.physical_offset

    def _needed_from(self) -> int:
        return self._places[0] if self._places else self._store.max_physical_offset

    def _pieces(self) -> Iterator[bytes]:
        yield msgspec.json.encode(self._being_kept)

    # --- moving on

    def _hurry(self) -> None:
        """If that helps: who has so much that is needed must not append all of it again and again."""
        if self._size - self._size_before >= 2 * self._left:
            self._pause.give()

    async def run(self, holders: Iterable[Holder]) -> None:
        """Until cancelled: when told to hurry."""
        told = list(holders)
        while True:
            if await self._pause.wait(_ALWAYS):
                try:
                    await self.move_on(told)
                except StoreError as error:
                    log.error("elastic map not written anew, trying again: reason=%s", error)
                    await trio.sleep(_RETRY_SECONDS)

    async def move_on(self, holders: list[Holder]) -> None:
        """What is not needed any more is passed by at the next start. StoreError."""
        end = self._store.max_physical_offset
        if self.appends():
            for holder in holders:
                await in_steps(holder.keep_in_steps(end))
        if not self._places:
            return
        needed = min(holder.needs() for holder in holders)
        first = min(bisect_left(self._places, needed), len(self._places) - 1)
        self._being_kept = KeptRecords(
            begin=self._offsets[first],
            at=self._places[first],
            end=self._offsets[-1] + 1,
            last=self._places[-1],
        )
        # It must name nothing that a power loss takes.
        await trio.to_thread.run_sync(self._store.flush)
        await self._file.write_in_steps()
        if self._file.saved:
            self._kept = self._being_kept
            self._forget_before(self._kept.begin)
            self._left = self._size - self._size_before

    def _forget_before(self, offset: int) -> None:
        self.begin = offset
        gone = bisect_left(self._offsets, offset)
        if gone:
            self._size_before = self._sizes[gone - 1]
            for column in (self._offsets, self._places, self._sizes):
                del column[:gone]
