"""Walking over the records of the commit log, as recovery does.

A record counts when its lengths add up, its body matches its CRC and it names the very offset
where it lies. A torn write leaves zeros behind the tear, which those rules miss only inside topic
and properties: a topic never has a zero byte, and `MessageStore.stage` lets no properties end
in one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from codec.errors import CodecError
from codec.record import FIXED_SIZE, MAGIC_BLANK, MAGIC_V1, MAGIC_V2, Record, parse_record, peek
from store.commit_log import CommitLog

WINDOW: Final = 4 * 1024 * 1024
OVERLAP: Final = 8


class LogScanner:
    """Iterates over the records from a boundary on; `position` is where it stopped."""

    def __init__(self, log: CommitLog, start: int, end: int) -> None:
        self._log = log
        self._end = end
        self._window = b""
        self._window_at = 0
        self.position = start

    def __iter__(self) -> Iterator[Record]:
        while self.position < self._end:
            record = self._next()
            if record is None:
                return
            self.position += record.total_size
            yield record

    def _next(self) -> Record | None:
        """The record at `position`, blanks skipped; None where the log ends or is damaged."""
        while True:
            head = self._bytes(8)
            if head is None:
                return None
            size, magic = peek(self._window, head)
            if magic == MAGIC_BLANK:
                following = self._log.next_file(self.position)
                if size != following - self.position or following >= self._end:
                    return None
                self.position = following
                continue
            if magic not in (MAGIC_V1, MAGIC_V2) or size < FIXED_SIZE:
                return None
            return self._parse(size)

    def _parse(self, size: int) -> Record | None:
        at = self._bytes(size)
        if at is None:
            return None
        try:
            record = parse_record(self._window, at)
        except CodecError:
            return None
        if record.physical_offset != self.position or "\0" in record.topic:
            return None
        if record.properties.endswith(b"\0") and not self._anything_at(self.position + size):
            return None
        return record

    def _anything_at(self, position: int) -> bool:
        data = self._log.read(position, 8)
        return data is not None and any(data)

    def _bytes(self, size: int) -> int | None:
        """Where in the window the next `size` bytes lie; None when the file has fewer."""
        at = self.position - self._window_at
        if at >= 0 and at + size <= len(self._window):
            return at
        room = self._log.next_file(self.position) - self.position
        if size > room:
            return None
        window = self._log.read(self.position, min(max(WINDOW, size), room))
        if window is None or len(window) < size:
            return None
        self._window = window
        self._window_at = self.position
        return 0


def record_behind(log: CommitLog, position: int, end: int) -> int:
    """Where the next intact record lies at or behind `position`; -1 when there is none.

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
            if start >= position and next(iter(LogScanner(log, start, end)), None) is not None:
                return start
        position += len(window)
        if position < file_end:
            # A magic may straddle two windows.
            position -= OVERLAP
    return -1


def candidates(window: bytes) -> Iterator[int]:
    """Where a record's magic stands."""
    for magic in (MAGIC_V1, MAGIC_V2):
        wanted = magic.to_bytes(4, "big")
        at = window.find(wanted)
        while at >= 0:
            yield at
            at = window.find(wanted, at + 1)
