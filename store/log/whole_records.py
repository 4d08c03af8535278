"""Walking over the records of the commit log, as recovery does.

A record counts when its lengths add up, its body matches its CRC and it names its own offset. A
torn write leaves zeros after the tear, or in place of whole sectors, which those rules miss only
inside topic and properties: a topic never has a zero byte, and `MessageStore.stage` lets no
properties end in one or hold as many of them as a sector has.

A record may be whole and yet have no place in any queue: its topic cannot be a folder, or no queue has such a number or
offset. No send makes such a record, but the log of another broker may have it. Its topic is NO_PLACE then, and
whoever goes through the log passes it over (there are no rules for topics in CommitLog.checkMessageAndReturnSize
either). Where no write can be torn, a zero byte is no sign of that, but of such a record.

Hot: compiled by mypyc when a compiler is there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from trimq.codec import native
from trimq.codec.native.record_scan import Row
from trimq.codec.records.fields import HEAD_SIZE, physical_offset_at, store_time_at
from trimq.codec.records.multi_dispatch import LONGEST_NAME
from trimq.codec.records.record import (
    FIXED_SIZE,
    MAGIC_BLANK,
    MAGIC_V1,
    MAGIC_V2,
    RECORD_MAGICS,
    peek,
    skim_record,
)
from trimq.store.disk.files import SECTOR, ZERO_SECTOR
from trimq.store.log.commit_log import CommitLog
from trimq.store.messages.message import Dispatched
from trimq.store.messages.tags import TagCodes

WINDOW: Final = 1024 * 1024
OVERLAP: Final = 8
_NO_BOUND: Final = 2**63 - 1
NO_PLACE: Final = ""
# Entries of 46 bytes must have a position.
_MAGICS: Final = (MAGIC_V1, MAGIC_V2, MAGIC_BLANK)
LARGEST_OFFSET: Final = 1 << 57
# Records of the window that are looked at together: more and more of them, since many a scan wants one only.
_LEAST_AHEAD: Final = 1
# Names that are remembered.
_MOST_TOPICS: Final = 100_000
_MOST_AHEAD: Final = 256


class LogScanner:
    """Iterates over the records from a boundary on; `position` is where it stopped.

    No file is entered and nothing more is read from `end` on, which may be moved.
    """

    def __init__(self, log: CommitLog, start: int, end: int, tags: TagCodes) -> None:
        self._log = log
        self.end = end
        self._tags = tags
        self._window = b""
        self._window_at = 0
        self._topics: dict[bytes, str] = {}
        # Of the records of the window that come next, and which of those is at `position`.
        self._rows: list[Row] = []
        self._row = 0
        self._ahead = _LEAST_AHEAD
        self.position = start
        # What begins before that was written whole, if something else lies behind it.
        self.untorn = 0

    def __iter__(self) -> Iterator[Dispatched]:
        while found := self.take(1):
            yield found[0]

    def take(self, most: int, bound: int = _NO_BOUND, enough: int = _NO_BOUND) -> list[Dispatched]:
        """The next records that end at or before `bound`: so many at most, and none once they have `enough` bytes."""
        found: list[Dispatched] = []
        first = self.position
        while len(found) < most and self.position - first < enough:
            record = self._next()
            if record is None:
                if self._enter():
                    continue
                break
            if record.physical_offset + record.size > bound:
                break
            self.position += record.size
            if self._row < len(self._rows):
                self._row += 1
            found.append(record)
        return found

    def _next(self) -> Dispatched | None:
        """The record at `position`; None when the window has none there."""
        row: Row | None
        if self._row < len(self._rows):
            row = self._rows[self._row]
        else:
            at = self.position - self._window_at
            self._rows = native.skim_records(self._window, at, self.position, self._ahead)
            self._row = 0
            self._ahead = min(4 * self._ahead, _MOST_AHEAD)
            # What the walk stopped at may be a record all the same.
            row = self._rows[0] if self._rows else self._record(self._window, at)
        if row is None:
            return None
        size, queue_id, queue_offset, sys_flag, time, name, properties, tag_hash = row
        topic = self._topics.get(name)
        if topic is None:
            topic = self._topic(name)
        if not topic and 0 in name and not self._is_untorn(self.position + size):
            return None
        if queue_id < 0 or not 0 <= queue_offset <= LARGEST_OFFSET:
            topic = NO_PLACE
        code = self._tags.code(topic, properties, time, tag_hash)
        return Dispatched(
            topic, queue_id, queue_offset, self.position, size, code, time, sys_flag, properties
        )

    def _enter(self) -> bool:
        """Bring the record at `position` into the window; False where the log ends or is damaged."""
        while self.position < self.end:
            following = self._log.next_file(self.position)
            room = min(following, self._log.written) - self.position
            window = self._log.read(self.position, min(WINDOW, room))
            if window is None or len(window) < OVERLAP:
                return False
            size, magic = peek(window)
            if magic in (MAGIC_V1, MAGIC_V2):
                return size <= room and self._look_into(window, size)
            if magic != MAGIC_BLANK or size != following - self.position or following >= self.end:
                return False
            self.position = following
        return False

    def _look_into(self, window: bytes, size: int) -> bool:
        """From `position` on, where a record of that size claims to be; False when it is none, or not the right one."""
        if size > len(window):
            whole = self._log.read(self.position, size)
            if whole is None:
                return False
            window = whole
        self._window = window
        self._window_at = self.position
        self._rows = []
        self._row = 0
        return self._next() is not None

    def _record(self, window: bytes, at: int) -> Row | None:
        """The row of the one at `position`, which may have zero bytes among its properties; None: there is none."""
        skimmed = skim_record(window, at)
        if skimmed is None:
            return None
        size, queue_id, queue_offset, position, sys_flag, time, name, properties = skimmed
        if position != self.position:
            return None
        if 0 in properties and self._is_torn(position + size, properties):
            return None
        return size, queue_id, queue_offset, sys_flag, time, name, properties, None

    def _topic(self, name: bytes) -> str:
        """NO_PLACE when it cannot be a topic."""
        try:
            topic = name.decode() if can_be_folder(name) else NO_PLACE
        except UnicodeDecodeError:
            topic = NO_PLACE
        if len(self._topics) >= _MOST_TOPICS:
            self._topics.clear()
        self._topics[name] = topic
        return topic

    def _is_untorn(self, end: int) -> bool:
        """Whether the record at `position` was written whole, and another one behind it."""
        if self.position >= self.untorn:
            return False
        if end == self._log.next_file(self.position):
            return self._log.written > end
        behind = self._log.read(end, OVERLAP)
        return behind is not None and len(behind) == OVERLAP and peek(behind)[1] in _MAGICS

    def _is_torn(self, end: int, properties: bytes) -> bool:
        """Whether zeros at their end, or a sector of them, say that the rest was never written."""
        if self._is_untorn(end):
            return False
        if properties.endswith(b"\0"):
            data = self._log.read(end, 8)
            if data is None or not any(data):
                return True
        start = end - len(properties)
        sector = start + -start % SECTOR
        while sector + SECTOR <= end:
            if properties[sector - start : sector - start + SECTOR] == ZERO_SECTOR:
                return True
            sector += SECTOR
        return False


def can_be_folder(name: bytes) -> bool:
    """Whether a topic's queues can have a folder of that name."""
    if not name or b"/" in name or b"\0" in name:
        return False
    return name not in (b".", b"..") and len(name) <= LONGEST_NAME


def record_at(log: CommitLog, physical_offset: int, largest: int) -> bytes | None:
    """The record that begins exactly there, if it has at most `largest` bytes."""
    head = log.read(physical_offset, FIXED_SIZE)
    if head is None:
        return None
    size, magic = peek(head)
    if magic not in (MAGIC_V1, MAGIC_V2) or physical_offset_at(head) != physical_offset:
        return None
    return log.read(physical_offset, size) if size <= largest else None


def file_at_time(log: CommitLog, timestamp: int) -> int:
    """Where the last file begins whose first record was stored before that; the log's begin without one."""
    for segment in reversed(log.segments) if timestamp > 0 else ():
        head = log.read(segment.base, HEAD_SIZE)
        is_record = head is not None and peek(head)[1] in (MAGIC_V1, MAGIC_V2)
        if head is not None and is_record and store_time_at(head) < timestamp:
            return segment.base
    return max(log.min_offset, 0)


def record_behind(log: CommitLog, position: int, end: int, tags: TagCodes) -> int:
    """Where the next intact record is, at or after `position`; -1 when there is none.

    Only a record that names its own offset and passes its CRC counts, so message bodies that
    look like records do not.
    """
    while position < end:
        file_end = log.next_file(position)
        position = log.skip_hole(position)
        if position == file_end:
            continue
        window = log.read(position, min(WINDOW, file_end - position))
        if window is None:
            return -1
        for at in candidates(window):
            start = position + at - 4
            if start >= position and next(iter(LogScanner(log, start, end, tags)), None):
                return start
        position += len(window)
        if position < file_end:
            # A magic may straddle two windows.
            position -= OVERLAP
    return -1


def candidates(window: bytes) -> Iterator[int]:
    """Where a record's magic is."""
    for wanted in RECORD_MAGICS:
        at = window.find(wanted)
        while at >= 0:
            yield at
            at = window.find(wanted, at + 1)
