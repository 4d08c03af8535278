"""The `checkpoint` file, read and written; codec/entries/checkpoint.py says what is in it."""

from __future__ import annotations

import os
from pathlib import Path

from trimq.codec.entries.checkpoint import (
    CHECKPOINT_SIZE,
    Checkpoint,
    pack_checkpoint,
    parse_checkpoint,
)
from trimq.store.disk.files import create, set_length, sync_data, sync_directory, write_fully
from trimq.store.disk.quarantine import is_damage, set_aside


def load_checkpoint(path: Path) -> Checkpoint:
    """All zeros when there is no file or a short one: recovery then reads everything. One that cannot be read is set
    aside.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return Checkpoint()
    except OSError as error:
        if not is_damage(error):
            raise
        set_aside(path.parent, path, error)
        return Checkpoint()
    return parse_checkpoint(data)


def save_checkpoint(path: Path, checkpoint: Checkpoint) -> None:
    """Blocks on the disk. The 48 bytes lie in one sector, so they change as a whole."""
    data = pack_checkpoint(checkpoint)
    fresh = not path.exists()
    fd = create(path)
    try:
        if os.fstat(fd).st_size != CHECKPOINT_SIZE:
            set_length(fd, CHECKPOINT_SIZE)
        write_fully(fd, [data], 0)
        sync_data(fd)
    finally:
        os.close(fd)
    if fresh:
        sync_directory(path.parent)


def raise_index_timestamp(path: Path, timestamp: int) -> None:
    """Vouch for index files up to that store timestamp, and for nothing else new."""
    checkpoint = load_checkpoint(path)
    if timestamp > checkpoint.index_timestamp:
        checkpoint.index_timestamp = timestamp
        save_checkpoint(path, checkpoint)
