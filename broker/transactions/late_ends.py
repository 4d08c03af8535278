"""A commit that comes when its half message was given up already: it is delivered all the same, once.

As with the real broker, whose producers may commit whatever they once sent. What was given up and what was
delivered since is asked of the message index, so that no table of either has to be kept; only brokers with
something in TRANS_CHECK_MAX_TIME_TOPIC look there.
"""

from __future__ import annotations

import trio

from trimq.broker.records import NoRecord, fetch_record
from trimq.broker.transactions.copies import real_place
from trimq.broker.transactions.ending import Ending
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


class LateEnds:
    def __init__(self, store: MessageStore, ending: Ending) -> None:
        self._store = store
        self._ending = ending
        # Two ends of one half must not both find that nothing was delivered.
        self._one_at_a_time = trio.Lock()

    def possible(self) -> bool:
        """Whether any half message was given up."""
        topic = TRANS_CHECK_MAX_TIME_TOPIC
        return self._store.max_offset(topic, 0) > self._store.min_offset(topic, 0)

    async def commit(self, record: Record) -> int:
        """Stage the message if its half was given up; as `Ending.end` otherwise. RemotingError."""
        async with self._one_at_a_time:
            if not await self._find(TRANS_CHECK_MAX_TIME_TOPIC, record, SysFlag.NOT_TRANSACTION):
                return -1
            topic, _ = real_place(parse_properties(record.properties))
            if await self._find(topic, record, SysFlag.COMMIT):
                return -1
            durable_at = self._ending.commit(record, record.physical_offset)
            # Before the next one looks.
            self._store.write_staged()
            return durable_at

    async def _find(self, topic: str, record: Record, kind: int) -> bool:
        """Whether the topic has a copy of the half message, of that kind."""
        key = key_of(record.properties, record.born_timestamp)
        unique = key[0].decode(errors="replace")
        since = record.store_timestamp - _SLACK_MILLIS
        search = self._store.plan_query(topic, unique, _MOST, since, _ALWAYS)
        await trio.to_thread.run_sync(search.run)
        for offset in search.offsets:
            try:
                found = await fetch_record(self._store, offset)
            except NoRecord:
                continue
            same = key_of(found.properties, found.born_timestamp) == key
            if same and found.topic == topic and found.sys_flag & SysFlag.TRANSACTION_MASK == kind:
                return True
        return False
