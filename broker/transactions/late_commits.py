"""A commit that comes when its half message was given up already: it is delivered all the same, once.

As with the real broker, whose producers may commit whatever they once sent. Only brokers that have given up something
look.
"""

from __future__ import annotations

from trimq.broker.transactions.discarded_halves import DiscardedHalves
from trimq.broker.transactions.ending import Ending
from trimq.codec.records.record import Record
from trimq.store.message_store import MessageStore


class LateCommits:
    def __init__(self, store: MessageStore, ending: Ending, given_up: DiscardedHalves) -> None:
        self._store = store
        self._ending = ending
        self._given_up = given_up

    def possible(self) -> bool:
        """Whether any half message was given up."""
        return self._given_up.any()

    async def commit(self, record: Record) -> int:
        """Stage the message if its half was given up; as `Ending.end` otherwise. RemotingError."""
        async with self._given_up.one_at_a_time:
            if not await self._given_up.has(record) or await self._given_up.is_delivered(record):
                return -1
            durable_at = self._ending.commit(record, record.physical_offset)
            # Before the next one looks.
            self._store.write_staged()
            return durable_at
