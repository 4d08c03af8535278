"""Consume queues of all three kinds (ConsumeQueue, ConsumeQueueExt, BatchConsumeQueue)."""

from typing import Final

from construct import Bytes, Int16sb, Int32sb, Int64sb, Struct, this

QUEUE_ENTRY: Final = Struct(
    "physical_offset" / Int64sb,
    "size" / Int32sb,
    "tags_code" / Int64sb,
)

# Unit size is 20 + bit map bytes.
QUEUE_EXT_UNIT: Final = Struct(
    "size" / Int16sb,
    "tags_code" / Int64sb,
    "store_timestamp" / Int64sb,
    "bit_map_size" / Int16sb,
    "bit_map" / Bytes(this.bit_map_size),
)

BATCH_QUEUE_ENTRY: Final = Struct(
    "physical_offset" / Int64sb,
    "size" / Int32sb,
    "tags_code" / Int64sb,
    "store_timestamp" / Int64sb,
    "base_offset" / Int64sb,
    "count" / Int16sb,
    "compacted_offset" / Int32sb,
    "reserved" / Int32sb,
)
