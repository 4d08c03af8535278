"""Opening the index: what the files hold, and adding from the commit log what they lack.

After a clean stop the files are complete. After a crash everything up to the record that the
checkpoint names is in them and on the disk; what comes after is dropped, and added again while the
commit log is scanned.

A file that ends later than the checkpoint's index timestamp was written by a real broker that
crashed: it does not sync the file it writes, and deletes it at this point. Such a file, and all
later ones, are rebuilt from the commit log, and removed when that is done.

So are damaged files, and those behind them; but these are not removed, they are set aside (`store.disk.quarantine`). A
file is damaged when it cannot be read, when its header and its entries disagree, or when a slot points to no entry.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from stat import S_ISREG
from typing import Final

from trimq.codec.entries.checkpoint import Checkpoint
from trimq.codec.entries.index import ENTRY_SIZE, FIRST_ENTRY, HEADER_SIZE, SLOT_SIZE
from trimq.codec.errors import CodecError
from trimq.codec.records.record import FIXED_SIZE
from trimq.store.disk.files import remove, sync_directory
from trimq.store.disk.quarantine import is_damage, set_aside
from trimq.store.errors import StoreDamaged
from trimq.store.index.entries import EntryReader, Shape
from trimq.store.index.file import IndexFile
from trimq.store.index.message_index import Index
from trimq.store.log.commit_log import CommitLog
from trimq.store.log.whole_records import LogScanner
from trimq.store.messages.message import Dispatched
from trimq.store.messages.tags import TagCodes
from trimq.store.queues.plain.time_search import store_timestamp

# Entries are written to the files when there are more bytes of them than this.
LARGEST_TAIL: Final = 4 * 1024 * 1024
# Records between two looks at how many that are.
LOOK_EVERY: Final = 256
BEHIND: Final = "it lies behind a damaged one"


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
        # Damaged files, with the reason, and those behind them.
        self._damaged: dict[Path, object] = {}
        # Files of which nothing is left.
        self._empty: list[str] = []
        # The last message in the files, and how many of its keys are in them.
        self._known = -1
        self._known_keys = 0
        self._before_change: Callable[[], None] = nothing
        self._added = 0

    def load(self, clean: bool) -> None:
        """Load the files; after a crash only what the checkpoint vouches for."""
        index = self._index
        index.files = self._found(clean)
        for at, file in enumerate(index.files):
            if not clean and file.header.end_timestamp > self._timestamp:
                self._discarded = index.files[at:]
                del index.files[at:]
                break
        while True:
            try:
                if clean and not self._damaged:
                    self._open_last(mend=False)
                else:
                    self._keep_to(self._durable)
                return
            except (CodecError, OSError) as error:
                if not is_damage(error):
                    raise
                self._spoil(index.files.pop().path, error)

    def _spoil(self, path: str, why: object) -> None:
        self._damaged[Path(path)] = why

    @property
    def _rebuilds(self) -> bool:
        """Whether messages in front of the scanned ones have to be entered again."""
        return bool(self._discarded or self._damaged)

    def position(self, start: int) -> int:
        """Where the log has to be scanned for it; from `start` on it will be. A file to be rebuilt begins earlier."""
        return min(max(self._known, self._log.min_offset), start) if self._rebuilds else start

    def begin(
        self, first: int, start: int, tags: TagCodes, before_change: Callable[[], None]
    ) -> None:
        """Scan the commit log from the one to the other; from `start` on it will be."""
        self._before_change = before_change
        if first >= start:
            return
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
        self._added += 1
        if self._added % LOOK_EVERY == 0 and self._index.unwritten_bytes > LARGEST_TAIL:
            self._before_change()
            self._write()

    def end(self, log_end: int) -> None:
        """The log ends there: nothing in the index may point beyond it."""
        index = self._index
        if index.files and index.files[-1].header.end_physical_offset >= log_end:
            self._keep_to(log_end - 1)
        if self._rebuilds or (index.files and not index.files[-1].is_written):
            # Slots on the disk must not point to where new entries will be written.
            self._write()
        self._empty += [file.path for file in self._discarded]
        self._discarded.clear()
        for path in self._empty:
            remove(path)
        if self._empty:
            sync_directory(index.directory)
        self._set_aside_folder()
        for damaged, why in self._damaged.items():
            set_aside(index.directory.parent, damaged, why)
        self._damaged.clear()
        # Of the rebuilt files, and of the file that a real broker left with a clean stop.
        self._vouch(index.end_timestamp)

    def _set_aside_folder(self) -> None:
        """Whatever has its name is in the way of the first new file."""
        directory = self._index.directory
        if directory in self._damaged:
            set_aside(directory.parent, directory, self._damaged.pop(directory))

    def _write(self) -> None:
        """What was built instead of discarded files counts only when it is complete."""
        self._set_aside_folder()
        writing = self._index.plan_writing()
        if writing is not None:
            writing.copy()
            writing.run(no_vouching if self._rebuilds else self._vouch)
        while self._index.step():
            pass

    # --- reading the files

    def _found(self, clean: bool) -> list[IndexFile]:
        directory, full = self._index.directory, self._index.shape.size
        if not directory.is_dir():
            if os.path.lexists(directory):
                self._spoil(str(directory), "it is no folder")
            return []
        names = sorted(name for name in os.listdir(directory) if name.isdigit())
        self._index.last_name = names[-1] if names else ""
        lengths = {name: length_of(directory / name) for name in names}
        refuse_another_shape(directory, lengths, self._index.shape)
        files: list[IndexFile] = []
        for name in names:
            path = directory / name
            if lengths[name] < full and name == names[-1] and not clean and not any_used(path):
                # The crash came while it was being created.
                self._empty.append(str(path))
                continue
            try:
                if lengths[name] != full:
                    raise CodecError(f"it has {lengths[name]} bytes instead of {full}")
                if (clean or self._speaks_of_more_than(files)) and not any_used(path):
                    raise CodecError("its header is empty")
                file = IndexFile.found(str(path), self._index.shape)
                check_header(file, self._index.shape, self._speaks_of_more_than(files))
            except (CodecError, OSError) as error:
                if not is_damage(error):
                    raise
                for behind in names[names.index(name) :]:
                    self._spoil(str(directory / behind), error if behind == name else BEHIND)
                break
            files.append(file)
        return files

    def _speaks_of_more_than(self, files: list[IndexFile]) -> bool:
        """Whether the checkpoint vouches for entries behind theirs: the next file is not a new one."""
        return self._timestamp > (files[-1].header.end_timestamp if files else 0)

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
                if any(entry.physical_offset <= last_offset for entry in gone):
                    raise CodecError("its entries are not in the order of the log")
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
            last.check_slots()

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


def length_of(path: Path) -> int:
    """-1 for what is no file, or cannot be looked at."""
    try:
        found = path.stat()
    except OSError:
        return -1
    return found.st_size if S_ISREG(found.st_mode) else -1


def any_used(path: Path) -> bool:
    """Whether a file that is too short had been in use: it has a header."""
    try:
        with path.open("rb") as file:
            return any(file.read(HEADER_SIZE))
    except OSError:
        return True


def refuse_another_shape(directory: Path, lengths: dict[str, int], shape: Shape) -> None:
    """StoreDamaged: all files have one length, which other settings give. Damage is seldom like that."""
    found = set(lengths.values())
    if len(found) != 1 or found == {shape.size}:
        return
    (length,) = found
    slots_differ = (length - HEADER_SIZE - shape.entries * ENTRY_SIZE) % SLOT_SIZE == 0
    entries_differ = (length - shape.entries_at) % ENTRY_SIZE == 0
    if length > HEADER_SIZE and (len(lengths) > 1 or slots_differ or entries_differ):
        raise StoreDamaged(
            directory / min(lengths),
            length,
            f"that is its length; maxHashSlotNum and maxIndexNum say {shape.size}. Set them as they were, or move"
            f" {directory} away: the index is then made anew",
        )


def check_header(file: IndexFile, shape: Shape, has_entries: bool) -> None:
    """CodecError unless it says of the first entry and the last one what they say themselves. `has_entries`: of it
    something is known to be there."""
    header = file.header
    if header.count <= FIRST_ENTRY:
        if has_entries:
            raise CodecError("its header says that it has no entries")
        return
    with EntryReader(file.path, shape) as reader:
        first, last = reader.entry(FIRST_ENTRY), reader.entry(header.count - 1)
    ends = (header.begin_physical_offset, header.end_physical_offset)
    if (first.physical_offset, last.physical_offset) != ends or header.used_slots >= header.count:
        raise CodecError("its header does not fit its entries")


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
