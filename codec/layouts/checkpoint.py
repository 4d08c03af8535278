"""The store's checkpoint (StoreCheckpoint): six numbers at the start of a 4096-byte file."""

from typing import Final

from construct import Int64sb, Padded, Struct

from trimq.codec.entries.checkpoint import CHECKPOINT_SIZE

CHECKPOINT: Final = Padded(
    CHECKPOINT_SIZE,
    Struct(
        "physic_msg_timestamp" / Int64sb,
        "logics_msg_timestamp" / Int64sb,
        "index_msg_timestamp" / Int64sb,
        "master_flushed_offset" / Int64sb,
        "confirm_phy_offset" / Int64sb,
        "logics_physical_offset" / Int64sb,
    ),
)
