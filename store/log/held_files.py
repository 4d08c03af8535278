"""What a pull found, to be sent from the log's files in a worker thread: nobody copies the bytes.

Records of many KiB are sent from where they lie. Of small ones a system call for each would cost more
than to read them together.
"""

import os
from typing import Final

from trimq.base.file_body import FileBody, FilePart
from trimq.store.disk.system import fetch_ahead
from trimq.store.log.held_read import HeldRead, check_kept
from trimq.store.log.segment import Segment

_LARGE: Final = 16 * 1024


class HeldFiles(FileBody):
    """Extents of the commit log; their files are not deleted before `close`."""

    __slots__ = ("_files", "_held")

    def __init__(self, held: HeldRead, size: int) -> None:
        super().__init__(size)
        self._held = held
        self._files: dict[str, int] = {}

    def parts(self) -> list[bytes | bytearray | FilePart]:
        pieces = self._held.pieces
        if self.size < _LARGE * len(pieces):
            return list(self._held.read())
        parts: list[bytes | bytearray | FilePart] = []
        for segment, position, size in pieces:
            parts.append((self._file(segment, position + size), position, size))
        if self._held.ahead:
            segment, position, size = pieces[-1]
            fetch_ahead(self._file(segment, position), position, size + self._held.ahead)
        return parts

    def _file(self, segment: Segment, end: int) -> int:
        """The file, open; MessagesGone if it was cut before `end` before that."""
        path = segment.path
        file = self._files.get(path)
        if file is None:
            file = self._files[path] = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            check_kept(segment, end)
        return file

    def __del__(self) -> None:
        # A reply that is never sent: its peer is gone, or asked for none.
        self.close()

    def close(self) -> None:
        for file in self._files.values():
            os.close(file)
        self._files.clear()
        self._held.release()
