"""Writing a checkpoint: first everything it vouches for is synced, then the file itself."""

from __future__ import annotations

import copy
from contextlib import suppress
from pathlib import Path

from store.checkpoint import Checkpoint, save_checkpoint
from store.commit_log import CommitLog
from store.files import store_error, sync_directory, sync_file


class Checkpointing:
    """Made by `MessageStore.plan_checkpoint` on the event loop, run in a worker thread."""

    def __init__(
        self,
        log: CommitLog,
        unsynced: tuple[list[str], list[str]],
        checkpoint: Checkpoint,
        file: Path,
    ) -> None:
        self.files, self.directories = unsynced
        self.done = False
        """Unless it is, the next checkpoint has to sync these files and directories too."""
        self._log = log
        self._checkpoint = copy.copy(checkpoint)
        self._file = file

    def run(self) -> None:
        """Blocks on the disk. StoreError leaves the checkpoint as it was."""
        self._log.flush()
        try:
            # A topic deleted meanwhile has no files any more; nothing vouches for them.
            for path in self.files:
                with suppress(FileNotFoundError):
                    sync_file(path)
            for directory in self.directories:
                with suppress(FileNotFoundError):
                    sync_directory(directory)
            save_checkpoint(self._file, self._checkpoint)
            self.done = True
        except OSError as error:
            raise store_error(error, "writing the checkpoint") from error
