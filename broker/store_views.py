"""What processors may ask the store, in two parts."""

from typing import Protocol


class QueueReader(Protocol):
    """Where queues begin and end, and when their messages were stored (milliseconds since 1970, -1: none)."""

    def min_offset(self, topic: str, queue_id: int) -> int: ...

    def max_offset(self, topic: str, queue_id: int) -> int: ...

    def has_message(self, topic: str, queue_id: int, queue_offset: int) -> bool: ...

    def store_time(self, topic: str, queue_id: int, queue_offset: int) -> int: ...

    def earliest_store_time(self, topic: str, queue_id: int) -> int: ...

    def offset_by_time(
        self, topic: str, queue_id: int, timestamp: int, upper: bool = False
    ) -> int: ...


class RecordReader(Protocol):
    """Records by their position in the commit log."""

    def record_at(self, physical_offset: int) -> bytes | None: ...
