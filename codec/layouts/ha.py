"""Replication streams: the default one (DefaultHAConnection, DefaultHAClient) and the one of
controller mode (AutoSwitchHAConnection, AutoSwitchHAClient)."""

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
