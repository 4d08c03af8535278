"""A consume queue's extension: per entry a unit with what 20 bytes do not hold (ConsumeQueueExt).

With `enableConsumeQueueExt` an entry's tags code is the address of its unit, and the unit has the
tags code. Files `consumequeue_ext/<topic>/<queue id>/%020d`, named by the position of their first
byte. An address is that position less 2**63, so that it cannot be taken for the hash of a tag. A
unit never crosses files: if it and four more bytes do not fit, a short -1 ends the file.
"""

from __future__ import annotations

from typing import Final

from trimq.codec.entries.extension_unit import (
    FIRST_ADDRESS,
    UNIT_SIZE,
    pack_end_mark,
    pack_unit,
    parse_bit_map,
    parse_unit,
)
from trimq.store.disk.files import OpenFiles
from trimq.store.queues.files.removal import Removal
from trimq.store.queues.files.rows import QueueFiles
from trimq.store.queues.files.writing import Writing

SETTING: Final = "mappedFileSizeConsumeQueueExt"
_END_ROOM: Final = 4
_FILE_END: Final = pack_end_mark()


class QueueExtension:
    """Before writing, `go_behind` has to be told where the queue's last unit is."""

    __slots__ = ("_files", "_found", "_placed")

    def __init__(self, directory: str, file_size: int, open_files: OpenFiles) -> None:
        self._files = QueueFiles(directory, file_size, open_files, SETTING)
        self._found = False
        self._placed = False

    # --- reading

    def tags_code(self, address: int) -> int | None:
        """None when there is no such unit."""
        unit = self._unit(address)
        return None if unit is None else unit[1]

    def bit_map(self, address: int, size: int) -> tuple[bytes, int] | None:
        """The unit's map of SQL92 filters and its store timestamp; None without a map of that size."""
        self._find()
        data = self._files.read(address - FIRST_ADDRESS, UNIT_SIZE + size)
        found = parse_bit_map(data)
        return found if found is not None and len(found[0]) == size else None

    def _unit(self, address: int) -> tuple[int, int] | None:
        self._find()
        return parse_unit(self._files.read(address - FIRST_ADDRESS, UNIT_SIZE))

    def _find(self) -> None:
        """Find the files, once; a queue that nobody filters never does."""
        if not self._found:
            self._files.find()
            self._found = True

    # --- writing

    @property
    def placed(self) -> bool:
        """Whether it is known where the next unit goes."""
        return self._placed

    def go_behind(self, address: int | None) -> None:
        """Cut off what no entry points to; `address` is the one of the queue's last unit."""
        self._placed = True
        if address is None:
            self.delete()
            return
        unit = self._unit(address)
        position = address - FIRST_ADDRESS
        if unit is not None:
            self._files.truncate(position + unit[0])
            return
        # Lost. An address that is still in use must not be assigned again, so continue in another
        # file.
        self._files.delete()
        self._files.start_at(position - position % self._files.file_size + self._files.file_size)

    def put(self, tags_code: int, store_timestamp: int, bit_map: bytes = b"") -> int:
        """Returns the unit's address."""
        files = self._files
        unit = pack_unit(tags_code, store_timestamp, bit_map)
        room = files.file_size - files.end % files.file_size
        if room < len(unit) + _END_ROOM:
            files.append(_FILE_END + bytes(room - len(_FILE_END)))
        address = files.end + FIRST_ADDRESS
        files.append(unit)
        return address

    def write_out(self) -> None:
        """Write what is still in memory. OSError: try again."""
        self._files.write_out()

    def begin_writing(self, writing: Writing) -> None:
        """Let it write what is in memory now, which stays there until `end_writing`."""
        self._files.begin_writing(writing)

    def end_writing(self) -> bool:
        """Whether all that was taken is in the files."""
        return self._files.end_writing()

    # --- deleting

    def delete_before(self, address: int) -> int:
        """Remove the files before the unit that the queue's first entry points to; returns how many."""
        self._find()
        # The real broker keeps a file that ends exactly there.
        return self._files.delete_before(address - FIRST_ADDRESS - 1)

    def delete(self) -> None:
        self._files.delete()
        self._found = self._placed = True

    def leave(self, removal: Removal) -> None:
        """The same, but that files and directory are for `removal`."""
        self._find()
        self._files.leave(removal)
        self._found = self._placed = True
