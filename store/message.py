"""A message on its way into the store, and what became of it.

Hot: one of each per message, so plain classes with `__slots__` that mypyc compiles.
"""

from __future__ import annotations


class Message:
    """What a producer sent, with the hosts in their packed form (4 or 16 address bytes + port)."""

    __slots__ = (
        "body",
        "born_host",
        "born_timestamp",
        "flag",
        "prepared_transaction_offset",
        "properties",
        "queue_id",
        "reconsume_times",
        "store_host",
        "sys_flag",
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


class Appended:
    """Where a message stands in its queue and in the commit log."""

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
    """Where the messages of a batch stand: one behind the other, up to `end` in the commit log."""

    __slots__ = ("end", "physical_offset", "queue_offset", "sizes")

    def __init__(self, queue_offset: int, physical_offset: int, sizes: list[int], end: int) -> None:
        self.queue_offset = queue_offset
        self.physical_offset = physical_offset
        self.sizes = sizes
        self.end = end


class Dispatched:
    """One record of the commit log, as listeners and derived files see it (DispatchRequest)."""

    __slots__ = (
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
