"""The entries of one record in light queues, from its properties (ConsumeQueue.multiDispatchLmqQueue)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from trimq.codec.flags import SysFlag
from trimq.codec.names import LIGHT_QUEUE_ID, allows_light
from trimq.codec.records.multi_dispatch import NAMES_MARK, light_places
from trimq.store.messages.message import Dispatched


class KnownQueues(Protocol):
    """What is asked about the queues of the store."""

    def is_plain(self, topic: str) -> bool: ...

    def exists(self, topic: str) -> bool: ...


def light_entries(queues: KnownQueues, record: Dispatched, has_light: bool) -> Iterator[Dispatched]:
    """The record as each of its light queues sees it.

    Without `has_light` only as those do that exist: they have to be as they were when they are wanted again.
    """
    if NAMES_MARK not in record.properties:
        return
    if record.sys_flag & SysFlag.INNER_BATCH or not allows_light(record.topic):
        return
    if not queues.is_plain(record.topic):
        return
    for name, offset in light_places(record.properties):
        if (has_light or queues.exists(name)) and queues.is_plain(name):
            yield Dispatched(
                name,
                LIGHT_QUEUE_ID,
                offset,
                record.physical_offset,
                record.size,
                record.tags_code,
                record.store_timestamp,
                record.sys_flag,
                b"",
            )
