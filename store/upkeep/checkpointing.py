"""Writing a checkpoint: first everything it vouches for is synced, then the file itself.

A file costs a round trip to the disk. If that takes longer than syncing everything, as with
thousands of queues, the file system is synced as a whole.
"""

from __future__ import annotations

import copy
import errno
import os
import threading
from collections.abc import Collection, Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

from trimq.codec.entries.checkpoint import Checkpoint
from trimq.store.disk.files import store_error, sync_directory, sync_file, sync_file_system
from trimq.store.index.writing import IndexWriting
from trimq.store.log.commit_log import CommitLog
from trimq.store.upkeep.checkpoint_file import raise_index_timestamp, save_checkpoint

# Up to here one by one: that takes about a tenth of a second, and does not wait for anybody else's
# data.
SYNCED_ONE_BY_ONE: Final = 256


class Checkpointing:
    """Made by `MessageStore.plan_checkpoint` on the event loop, run in a worker thread."""

    def __init__(
        self,
        log: CommitLog,
        unsynced: tuple[set[str], set[str]],
        checkpoint: Checkpoint,
        file: Path,
        index: IndexWriting | None = None,
    ) -> None:
        self.files, self.directories = unsynced
        self.done = False
        """Unless it is, the next checkpoint has to sync these files and directories too."""
        self.offset = checkpoint.queue_physical_offset
        """The record that it vouches for."""
        self._lock = threading.Lock()
        self._is_revoked = False
        self._log = log
        self._checkpoint = copy.copy(checkpoint)
        self._file = file
        self._index = index

    def revoke(self) -> None:
        """What it vouches for is gone: it writes nothing any more. Blocks until it is written, if that has begun."""
        with self._lock:
            self._is_revoked = True

    def run(self) -> None:
        """Blocks on the disk. StoreError leaves the checkpoint as it was."""
        with self._lock:
            if not self._is_revoked:
                self._run()

    def _run(self) -> None:
        try:
            if self._index is not None:
                self._index.copy()
        except OSError as error:
            raise store_error(error, "copying the index") from error
        self._log.flush()
        try:
            sync_all(self.files, self.directories)
            if self._index is not None:
                self._index.run(partial(raise_index_timestamp, self._file))
            save_checkpoint(self._file, self._checkpoint)
            self.done = True
        except OSError as error:
            raise store_error(error, "writing the checkpoint") from error
        # One by one, others in between: hundreds of thousands of paths are freed in one step of the loop otherwise.
        for paths in (self.files, self.directories):
            while paths:
                paths.pop()


def sync_all(files: Collection[str], directories: Collection[str]) -> None:
    """The files of a topic deleted in the meantime are gone; nothing vouches for them."""
    if len(files) + len(directories) > SYNCED_ONE_BY_ONE:
        try:
            for path in one_per_file_system([*files, *directories]):
                sync_file_system(path)
            return
        except OSError as error:
            if error.errno != errno.ENOSYS:
                raise
    for path in files:
        with suppress(FileNotFoundError):
            sync_file(path)
    for directory in directories:
        with suppress(FileNotFoundError):
            sync_directory(directory)


def one_per_file_system(paths: Iterable[str]) -> list[str]:
    """Any folder of the store may be a link to, or the root of, another file system."""
    found: dict[int, str] = {}
    for path in paths:
        try:
            device = os.stat(path).st_dev
        except FileNotFoundError:
            continue
        found.setdefault(device, path)
    return list(found.values())
