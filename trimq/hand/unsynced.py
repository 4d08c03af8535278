"""A disk that nobody waits for: what a server in the hand of a test stores survives its kill, and no power loss.

So a store is closed, copied and opened within milliseconds on any disk. What is written is in the system's memory at
once, for this process and the next one. Nor is room on the disk chosen beforehand, which would be looked through at
each opening.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from trimq.store.disk import system


@contextmanager
def unsynced() -> Iterator[None]:
    """Until the block ends, for all stores of this process."""
    before = system.sync, system.sync_entries, system.choose_blocks
    system.sync, system.sync_entries, system.choose_blocks = _leave, _leave, _choose_none
    try:
        yield
    finally:
        system.sync, system.sync_entries, system.choose_blocks = before


def _leave(fd: int) -> None:
    """The system writes it when it likes."""


def _choose_none(fd: int, position: int, size: int) -> bool:
    """As on a file system that cannot."""
    return False


@contextmanager
def frozen_code() -> Iterator[None]:
    """Until the block ends, the collector does not look at what is there now: whatever comes and goes with a broker."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
