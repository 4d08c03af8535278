"""Writing a checkpoint: first everything it vouches for is synced, then the file itself."""

from __future__ import annotations

import copy
import os
from pathlib import Path

from store.checkpoint import Checkpoint, save_checkpoint
from store.commit_log import CommitLog
from store.files import store_error, sync_directory


class Checkpointing:
    """Made by `MessageStore.plan_checkpoint` on the event loop, run in a worker thread."""

    def __init__(
        self, log: CommitLog, paths: list[str], checkpoint: Checkpoint, file: Path
    ) -> None:
        self.paths = paths
        self.done = False
        """Unless it is, the next checkpoint has to sync these paths too."""
        self._log = log
        self._checkpoint = copy.copy(checkpoint)
        self._file = file

    def run(self) -> None:
        """Blocks on the disk. StoreError leaves the checkpoint as it was."""
        self._log.flush()
        try:
            for path in self.paths:
                sync_file(path)
            for directory in sorted({os.path.dirname(path) for path in self.paths}):
                sync_if_there(directory)
            save_checkpoint(self._file, self._checkpoint)
            self.done = True
        except OSError as error:
            raise store_error(error, "writing the checkpoint") from error


def sync_file(path: str) -> None:
    """A topic deleted meanwhile has no file any more; nothing vouches for it."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        os.fdatasync(fd)
    finally:
        os.close(fd)


def sync_if_there(directory: str) -> None:
    try:
        sync_directory(Path(directory))
    except FileNotFoundError:
        return
