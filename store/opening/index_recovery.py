"""Opening the index: what the files hold, and adding from the commit log what they lack.

After a clean stop the files are complete. After a crash everything up to the record that the
checkpoint names is in them and on the disk; what comes after is dropped, and added again while the
commit log is scanned.

A file that ends later than the checkpoint's index timestamp was written by a real broker that
crashed: it does not sync the file it writes, and deletes it at this point. Such a file, and all
later ones, are rebuilt from the commit log, and removed when that is done.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Final

from trimq.codec.entries.checkpoint import Checkpoint
from trimq.codec.entries.index import FIRST_ENTRY
from trimq.codec.records.record import FIXED_SIZE
from trimq.store.disk.files import remove, sync_directory
from trimq.store.errors import StoreDamaged
from trimq.store.index.entries import EntryReader
from trimq.store.index.file import IndexFile
from trimq.store.index.message_index import Index
from trimq.store.log.commit_log import CommitLog
from trimq.store.log.whole_records import LogScanner
from trimq.store.messages.message import Dispatched
from trimq.store.messages.tags import TagCodes
from trimq.store.queues.time_search import store_timestamp

# Entries are written to the files when there are more bytes of them than this.
LARGEST_TAIL: Final = 4 * 1024 * 1024


class IndexRecovery:
    """`vouch` writes an index timestamp to the checkpoint."""

    def __init__(
        self,
        index: Index,
        log: CommitLog,
        checkpoint: Checkpoint,
        vouch: Callable[[int], None],
    ) -> None:
        self._index = index
        self._log = log
        self._durable = checkpoint.queue_physical_offset or -1
        self._timestamp = checkpoint.index_timestamp
        self._vouch = vouch
        self._enabled = index.enabled
        # Files of a real broker that crashed.
        self._discarded: list[IndexFile] = []
        # Files of which nothing is left.
        self._empty: list[str] = []
        # The last message in the files, and how many of its keys are in them.
        self._known = -1
        self._known_keys = 0
        self._before_change: Callable[[], None] = nothing

    def load(self, clean: bool) -> None:
        """Load the files; after a crash only what the checkpoint vouches for."""
        index = self._index
        index.files = self._found(clean)
        if clean:
            self._open_last(mend=False)
            return
        for at, file in enumerate(index.files):
            if file.header.end_timestamp > self._timestamp:
                self._discarded = index.files[at:]
                del index.files[at:]
                break
        self._keep_to(self._durable)

    def begin(self, start: int, tags: TagCodes, before_change: Callable[[], None]) -> None:
        """The commit log will be scanned from there; a file to be rebuilt may begin earlier."""
        self._before_change = before_change
        if not self._discarded:
            return
        first = max(self._known, self._log.min_offset)
        for record in LogScanner(self._log, first, start, tags):
            if record.physical_offset >= start:
                break
            self.add(record)

    def add(self, record: Dispatched) -> None:
        """A record of the log; its keys are entered unless they are already there."""
        if not self._enabled or record.physical_offset < self._known or not record.topic:
            return
        skip = self._known_keys if record.physical_offset == self._known else 0
        self._index.add(record, skip)
        if self._index.unwritten_bytes > LARGEST_TAIL:
            self._before_change()
            self._write()

    def end(self, log_end: int) -> None:
        """The log ends there: nothing in the index may point beyond it."""
        index = self._index
        if index.files and index.files[-1].header.end_physical_offset >= log_end:
            self._keep_to(log_end - 1)
        if self._discarded or (index.files and not index.files[-1].is_written):
            # Slots on the disk must not point to where new entries will be written.
            self._write()
        self._empty += [file.path for file in self._discarded]
        self._discarded.clear()
        for path in self._empty:
            remove(path)
        if self._empty:
            sync_directory(index.directory)
        # Of the rebuilt files, and of the file that a real broker left with a clean stop.
        self._vouch(index.end_timestamp)

    def _write(self) -> None:
        """What was built instead of discarded files counts only when it is complete."""
        writing = self._index.plan_writing()
        if writing is not None:
            writing.copy()
            writing.run(no_vouching if self._discarded else self._vouch)
        while self._index.step():
            pass

    # --- reading the files

    def _found(self, clean: bool) -> list[IndexFile]:
        directory, full = self._index.directory, self._index.shape.size
        if not directory.is_dir():
            return []
        names = sorted(name for name in os.listdir(directory) if name.isdigit())
        files = []
        for name in names:
            path = directory / name
            length = path.stat().st_size
            if length < full and name == names[-1] and not clean:
                # The crash came while it was being created.
                self._empty.append(str(path))
            elif length != full:
                raise StoreDamaged(
                    path, length, f"that is its length; maxHashSlotNum and maxIndexNum say {full}"
                )
            else:
                files.append(IndexFile.found(str(path), self._index.shape))
        self._index.last_name = names[-1] if names else ""
        return files

    def _keep_to(self, last_offset: int) -> None:
        """Drop the entries of later messages, and slots that point to entries that do not count."""
        files = self._index.files
        while files and not self._keep_in(files[-1], last_offset):
            self._empty.append(files.pop().path)
        self._open_last(mend=True)

    def _keep_in(self, file: IndexFile, last_offset: int) -> bool:
        """False when nothing of the file is left."""
        with EntryReader(file.path, self._index.shape) as reader:
            count = count_to(reader, file.header.count, last_offset)
            if count <= FIRST_ENTRY:
                return False
            header = file.header
            if count < header.count:
                gone = [reader.entry(number) for number in range(count, header.count)]
                header.used_slots -= sum(entry.previous == 0 for entry in gone)
                last = reader.entry(count - 1)
                header.end_physical_offset = last.physical_offset
                header.end_timestamp = max(
                    header.begin_timestamp + last.seconds * 1000,
                    store_timestamp(self._log, last.physical_offset, FIXED_SIZE),
                )
                header.count = file.written = count
        return True

    def _open_last(self, mend: bool) -> None:
        files = self._index.files
        if not files:
            self._known = -1
            return
        last = files[-1]
        self._known = last.header.end_physical_offset
        self._known_keys = self._keys_of_last()
        if not last.is_full:
            last.open_slots(mend)

    def _keys_of_last(self) -> int:
        """How many entries the last message has; they may begin in the previous file."""
        count = 0
        for file in reversed(self._index.files):
            with EntryReader(file.path, self._index.shape) as reader:
                for number in range(file.header.count - 1, 0, -1):
                    if reader.entry(number).physical_offset != self._known:
                        return count
                    count += 1
        return count


def count_to(reader: EntryReader, count: int, last_offset: int) -> int:
    """How many of the entries, the unused one included, belong to messages up to an offset."""
    low, high = FIRST_ENTRY, count
    while low < high:
        middle = (low + high) // 2
        if reader.entry(middle).physical_offset <= last_offset:
            low = middle + 1
        else:
            high = middle
    return low


def nothing() -> None:
    """Until recovery says what is to be done before a change."""


def no_vouching(timestamp: int) -> None:
    """After a crash at this point, all of it is rebuilt once more."""
