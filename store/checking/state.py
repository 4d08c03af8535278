"""What state a store directory is in, from `lock`, `abort` and `checkpoint`, without touching them.

How much a missing or torn end means depends on it: a closed store has everything; after a kill the
next start repairs what comes after the checkpoint; under a running broker the end moves.
"""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path

from trimq.codec.entries.checkpoint import NUMBERS_SIZE, Checkpoint, find_checkpoint
from trimq.store.checking.findings import Findings
from trimq.store.disk.system import lock_holder


class State(StrEnum):
    CLOSED = "closed"
    ABORTED = "aborted"
    RUNNING = "running"


class StoreState:
    """Read before anything else: whatever is read later can only be newer."""

    __slots__ = ("checkpoint", "durable", "owner", "state")

    def __init__(self, root: Path, findings: Findings) -> None:
        aborted = (root / "abort").exists()
        self.owner = lock_owner(root / "lock")
        if self.owner is not None:
            self.state = State.RUNNING
        else:
            self.state = State.ABORTED if aborted else State.CLOSED
        self.checkpoint = _load_checkpoint(root / "checkpoint", findings)
        # As recovery takes it: RocketMQ writes 0 when it has nothing to say.
        self.durable = self.checkpoint.queue_physical_offset or -1

    @property
    def closed(self) -> bool:
        return self.state is State.CLOSED

    @property
    def running(self) -> bool:
        return self.state is State.RUNNING

    def repaired(self, physical_offset: int) -> bool:
        """Whether the next start scans this record and repairs what is derived from it."""
        return not self.closed and physical_offset > self.durable


def lock_owner(path: Path) -> int | None:
    """The process that holds the store's lock (0: one that we cannot identify); None when nobody
    does.

    Asks the kernel about the lock that DefaultMessageStore.start takes, and takes none.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        return lock_holder(fd)
    finally:
        os.close(fd)


def _load_checkpoint(path: Path, findings: Findings) -> Checkpoint:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        findings.note("no checkpoint", f"{path} does not exist: recovery reads everything")
        return Checkpoint()
    found = find_checkpoint(data)
    if found is None:
        text = f"{path} has {len(data)} bytes, its fields take {NUMBERS_SIZE}"
        findings.problem("checkpoint unreadable", text)
        return Checkpoint()
    return found
