"""The store's directory: its lock, and the `abort` file that says whether it was closed cleanly.

`lock` is held for the life of the process (DefaultMessageStore.start), `abort` exists while the
store is open and holds the process id; found at opening, it means that the last one was killed.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from trimq.store.disk.files import (
    FULL,
    create,
    make_durable_directory,
    remove,
    set_length,
    sync_data,
    sync_directory,
    write_fully,
)
from trimq.store.disk.system import lock_alone
from trimq.store.errors import StoreError, StoreInUse


class StoreDirectory:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.abort_file = root / "abort"
        self.checkpoint_file = root / "checkpoint"
        # The lock file and the directory, while they are locked.
        self._held: list[int] = []

    def lock(self) -> None:
        """Raises StoreInUse when somebody else holds it."""
        make_durable_directory(self.root)
        fd = create(self.root / "lock")
        self._held = [fd, os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)]
        try:
            lock_alone(*self._held)
        except OSError as error:
            self.unlock()
            raise StoreInUse(
                f"{self.root} is in use by another broker; stop it or choose another directory"
            ) from error
        rewrite_if_room(fd, b"lock")

    def unlock(self) -> None:
        while self._held:
            os.close(self._held.pop())

    def refuse_foreign(self) -> None:
        """A broker with `storeType=defaultRocksDB` keeps its consume queues where we find none.

        Without this check the whole log would be scanned and queues built beside the others.
        """
        for name in ("consumequeue", "consumequeue_rocksdb"):
            if (self.root / name / "CURRENT").is_file() and not self._has_queue_files():
                raise StoreError(
                    f"{self.root / name} is a RocksDB database; TriMQ reads consume queues in "
                    "files only. "
                    "Start the broker that wrote it once with storeType=default, or remove that "
                    "folder: the queues are then rebuilt from the commit log"
                )

    def _has_queue_files(self) -> bool:
        folder = self.root / "consumequeue"
        return folder.is_dir() and any(path.is_dir() for path in folder.iterdir())

    def was_aborted(self) -> bool:
        return self.abort_file.exists()

    def mark_open(self) -> None:
        """Durable before the first append: a power loss must not look like a clean stop."""
        fd = create(self.abort_file)
        try:
            rewrite_if_room(fd, str(os.getpid()).encode())
            sync_data(fd)
        finally:
            os.close(fd)
        sync_directory(self.root)

    def mark_closed(self) -> None:
        with suppress(FileNotFoundError):
            remove(self.abort_file)


def rewrite_if_room(fd: int, content: bytes) -> None:
    """A full disk must not prevent a store from being read: the existence of the file says enough."""
    if os.pread(fd, len(content) + 1, 0) == content:
        return
    try:
        write_fully(fd, [content], 0)
        set_length(fd, len(content))
    except OSError as error:
        if error.errno not in FULL:
            raise
