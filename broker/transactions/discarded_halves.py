"""What was given up of half messages, and what was delivered of them since.

The message index is asked, so that no table has to be kept of either. While `messageIndexEnable` is off it does not
know the newest messages: then the topic's own queues are read, from the time of the half message on. That is slow, and
only done for an end, or an operator, that comes for a half message that is not pending any more.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

import trio

from trimq.broker.records import NoRecord, fetch_record
from trimq.broker.transactions.half_copies import real_place
from trimq.broker.transactions.pending import key_of
from trimq.codec.flags import SysFlag
from trimq.codec.names import TRANS_CHECK_MAX_TIME_TOPIC
from trimq.codec.records.properties import parse_properties
from trimq.codec.records.record import Record
from trimq.store.message_store import MessageStore

# Records with one UNIQ_KEY in one topic, or with its hash.
_MOST = 64
# The index knows seconds, and clocks may be set back.
_SLACK_MILLIS = 3_600_000
_ALWAYS = 1 << 62


class DiscardedHalves:
    """`one_at_a_time`: held by whoever looks, until what follows from that is written."""

    def __init__(self, store: MessageStore) -> None:
        self._store = store
        # Two ends of one half must not both find that nothing was delivered.
        self.one_at_a_time = trio.Lock()

    def any(self) -> bool:
        """Whether any half message was given up."""
        topic = TRANS_CHECK_MAX_TIME_TOPIC
        return self._store.max_offset(topic, 0) > self._store.min_offset(topic, 0)

    async def has(self, half: Record) -> bool:
        """Whether this one was."""
        return await self._find(TRANS_CHECK_MAX_TIME_TOPIC, half, SysFlag.NOT_TRANSACTION)

    async def is_delivered(self, half: Record) -> bool:
        """BadHalf: it does not say what it is for."""
        topic, _ = real_place(parse_properties(half.properties))
        return await self._find(topic, half, SysFlag.COMMIT)

    async def _find(self, topic: str, half: Record, kind: int) -> bool:
        """Whether the topic has a copy of the half message, of that kind."""
        key = key_of(half.properties, half.born_timestamp)
        since = half.store_timestamp - _SLACK_MILLIS
        unique = key[0].decode(errors="replace")
        search = self._store.plan_query(topic, unique, _MOST, since, _ALWAYS)
        await trio.to_thread.run_sync(search.run)
        for offset in chain(search.offsets, self._not_indexed(topic, since)):
            try:
                found = await fetch_record(self._store, offset)
            except NoRecord:
                continue
            same = key_of(found.properties, found.born_timestamp) == key
            if same and found.topic == topic and found.sys_flag & SysFlag.TRANSACTION_MASK == kind:
                return True
        return False

    def _not_indexed(self, topic: str, since: int) -> Iterator[int]:
        """Where to look besides: nowhere while the index learns of everything."""
        if self._store.is_indexing:
            return
        for queue_id in self._store.queues(topic):
            first = self._store.offset_by_time(topic, queue_id, since)
            for offset in range(first, self._store.max_offset(topic, queue_id)):
                entry = self._store.queue_entry(topic, queue_id, offset)
                if entry is not None:
                    yield entry.physical_offset
