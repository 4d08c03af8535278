"""What every queue is, whatever its kind; each kind has a file beside this one.

The states of an entry, and what becomes of it when the process is killed or the power fails:

| state     | where it is                                    | killed          | power lost      |
|-----------|------------------------------------------------|-----------------|-----------------|
| staged    | nowhere; `next_offset` counts its messages     | as if never sent| as if never sent|
| not shown | nowhere, while its record is behind the bound  | restored        | as its record   |
| in memory | behind `files.written`; readers see it         | restored        | restored        |
| written   | in a file that `unsynced` names                | stays           | restored        |
| vouched   | in a file that was synced before a checkpoint  | stays           | stays           |
| trimmed   | below `min_offset`: its record is gone         | stays trimmed   | stays trimmed   |

staged -> not shown, or in memory at once (`append`), when the log has its record; when that fails, `next_offset` goes
back. not shown -> in memory when the bound has passed its record (`Dispatch`). in memory -> written by `write_out`.
written -> vouched by a checkpoint (upkeep).
`correct_min_offset` trims; a file goes (`delete_expired_file`) when all its entries are trimmed and
another file is behind it. "Restored": recovery trusts only what is vouched for and restores
the rest from the commit log (`FoundEntries`, `restore`).

Hot: compiled by mypyc when a compiler is there.
"""

from __future__ import annotations

from trimq.codec.entries.queue import QueueEntry, place_at
from trimq.store.log.commit_log import CommitLog
from trimq.store.messages.effects import Effect
from trimq.store.messages.message import Dispatched, Message
from trimq.store.messages.tag_matching import matches
from trimq.store.queues.files.bounds import Believed
from trimq.store.queues.files.loading import bytes_at, valid_entries
from trimq.store.queues.files.removal import Removal
from trimq.store.queues.files.rows import QueueFiles
from trimq.store.queues.files.writing import Writing
from trimq.store.queues.reading.pull import Pull


class FoundEntries:
    """Entries of one queue for the records that a scan of the log found, in their order."""

    __slots__ = ("first", "next", "physical_offset")

    def __init__(self, record: Dispatched) -> None:
        """Begin with this record, which still has to be added."""
        self.first = record.queue_offset
        self.next = record.queue_offset
        self.physical_offset = record.physical_offset

    def add(self, record: Dispatched) -> bool:
        """False when it does not follow: the topic was deleted and made again, or it is damage."""
        raise NotImplementedError

    def extend(self, later: FoundEntries) -> None:
        raise NotImplementedError

    def may_leap(self) -> bool:
        """Whether offsets may be missing between a queue's end and these entries, or among them."""
        return False


class Queue:
    """`max_offset` is what readers see, `next_offset` includes staged messages and those that are not shown yet."""

    __slots__ = (
        "at_once",
        "dirty",
        "effect",
        "entry_size",
        "files",
        "max_offset",
        "min_offset",
        "next_offset",
        "queue_id",
        "topic",
    )

    def __init__(self, topic: str, queue_id: int, files: QueueFiles, entry_size: int) -> None:
        self.topic = topic
        self.queue_id = queue_id
        self.files = files
        self.entry_size = entry_size
        self.min_offset = 0
        self.max_offset = 0
        self.next_offset = 0
        # Whether it is waiting for its turn to be written.
        self.dirty = False
        # What each of its records changes when it is written; most change nothing.
        self.effect: Effect | None = None
        # Whether its entries need not wait until their records are on the disk.
        self.at_once = False

    @property
    def is_new(self) -> bool:
        """Whether it never had an entry: it may begin anywhere."""
        return self.files.is_empty

    # --- writing

    def prepare(self) -> None:
        """Before the first append: once a record is in the log, nothing may fail any more."""

    def count(self, message: Message) -> int:
        """How many offsets it takes from `next_offset` on; its properties are set accordingly."""
        return 1

    def count_in(self, record: Dispatched) -> int:
        """How many offsets a stored record takes."""
        return 1

    def follows(self, record: Dispatched) -> bool:
        """Whether a stored record is the queue's next one, and may be appended."""
        return record.queue_offset == self.max_offset and not self.is_new

    def append(self, records: list[Dispatched], start: int, end: int) -> None:
        """Entries for the records from `start` up to `end`, all of this queue."""
        raise NotImplementedError

    @property
    def unwritten_bytes(self) -> int:
        return self.files.unwritten_bytes

    def write_out(self) -> None:
        """Write what is still in memory. OSError: try again."""
        self.files.write_out()

    def begin_writing(self, writing: Writing) -> None:
        """Let it write what is in memory now, which stays there until `end_writing`."""
        self.files.begin_writing(writing)

    def end_writing(self) -> bool:
        """After `begin_writing`, and after the writing: whether all that was taken is in the files."""
        return self.files.end_writing()

    # --- reading

    def entry(self, offset: int) -> QueueEntry | None:
        """Where the message is; None when the queue does not have it."""
        raise NotImplementedError

    def tags_code(self, stored: int) -> int:
        """What an entry's tags code stands for."""
        return stored

    def read_file(self, pull: Pull) -> None:
        """Take what the pull wants of the file that has its next offset, until it is full.

        OFFSET_FOUND_NULL when that file is gone.
        """
        raise NotImplementedError

    def is_wanted(self, tags_code: int, pull: Pull) -> bool:
        """By its tag. An address matches anything: only what it stands for can tell."""
        tag_codes = pull.tag_codes
        return tag_codes is None or (
            matches(tags_code, tag_codes) and matches(self.tags_code(tags_code), tag_codes)
        )

    def offset_by_time(self, timestamp: int, upper: bool, log: CommitLog) -> int:
        """Of the first message not before the moment, or `upper`: of the last not after it."""
        raise NotImplementedError

    # --- opening

    def load(self, bounds: Believed, expected: int = -1) -> None:
        """Load the files with the entries that can be trusted; `expected`: probably this many."""
        raise NotImplementedError

    def valid_end(self, last: int, bounds: Believed) -> int:
        """The position after the last entry that can be trusted; the last file begins at `last`."""
        files = self.files
        per_file = files.file_size // self.entry_size
        while True:
            count = valid_entries(
                files.descriptor(last),
                per_file,
                self.entry_size,
                lambda data: self.leading_entries(data, bounds),
            )
            # A file left without a single valid entry is older than its removal: look at the
            # previous one.
            if count > 0 or last <= files.first:
                return last + count * self.entry_size
            last -= files.file_size

    def leading_entries(self, data: bytes, bounds: Believed) -> int:
        """How many of the entries are valid and in their order, from the first on."""
        raise NotImplementedError

    def find_files(self, bounds: Believed) -> int:
        """The position of the last file, -1 without any. What an interrupted deletion left is removed."""
        return self.files.find(
            bounds.vouched < bounds.log_end,
            lambda path: self._is_expired(path, bounds.log_min),
        )

    def _is_expired(self, path: str, log_min: int) -> bool:
        """Whether the file has a valid last entry whose record is gone."""
        data = bytes_at(path, self.files.file_size - self.entry_size, self.entry_size)
        if len(data) < self.entry_size:
            return False
        physical_offset, size = place_at(data)
        return size > 0 and physical_offset < log_min

    def is_behind(self, found: FoundEntries, complete: bool, known: bool) -> bool:
        """Whether it lacks entries before these.

        `complete`: no record comes before theirs. `known`: the topic has queues, or is declared to.
        """
        raise NotImplementedError

    def restore(self, found: FoundEntries, bounds: Believed, complete: bool) -> int:
        """Make these the queue's end; there must be no gap. How many were compared or are new.

        What the files have of them is kept, what follows in the files is removed.
        """
        raise NotImplementedError

    # --- trimming, cutting, deleting

    def correct_min_offset(self, log_min: int) -> None:
        """The first message whose record is still in the commit log.

        When there is none, the end of the queue: offsets never start again.
        """
        raise NotImplementedError

    def delete_expired_file(self) -> str:
        """Delete the first file if `min_offset` is behind it; its path, or "" if it stays.

        Never the last one that is on the disk: it says where the queue continues.
        """
        raise NotImplementedError

    def truncate(self, max_offset: int) -> None:
        """Drop the entries of messages from `max_offset` on, in memory and in the files."""
        raise NotImplementedError

    def delete(self) -> None:
        """Remove files and directory; the queue is then as one that never had an entry."""
        self.files.delete()
        self.forget_all()

    def leave(self, removal: Removal) -> None:
        """The same, but that files and directory are for `removal`."""
        self.files.leave(removal)
        self.forget_all()

    def forget_all(self) -> None:
        """It never had an entry."""
        self.min_offset = self.max_offset = self.next_offset = 0

    def begin_at(self, offset: int) -> None:
        """Forget all entries; the next message gets this offset."""
        self.delete()
        self.files.start_at(offset * self.entry_size)
        self.min_offset = self.max_offset = self.next_offset = offset


class QueueKind:
    """What the queues of some topics share; one object per store and kind.

    `name` is the topics' `queue.type`; `roots` are the directories with a folder per topic, the first
    one that of the queues themselves. `empty` stands for every missing queue.
    """

    __slots__ = ("empty", "entry_size", "name", "roots")

    def __init__(self, name: str, roots: list[str], entry_size: int) -> None:
        self.name = name
        self.roots = roots
        self.entry_size = entry_size
        self.empty = self.make("", -1)

    def make(self, topic: str, queue_id: int) -> Queue:
        raise NotImplementedError

    def directory_of(self, topic: str) -> str:
        return f"{self.roots[0]}/{topic}"

    def begin(self, record: Dispatched) -> FoundEntries:
        """For entries of this record and what follows."""
        raise NotImplementedError

    def can_hold(self, record: Dispatched) -> bool:
        """Whether its queues have such records."""
        return True
