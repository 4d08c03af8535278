"""The timer wheel's files (Slot, TimerLog, TimerCheckpoint)."""

from typing import Final

from construct import Int32sb, Int64sb, Struct

TIMER_SLOT: Final = Struct(
    "time" / Int64sb,
    "first_position" / Int64sb,
    "last_position" / Int64sb,
    "count" / Int32sb,
    "magic" / Int32sb,
)

# Records of one slot are linked backwards; the position of none is -1.
TIMER_RECORD: Final = Struct(
    "size" / Int32sb,
    "previous_position" / Int64sb,
    "magic" / Int32sb,
    "write_time" / Int64sb,
    "delay" / Int32sb,
    "physical_offset" / Int64sb,
    "record_size" / Int32sb,
    "topic_hash" / Int32sb,
    "reserved" / Int64sb,
)

# Also the body of an answer to GET_TIMER_CHECK_POINT.
TIMER_CHECKPOINT: Final = Struct(
    "last_read_time" / Int64sb,
    "last_timer_log_flush_position" / Int64sb,
    "last_timer_queue_offset" / Int64sb,
    "master_timer_queue_offset" / Int64sb,
    "state_version" / Int64sb,
    "version_timestamp" / Int64sb,
    "version_counter" / Int64sb,
)
