"""Commit-log records, the blank at a file's end, and the items of a batch send."""

from typing import Final

from construct import (
    Bytes,
    Const,
    GreedyBytes,
    IfThenElse,
    Int8ub,
    Int16ub,
    Int32sb,
    Int32ub,
    Int64sb,
    PascalString,
    Prefixed,
    Struct,
    this,
)

from trimq.codec.records.record import MAGIC_BLANK, MAGIC_V2

HOST_V4: Final = Struct("address" / Bytes(4), "port" / Int32sb)
HOST_V6: Final = Struct("address" / Bytes(16), "port" / Int32sb)

# CommitLog, MessageExtEncoder, MessageDecoder.
RECORD: Final = Struct(
    "total_size" / Int32ub,
    "magic" / Int32ub,
    "body_crc" / Int32ub,
    "queue_id" / Int32sb,
    "flag" / Int32sb,
    "queue_offset" / Int64sb,
    "physical_offset" / Int64sb,
    "sys_flag" / Int32sb,
    "born_timestamp" / Int64sb,
    "born_host" / IfThenElse(this.sys_flag & 0x10, HOST_V6, HOST_V4),
    "store_timestamp" / Int64sb,
    "store_host" / IfThenElse(this.sys_flag & 0x20, HOST_V6, HOST_V4),
    "reconsume_times" / Int32sb,
    "prepared_transaction_offset" / Int64sb,
    "body" / Prefixed(Int32ub, GreedyBytes),
    "topic"
    / IfThenElse(
        this.magic == MAGIC_V2,
        PascalString(Int16ub, "utf8"),
        PascalString(Int8ub, "utf8"),
    ),
    "properties" / Prefixed(Int16ub, GreedyBytes),
)

# Ends a file that has no room for the next record; its size is the whole rest of the file.
BLANK: Final = Struct("size" / Int32ub, "magic" / Const(MAGIC_BLANK, Int32ub))

# MessageDecoder.encodeMessage: magic and CRC are unused, the topic is the request's.
BATCH_ITEM: Final = Struct(
    "size" / Int32ub,
    "magic" / Const(0, Int32ub),
    "body_crc" / Const(0, Int32ub),
    "flag" / Int32sb,
    "body" / Prefixed(Int32ub, GreedyBytes),
    "properties" / Prefixed(Int16ub, GreedyBytes),
)
