"""Index files (IndexFile, IndexHeader): a header, hash slots, then chained entries."""

from typing import Final

from construct import Int32sb, Int64sb, Struct

INDEX_HEADER: Final = Struct(
    "begin_timestamp" / Int64sb,
    "end_timestamp" / Int64sb,
    "begin_physical_offset" / Int64sb,
    "end_physical_offset" / Int64sb,
    "used_slots" / Int32sb,
    # Counts from 1: entry 0 is never used, since 0 in a slot means "none".
    "count" / Int32sb,
)

# The newest entry of all keys that hash to this slot.
INDEX_SLOT: Final = Int32sb

INDEX_ENTRY: Final = Struct(
    "key_hash" / Int32sb,
    "physical_offset" / Int64sb,
    # Since the header's begin timestamp.
    "seconds" / Int32sb,
    "previous_entry" / Int32sb,
)
