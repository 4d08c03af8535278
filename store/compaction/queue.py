"""A compacted queue: its pairs of files, what is appended to them, and what a pull gets (CompactionLog).

Of two threads one may append, read or open while the other rewrites (`rewriting.py`): `lock` is held while the
list of pairs is used or exchanged.
"""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from trimq.codec.entries.batch_queue import BatchQueueEntry
from trimq.codec.records.properties import parse_properties
from trimq.codec.records.property_keys import KEYS
from trimq.codec.records.property_part import properties_in
from trimq.store.compaction.pair import Kept, Pair, Sizes
from trimq.store.disk.files import remove, rename, sync_directory
from trimq.store.errors import StoreError
from trimq.store.queues.reading.pull import PullLimits, ReadResult, ReadStatus

REWRITTEN: Final = "compacting"
# In the folder of rewritten log files once all files are there: which come, and which go.
DONE: Final = "done"
COMES: Final = "+"
GOES: Final = "-"
_LOOK: Final = 1024


def key_of(record: bytes) -> str:
    """Its keys, as one; blank if it has none."""
    properties = properties_in(record, 0, len(record))
    return parse_properties(properties).get(KEYS, "").strip()


class CompactedQueue:
    """`folders` are those of the log's and the entries' files."""

    def __init__(self, folders: tuple[Path, Path], sizes: Sizes) -> None:
        self.folders = folders
        self.sizes = sizes
        self.pairs: list[Pair] = []
        self.lock = threading.Lock()
        # Up to where the ordinary queue was looked at: records without keys are left out.
        self.fed = 0
        # Its topic was deleted: nothing may be written any more.
        self.is_closed = False

    # --- opening

    def load(self) -> None:
        """StoreError when a file has no partner."""
        done = self.folders[0] / REWRITTEN / DONE
        if done.is_file():
            self.exchange(done)
        for folder in self.folders:
            discard(folder / REWRITTEN)
        bases = self._bases()
        self.pairs = [Pair(self.folders, base, self.sizes) for base in bases]
        for pair in self.pairs:
            pair.load(pair is self.pairs[-1])
        self.fed = self.max_offset

    def _bases(self) -> list[int]:
        logs, entries = (_numbered(folder) for folder in self.folders)
        if logs and logs[-1] not in entries:
            # The process ended between creating the one and the other; neither has anything in it.
            remove(self.folders[0] / f"{logs.pop():020d}")
        for base in set(logs) ^ set(entries):
            missing = self.folders[0 if base in entries else 1] / f"{base:020d}"
            raise StoreError(
                f"{missing} is missing. Move {self.folders[0]} and {self.folders[1]} away: the "
                "queue is then made anew of what the commit log still has of it"
            )
        for folder, size in zip(self.folders, self.sizes, strict=True):
            for base in logs:
                _check_length(folder / f"{base:020d}", size)
        return logs

    # --- what it has

    @property
    def min_offset(self) -> int:
        """-1 while it has nothing (BatchConsumeQueue)."""
        return next((pair.first for pair in self.pairs if pair.first >= 0), -1)

    @property
    def max_offset(self) -> int:
        return max((pair.last + 1 for pair in self.pairs), default=0)

    def last_before(self, offset: int) -> BatchQueueEntry | None:
        """The entry of its last message before this queue offset. Blocks. OSError."""
        for pair in reversed(self.pairs):
            found = pair.last_before(offset)
            if found is not None:
                return found
        return None

    def first_from(self, offset: int) -> BatchQueueEntry | None:
        """The entry of its first message from this queue offset on. Blocks. OSError."""
        for pair in self.pairs:
            for entry in pair.entries(offset, 1):
                return entry
        return None

    def since(self, timestamp: int) -> Iterator[Kept]:
        """Its messages that were stored then or later. Blocks. OSError."""
        for pair in self.pairs:
            if pair.last_stored >= timestamp:
                yield from (kept for kept in pair.records() if kept.store_timestamp >= timestamp)

    # --- appending

    def append(self, records: Iterable[Kept]) -> None:
        """In the order of the queue; those that are there and those without keys are left out. OSError."""
        end = self.max_offset
        wanted = [kept for kept in records if kept.queue_offset >= end and key_of(kept.record)]
        with self.lock:
            if not self.is_closed:
                add(self.pairs, wanted, self.folders, self.sizes)

    def cut(self, offset: int) -> None:
        """Without what it has from this queue offset on: the log has it no more. Blocks. OSError."""
        with self.lock:
            while len(self.pairs) > 1 and self.pairs[-1].first >= offset:
                for path in self.pairs.pop().paths:
                    remove(path)
            if self.pairs:
                self.pairs[-1].cut(offset)
            self.fed = min(self.fed, offset)

    def end(self) -> None:
        """No file of it is touched after this: its topic was deleted."""
        with self.lock:
            self.is_closed = True

    def sync(self) -> None:
        """What was appended survives a power loss."""
        with self.lock:
            pairs = list(self.pairs)
        for pair in pairs:
            pair.sync()

    # --- reading

    def read(self, offset: int, most: int, limits: PullLimits) -> tuple[ReadResult, list[bytes]]:
        """What a pull at this offset gets: whoever asks for a message that is gone gets the next one.

        By CompactionLog.getMessage: no filter, and the messages of one file at most.
        """
        with self.lock:
            low, high = self.min_offset, self.max_offset
            if high == 0:
                return ReadResult(ReadStatus.NO_MESSAGE_IN_QUEUE, 0, low, high), []
            if offset == high:
                return ReadResult(ReadStatus.OFFSET_OVERFLOW_ONE, offset, low, high), []
            if offset > high:
                begin = low if low == 0 else high
                return ReadResult(ReadStatus.OFFSET_OVERFLOW_BADLY, begin, low, high), []
            pair = next(pair for pair in self.pairs if pair.last >= offset)
            return self._read(pair, ReadResult(ReadStatus.FOUND, offset, low, high), most, limits)

    def _read(
        self, pair: Pair, result: ReadResult, most: int, limits: PullLimits
    ) -> tuple[ReadResult, list[bytes]]:
        end = self.pairs[-1].end_offset
        taken: list[BatchQueueEntry] = []
        for entry in pair.entries(result.next_begin_offset, min(max(most, 1), _LOOK)):
            total = result.byte_count + entry.size
            near = end - entry.physical_offset <= limits.memory
            room = limits.memory_bytes if near else limits.disk_bytes
            count = limits.memory_count if near else limits.disk_count
            if taken and (total > room or len(taken) >= min(most, count)):
                break
            taken.append(entry)
            result.add(entry.physical_offset, entry.size)
            result.next_begin_offset = entry.base_offset + 1
        return result, pair.read(taken)

    # --- exchanging files

    def finish_replacing(self) -> None:
        """Go on with an exchange that was interrupted; without one, what was rewritten is thrown away."""
        if any((folder / REWRITTEN).is_dir() for folder in self.folders):
            self.load()

    def exchange(self, done: Path) -> None:
        """Do what `done` says: each line the name of a file that goes, or one that comes in its place.

        May be done again after an interruption at any point.
        """
        lines = [line.split() for line in done.read_text("ascii").splitlines()]
        new = {name for what, name in lines if what == COMES}
        gone = {name for what, name in lines if what == GOES} - new
        for folder in self.folders:
            for name in sorted(new):
                if (folder / REWRITTEN / name).exists():
                    rename(folder / REWRITTEN / name, folder / name)
            for name in sorted(gone):
                if (folder / name).exists():
                    remove(folder / name)
            sync_directory(folder)
        # The one that says what to do goes last.
        for folder in reversed(self.folders):
            discard(folder / REWRITTEN)


def add(pairs: list[Pair], records: list[Kept], folders: tuple[Path, Path], sizes: Sizes) -> None:
    """Append to the last of the pairs, or to new ones that are added to the list."""
    while records:
        taken = pairs[-1].append(records) if pairs else 0
        records = records[taken:]
        if records:
            if pairs:
                pairs[-1].finish()
            pair = Pair(folders, pairs[-1].base + sizes.log if pairs else 0, sizes)
            pair.create()
            pairs.append(pair)


def discard(folder: Path) -> None:
    if folder.is_dir():
        shutil.rmtree(folder)
        sync_directory(folder.parent)


def _numbered(folder: Path) -> list[int]:
    if not folder.is_dir():
        return []
    return sorted(int(path.name) for path in folder.iterdir() if path.name.isdigit())


def _check_length(path: Path, size: int) -> None:
    found = os.stat(path).st_size
    if found != size:
        raise StoreError(
            f"{path} has {found} bytes and not {size}: set compactionMappedFileSize and "
            "compactionCqMappedFileSize as they were when it was written"
        )
