"""Records of commit-log files: walking over them, and finding the next one after damage.

Lengths decide where a record ends; a record also names its own offset, so that the content of a
message's body is never mistaken for a record.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from trimq.codec.errors import CodecError
from trimq.codec.records.record import (
    FIXED_SIZE,
    MAGIC_BLANK,
    MAGIC_V1,
    MAGIC_V2,
    RECORD_MAGICS,
    Record,
    parse_record,
    peek,
)
from trimq.store.inspecting.sparse_file import SparseFile

HEAD: Final = 8


class Blank:
    """The rest of a file, as declared."""

    __slots__ = ("position", "size")

    def __init__(self, position: int, size: int) -> None:
        self.position = position
        self.size = size


class RecordWalk:
    """Iterates over the records from a position in the file on.

    Then `position` is where it stopped: at the file's end, at zeros, or at something that is not a
    record; `damage` says what is wrong there and is empty if nothing is. A wrong body CRC does not
    stop it.
    """

    def __init__(self, file: SparseFile, base: int | None, position: int = 0) -> None:
        self.file = file
        self.base = base
        """Physical offset of the file's first byte; None: the first record tells."""
        self.position = position
        self.damage = ""
        self.blank: Blank | None = None

    def __iter__(self) -> Iterator[Record]:
        file = self.file
        while self.position < file.size:
            at = file.locate(self.position, HEAD)
            if at < 0:
                self._stop(f"{file.size - self.position} bytes are too few for a record")
                return
            size, magic = peek(file.buffer, at)
            if magic not in (MAGIC_V1, MAGIC_V2):
                self._not_a_record(size, magic)
                return
            record = self._parse(size)
            if record is None:
                return
            self.position += size
            yield record

    def _stop(self, damage: str) -> None:
        self.damage = damage

    def _not_a_record(self, size: int, magic: int) -> None:
        if magic == MAGIC_BLANK:
            self.blank = Blank(self.position, size)
            left = self.file.size - self.position
            if size != left:
                self._stop(f"a blank of {size} bytes where {left} are left of the file")
            else:
                self.position = self.file.size
        elif size or magic:
            self._stop(f"no record begins here: its magic would be {magic:#010x}")

    def _parse(self, size: int) -> Record | None:
        if size < FIXED_SIZE:
            self._stop(f"a record of {size} bytes is too short")
            return None
        at = self.file.locate(self.position, size)
        if at < 0:
            left = self.file.size - self.position
            self._stop(f"a record of {size} bytes where {left} are left of the file")
            return None
        try:
            record = parse_record(self.file.buffer, at, False)
        except CodecError:
            self._stop(f"the lengths in this record do not add up to its {size} bytes")
            return None
        if self.base is None:
            self.base = record.physical_offset - self.position
        if record.physical_offset != self.base + self.position:
            self._stop(f"this record says that it lies at {record.physical_offset}")
            return None
        return record


def find_record(file: SparseFile, base: int | None, position: int) -> int:
    """Where the next record is, at or after the position; -1 when there is none.

    It must name its own offset; without a known base its lengths must do.
    """
    while position < file.size:
        position = file.skip_hole(position)
        size = min(file.size - position, 4 * HEAD * 1024)
        window = file.read(position, size) if size >= HEAD else None
        if window is None:
            return -1
        for at in _candidates(window):
            if _is_record(file, base, position + at - 4):
                return position + at - 4
        # A head may straddle two windows.
        position += max(size - HEAD + 1, 1)
    return -1


def _candidates(window: bytes) -> list[int]:
    found: list[int] = []
    for magic in RECORD_MAGICS:
        at = window.find(magic, 4)
        while at >= 0:
            found.append(at)
            at = window.find(magic, at + 1)
    return sorted(found)


def _is_record(file: SparseFile, base: int | None, position: int) -> bool:
    return next(iter(RecordWalk(file, base, position)), None) is not None
