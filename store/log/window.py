"""The properties of records, one after another, as a filter looks at them.

The records of a queue often lie close together in the log, so a piece is read ahead that becomes
longer as long as that is so. Of a large record only the ends are read: its body is in between.

Hot: compiled by mypyc when a compiler is there.
"""

from __future__ import annotations

from typing import Final

from trimq.codec.records.property_part import (
    LONGEST_HEAD,
    after_body,
    properties_after,
    properties_in,
)
from trimq.store import native
from trimq.store.log.commit_log import CommitLog

_LARGE: Final = 16 * 1024
_NEAR: Final = 8 * 1024
_SHORTEST: Final = 4 * 1024
_LONGEST: Final = 64 * 1024


class RecordWindow:
    """What was read last of the log; for one pull, on the event loop."""

    __slots__ = ("_ahead", "_data", "_end", "_log", "_start")

    def __init__(self, log: CommitLog) -> None:
        self._log = log
        self._data = b""
        self._start = 0
        self._end = 0
        self._ahead = 0

    def properties(self, offset: int, size: int) -> bytes | None:
        """Of the record there, which the log contains; None when that would wait for the disk.

        Empty for bytes that are no record.
        """
        if offset < self._start or offset + size > self._end:
            if size > _LARGE:
                return self._of_large(offset, size)
            if not self._read(offset, size):
                return None
        return properties_in(self._data, offset - self._start, size)

    def piece(self, offset: int, size: int) -> memoryview | None:
        """What can be looked at now of the log from there on, by store.native, at least this record.

        None when that would wait for the disk, or is better done record by record.
        """
        try:
            if native.IN_C:
                return self._log.mapped_now(offset, size)
        except OSError:
            # No address space or no mappings left: the loop may still read them.
            return None
        if size > _LARGE or (
            (offset < self._start or offset + size > self._end) and not self._read(offset, size)
        ):
            return None
        return memoryview(self._data)[offset - self._start :]

    def _read(self, offset: int, size: int) -> bool:
        log = self._log
        if 0 <= offset - self._end <= _NEAR:
            self._ahead = min(max(4 * self._ahead, _SHORTEST), _LONGEST)
        else:
            self._ahead = 0
        room = min(log.next_file(offset), log.written) - offset
        wanted = max(size, min(self._ahead, room))
        data = log.read_now(offset, wanted)
        if data is None and wanted > size:
            self._ahead = 0
            wanted = size
            data = log.read_now(offset, size)
        if data is None:
            return False
        self._data = bytes(data)
        self._start = offset
        self._end = offset + wanted
        return True

    def _of_large(self, offset: int, size: int) -> bytes | None:
        head = self._log.read_now(offset, LONGEST_HEAD)
        if head is None:
            return None
        at = after_body(bytes(head))
        if at >= size:
            return b""
        tail = self._log.read_now(offset + at, size - at)
        return None if tail is None else properties_after(bytes(tail), 0, size - at, head[7])
