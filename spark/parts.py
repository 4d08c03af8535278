"""What one task reads: ranges of queues."""

from __future__ import annotations

from pyspark.sql.datasource import InputPartition

from trimq.spark.queues import Range


class RangesPartition(InputPartition):
    """What one task reads: one or more ranges, of any brokers and topics."""

    def __init__(self, parts: tuple[Range, ...]) -> None:
        more = f" and {len(parts) - 1} more" if len(parts) > 1 else ""
        super().__init__(f"{parts[0]}{more}")
        self.parts = parts
