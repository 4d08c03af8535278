"""Which copies were stored after the last checkpoint: a kill must not deliver them twice.

The checkpoint says from where in the commit log on they lie (`TimerStore.plan_flush`); a real broker's does
not, so there the log is read from before the last slot that was done. Each copy that is found stands for one
message that is not to be delivered again.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from trimq.broker.timers.conversion import CopyKey, copy_key
from trimq.codec.names import TIMER_TOPIC
from trimq.codec.records.properties import parse_properties
from trimq.codec.records.property_keys import TIMER_DEQUEUE_MS
from trimq.store.message_store import MessageStore

_MARK: Final = f"{TIMER_DEQUEUE_MS}\x01".encode()


class DeliveredCopies:
    """The copies in the log's tail, until all that was due at the start is done."""

    def __init__(self) -> None:
        self._copies: Counter[CopyKey] = Counter()
        self._until = 0

    def forget_all(self) -> None:
        """As before anything was found."""
        self._copies.clear()
        self._until = 0

    def __len__(self) -> int:
        return self._copies.total()

    def find(self, store: MessageStore, begin: int | None, read_time: int, now: int) -> int:
        """Look at the commit log from `begin` on; None: for all since the slot `read_time`. Blocks.

        Returns where the first copy lies; the log's end without any.
        """
        self._until = now
        first = store.max_physical_offset
        if begin is None:
            records = store.records_from(timer_message_before(store, read_time), read_time)
        else:
            records = store.records_from(begin)
        for record in records:
            if _MARK in record.properties:
                properties = parse_properties(record.properties)
                if TIMER_DEQUEUE_MS in properties:
                    key = copy_key(record.topic, record.queue_id, properties)
                    if key is not None:
                        self._copies[key] += 1
                        # The clock may have been set back since.
                        self._until = max(self._until, record.store_timestamp)
                        first = min(first, record.physical_offset)
        return first

    def take(self, key: CopyKey | None) -> bool:
        """Whether this copy is out. Each is answered with yes once."""
        if not self._copies or key is None or not self._copies[key]:
            return False
        self._copies[key] -= 1
        return True

    def forget(self, read_time: int) -> bool:
        """All slots before that time are done: what is left over stands for nothing. True if that is news."""
        if not self._copies or read_time <= self._until:
            return False
        self._copies.clear()
        return True


def timer_message_before(store: MessageStore, time: int) -> int:
    """The physical offset of the last timer message that was stored before that time; 0 without one."""
    offset = store.offset_by_time(TIMER_TOPIC, 0, time)
    entry = store.queue_entry(TIMER_TOPIC, 0, offset - 1)
    return 0 if entry is None else entry.physical_offset
