"""`config/timercheck`: how far the wheel had got when all that it speaks of was on the disk (TimerCheckpoint)."""

from __future__ import annotations

import os
from pathlib import Path

from trimq.codec.entries.timer import (
    CHECKPOINT_FILE_SIZE,
    TimerState,
    pack_own_checkpoint,
    pack_timer_checkpoint,
    parse_delivered_from,
    parse_timer_checkpoint,
)
from trimq.store.disk.files import (
    create,
    make_durable_directory,
    set_length,
    store_error,
    sync_data,
    sync_directory,
    write_fully,
)
from trimq.store.disk.quarantine import is_damage, set_aside


class TimerCheckpoint:
    """The file. What it says is `state`, all zeros without one; and `delivered_from`.

    What was delivered after the checkpoint lies in the commit log from `delivered_from` on; None when
    RocketMQ wrote it, which does not say that.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.state = TimerState()
        self.delivered_from: int | None = None

    def load(self) -> None:
        """Blocks."""
        try:
            data = self.path.read_bytes()
        except FileNotFoundError:
            return
        except OSError as error:
            if not is_damage(error):
                raise
            set_aside(self.path.parent.parent, self.path, error)
            return
        self.state = parse_timer_checkpoint(data)
        self.delivered_from = parse_delivered_from(data)

    def save(self, state: TimerState, delivered_from: int | None) -> None:
        """Blocks until it is on the disk. `delivered_from`: None when nobody knows it. StoreError."""
        data = pack_timer_checkpoint(state)
        if delivered_from is not None:
            data = pack_own_checkpoint(state, delivered_from)
        try:
            is_new = not self.path.exists()
            if is_new:
                make_durable_directory(self.path.parent)
            fd = create(self.path)
            try:
                # One sector: a power loss leaves it as it was, or as it is to be.
                write_fully(fd, [data], 0)
                if os.fstat(fd).st_size != CHECKPOINT_FILE_SIZE:
                    set_length(fd, CHECKPOINT_FILE_SIZE)
                sync_data(fd)
            finally:
                os.close(fd)
            if is_new:
                sync_directory(self.path.parent)
        except OSError as error:
            raise store_error(error, f"writing {self.path}") from error
