"""Replication streams: the default one (DefaultHAConnection, DefaultHAClient) and the one of
controller mode (AutoSwitchHAConnection, AutoSwitchHAClient)."""

import struct
from typing import Final

from construct import (
    Array,
    Bytes,
    Int16sb,
    Int32sb,
    Int64sb,
    Prefixed,
    Struct,
    this,
)
from construct import GreedyBytes as Rest

# Slave to master: how far its log goes.
SLAVE_REPORT: Final = Struct("max_offset" / Int64sb)

# Master to slave: commit-log bytes; an empty body is a heartbeat.
MASTER_TRANSFER: Final = Struct("offset" / Int64sb, "body" / Prefixed(Int32sb, Rest))

# What comes before the body.
MASTER_HEAD: Final = Struct("offset" / Int64sb, "size" / Int32sb)

# The same two for every receive of a busy pair: construct takes as long as the rest of it.
_REPORT: Final = struct.Struct(">q")
_HEAD: Final = struct.Struct(">qi")

STATE_HANDSHAKE: Final = 1
STATE_TRANSFER: Final = 2

EPOCH: Final = Struct("epoch" / Int32sb, "start_offset" / Int64sb)

SLAVE_HANDSHAKE: Final = Struct(
    "state" / Int32sb,
    "sync_from_last_file" / Int16sb,
    "async_learner" / Int16sb,
    "broker_id" / Int64sb,
)

MASTER_HANDSHAKE: Final = Struct(
    "state" / Int32sb,
    "body_size" / Int32sb,
    "max_offset" / Int64sb,
    "last_epoch" / Int32sb,
    "epochs" / Array(this.body_size // EPOCH.sizeof(), EPOCH),
)

SWITCH_TRANSFER: Final = Struct(
    "state" / Int32sb,
    "body_size" / Int32sb,
    "offset" / Int64sb,
    "epoch" / Int32sb,
    "epoch_start_offset" / Int64sb,
    "confirm_offset" / Int64sb,
    "body" / Bytes(this.body_size),
)

SWITCH_REPORT: Final = Struct("state" / Int32sb, "max_offset" / Int64sb)


def pack_report(max_offset: int) -> bytes:
    """SLAVE_REPORT."""
    return _REPORT.pack(max_offset)


def unpack_report(data: bytes, at: int) -> int:
    """SLAVE_REPORT: how far the slave's log goes."""
    offset: int = _REPORT.unpack_from(data, at)[0]
    return offset


def pack_head(offset: int, size: int) -> bytes:
    """MASTER_HEAD."""
    return _HEAD.pack(offset, size)


def unpack_head(data: bytes | bytearray) -> tuple[int, int]:
    """MASTER_HEAD: where the body belongs, and how long it is."""
    offset, size = _HEAD.unpack(data)
    return offset, size
