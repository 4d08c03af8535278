"""A compacted queue and its ordinary one count alike, or what comes is left out of the one that is read.

They part when the ordinary queue begins anew while messages are kept: CLEAN_EXPIRED_CONSUMEQUEUE of RocketMQ deletes
it, and so may whoever removes a folder. New messages then have offsets that the kept ones have already: they are
answered with SEND_OK, and nobody ever gets them. RocketMQ leaves it so. At the start of a master the two are brought
together: what was left out is kept behind the rest, and the ordinary queue goes on there.

The other way round, a power loss may take the end of the log and leave copies of it: these go.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Final

from trimq.codec.entries.batch_queue import BatchQueueEntry
from trimq.codec.entries.queue import QueueEntry
from trimq.codec.records.fields import at_offset, at_queue_offset, store_time_at
from trimq.store.compaction.files import CompactionFiles
from trimq.store.compaction.pair import Kept
from trimq.store.compaction.queue import CompactedQueue, key_of
from trimq.store.disk.files import store_error
from trimq.store.message_store import MessageStore

log = logging.getLogger("trimq.compaction")

_AT_ONCE: Final = 64
_BYTES_AT_ONCE: Final = 4 << 20
Place = tuple[str, int]


class Numbering:
    def __init__(self, store: MessageStore, files: CompactionFiles) -> None:
        self._store = store
        self._files = files

    def mend(self, place: Place, queue: CompactedQueue) -> None:
        """Before anything is served. Blocks. StoreError."""
        try:
            self._mend(place, queue)
        except OSError as error:
            raise store_error(error, f"numbering {queue.folders[0]} anew") from error

    def _mend(self, place: Place, queue: CompactedQueue) -> None:
        first, end = self._store.first_in_log(*place), self._store.max_offset(*place)
        # In between may be messages that came since they parted, and their offsets as well.
        ends = [queue.first_from(first), queue.last_before(end)]
        both = [kept for kept in ends if kept is not None and first <= kept.base_offset < end]
        same = all(self._is_same(place, queue, kept) for kept in both)
        if end >= queue.max_offset and same:
            return
        if both and same:
            log.warning(
                "kept messages that the log has lost are gone here too: topic=%s queue=%d from=%d to=%d",
                *place,
                end,
                queue.max_offset,
            )
            self._files.cut(*place, queue, end)
            return
        self._join(place, queue, first, end)

    def _is_same(self, place: Place, queue: CompactedQueue, kept: BatchQueueEntry) -> bool:
        """Whether the message with this offset is the one that is kept, byte for byte but for where it lies."""
        entry = self._store.queue_entry(*place, kept.base_offset)
        if entry is None or entry.size != kept.size:
            return False
        pair = next(pair for pair in queue.pairs if pair.last >= kept.base_offset)
        found = [*self._records([entry]), *pair.read([kept])]
        first, second = (b"".join(at_offset(record, 0)) for record in found)
        return first == second

    def _join(self, place: Place, queue: CompactedQueue, first: int, end: int) -> None:
        """Killed in between, it is done again; what was kept then is not kept twice."""
        begin = following = queue.max_offset
        for batch in self._left_out(place, queue, first, end):
            kept = [
                Kept(at, at_queue_offset(record, at), code, store_time_at(record))
                for at, (record, code) in enumerate(batch, following)
            ]
            queue.append(kept)
            following += len(kept)
        queue.fed = following
        queue.sync()
        self._store.begin_queue(*place, following)
        log.warning(
            "the queue had begun anew, it goes on behind what is kept: topic=%s queue=%d at=%d messages=%d",
            *place,
            following,
            following - begin,
        )

    def _left_out(
        self, place: Place, queue: CompactedQueue, first: int, end: int
    ) -> Iterator[list[tuple[bytes, int]]]:
        """Records that the log has and readers do not get, with their tags codes: not the ones of a key that is kept
        with a message as new as this one or newer.
        """
        newest: dict[str, int] = {}
        if first < end:
            for kept in queue.since(self._store.store_time(*place, first)):
                key = key_of(kept.record)
                newest[key] = max(newest.get(key, 0), kept.store_timestamp)
        for entries in self._batches(place, first, end):
            yield [
                (record, entry.tags_code)
                for record, entry in zip(self._records(entries), entries, strict=True)
                if newest.get(key_of(record), -1) < store_time_at(record)
            ]

    def _records(self, entries: list[QueueEntry]) -> list[bytes]:
        held = self._store.hold([(entry.physical_offset, entry.size) for entry in entries])
        try:
            return [bytes(data) for data in held.read()]
        finally:
            held.release()

    def _batches(self, place: Place, first: int, end: int) -> Iterator[list[QueueEntry]]:
        entries: list[QueueEntry] = []
        for offset in range(first, end):
            entry = self._store.queue_entry(*place, offset)
            if entry is not None:
                entries.append(entry)
            if len(entries) >= _AT_ONCE or sum(one.size for one in entries) >= _BYTES_AT_ONCE:
                yield entries
                entries = []
        if entries:
            yield entries
