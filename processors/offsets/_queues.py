"""What the offset processors need of the store."""

from typing import Protocol


class QueueReader(Protocol):
    def min_offset(self, topic: str, queue_id: int) -> int: ...

    def max_offset(self, topic: str, queue_id: int) -> int: ...

    def offset_by_time(
        self, topic: str, queue_id: int, timestamp: int, upper: bool = False
    ) -> int: ...

    def earliest_store_time(self, topic: str, queue_id: int) -> int: ...

    def has_message(self, topic: str, queue_id: int, queue_offset: int) -> bool: ...
