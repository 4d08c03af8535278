"""A message on its way into the store, and what became of it.

One of each per message, so plain classes with `__slots__`.

Hot: compiled by mypyc when a compiler is there.
"""

from __future__ import annotations

from trimq.codec.records.multi_dispatch import NOWHERE
from trimq.codec.records.record import Record


class Message:
    """What a producer sent, with the hosts in their packed form (4 or 16 address bytes + port).

    `tag_hash`: the hash of the tag that is among the properties (0 without one), if somebody has
    examined them and found nothing that needs a closer look, INNER_MULTI_DISPATCH for one.

    `out_ms` and `real_topic`: TIMER_OUT_MS and REAL_TOPIC of a message for the wheel that recalls no other, if
    whoever made its properties says so; -1 and nothing otherwise.
    """

    __slots__ = (
        "body",
        "born_host",
        "born_timestamp",
        "flag",
        "out_ms",
        "prepared_transaction_offset",
        "properties",
        "queue_id",
        "real_topic",
        "reconsume_times",
        "store_host",
        "sys_flag",
        "tag_hash",
        "topic",
    )

    def __init__(  # noqa: PLR0913, PLR0917 - the fields of a message
        self,
        topic: str,
        queue_id: int,
        body: bytes,
        properties: bytes = b"",
        flag: int = 0,
        sys_flag: int = 0,
        born_timestamp: int = 0,
        born_host: bytes = b"\x7f\x00\x00\x01\x00\x00\x00\x00",
        store_host: bytes = b"\x7f\x00\x00\x01\x00\x00\x00\x00",
        reconsume_times: int = 0,
        prepared_transaction_offset: int = 0,
        tag_hash: int | None = None,
    ) -> None:
        self.topic = topic
        self.queue_id = queue_id
        self.body = body
        self.properties = properties
        self.flag = flag
        self.sys_flag = sys_flag
        self.born_timestamp = born_timestamp
        self.born_host = born_host
        self.store_host = store_host
        self.reconsume_times = reconsume_times
        self.prepared_transaction_offset = prepared_transaction_offset
        self.tag_hash = tag_hash
        self.out_ms = -1
        self.real_topic = ""


def copy_to(topic: str, queue_id: int, record: Record) -> Message:
    """The message that a record was made of, for another place; it settles no half message."""
    return Message(
        topic,
        queue_id,
        record.body,
        record.properties,
        record.flag,
        record.sys_flag,
        record.born_timestamp,
        record.born_host,
        record.store_host,
        record.reconsume_times,
        0,
    )


class Appended:
    """Where a message is in its queue and in the commit log."""

    __slots__ = ("end", "physical_offset", "queue_offset", "size", "store_timestamp")

    def __init__(
        self, queue_offset: int, physical_offset: int, size: int, store_timestamp: int
    ) -> None:
        self.queue_offset = queue_offset
        self.physical_offset = physical_offset
        self.size = size
        self.store_timestamp = store_timestamp
        self.end = physical_offset + size


class AppendedBatch:
    """Where the messages of a batch are: consecutive, up to `end` in the commit log."""

    __slots__ = ("end", "physical_offset", "queue_offset", "sizes")

    def __init__(self, queue_offset: int, physical_offset: int, sizes: list[int], end: int) -> None:
        self.queue_offset = queue_offset
        self.physical_offset = physical_offset
        self.sizes = sizes
        self.end = end


class Dispatched:
    """One record of the commit log, as listeners and derived files see it (DispatchRequest).

    `count`: how many queue offsets it takes; a scan of the log leaves that to the kind of its queue.
    `light_queues`: the light queues that it was entered into as well, and its offset in each; a scan leaves
    them to `codec.records.multi_dispatch`.
    """

    __slots__ = (
        "count",
        "light_queues",
        "physical_offset",
        "properties",
        "queue_id",
        "queue_offset",
        "size",
        "store_timestamp",
        "sys_flag",
        "tags_code",
        "topic",
    )

    def __init__(  # noqa: PLR0913, PLR0917 - the fields of a dispatch
        self,
        topic: str,
        queue_id: int,
        queue_offset: int,
        physical_offset: int,
        size: int,
        tags_code: int,
        store_timestamp: int,
        sys_flag: int,
        properties: bytes,
        count: int = 1,
    ) -> None:
        self.topic = topic
        self.queue_id = queue_id
        self.queue_offset = queue_offset
        self.physical_offset = physical_offset
        self.size = size
        self.tags_code = tags_code
        self.store_timestamp = store_timestamp
        self.sys_flag = sys_flag
        self.properties = properties
        self.count = count
        self.light_queues: tuple[tuple[str, int], ...] = NOWHERE
