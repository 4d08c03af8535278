"""Bringing queues' entries to their files beside the event loop.

What a disk takes for a new file is up to its journal: 20 us, or a third of a second. So the loop takes the entries as
they are (`QueueFiles.begin_writing`), a worker thread writes them, and the loop notes what is written
(`QueueFiles.end_writing`). Until then readers see them in memory. Entries that come meanwhile stay behind them.

Whoever changes a queue's files in any other way, or removes them, takes the pieces back first
(`QueueFiles.take_back`): then the thread does not write them any more.

Hot: compiled by mypyc when a compiler is there.
"""

from __future__ import annotations

import os
import threading
from typing import Final

from trimq.store.disk.files import store_error
from trimq.store.native import write_pieces

# The thread writes so many at a time, without Python's lock; whoever takes one back waits for them.
_AT_ONCE: Final = 32


class Piece:
    """Bytes for one file. `position`: of the first one in the row of files; `index`: in the file."""

    __slots__ = (
        "data",
        "file_size",
        "filling",
        "index",
        "is_back",
        "is_done",
        "is_new",
        "path",
        "position",
    )

    def __init__(
        self, path: str, file_size: int, position: int, data: bytes, filling: bytes
    ) -> None:
        """`filling`: what a new file has before them."""
        self.path = path
        self.file_size = file_size
        self.position = position
        self.index = position % file_size
        self.data = data
        self.filling = filling
        self.is_back = False
        # Whether all of it is in the file.
        self.is_done = False
        # Whether the file was made for it, as far as is known.
        self.is_new = False


class Writing:
    """Some pieces of several queues, in the order in which they are to be written."""

    __slots__ = ("_lock", "_pieces")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pieces: list[Piece] = []

    def add(self, piece: Piece) -> None:
        self._pieces.append(piece)

    @property
    def is_empty(self) -> bool:
        return not self._pieces

    def take_back(self, pieces: list[Piece]) -> None:
        """They are written, or will not be. Blocks while the thread is at the disk with them or their neighbours."""
        self.drop(pieces)
        self.wait()

    def drop(self, pieces: list[Piece]) -> None:
        """The same, but for those that a thread is at the disk with: `wait` for it before anything is done there."""
        for piece in pieces:
            piece.is_back = True

    def wait(self) -> None:
        """Until no thread is at the disk with pieces that are back by now."""
        with self._lock:
            pass

    def stop(self) -> None:
        """Take back all of them."""
        self.take_back(self._pieces)

    def run(self) -> None:
        """Write them, in any thread. StoreError: those before are written, and the one that failed in part, perhaps."""
        for start in range(0, len(self._pieces), _AT_ONCE):
            with self._lock:
                pieces = [
                    piece
                    for piece in self._pieces[start : start + _AT_ONCE]
                    if not piece.is_back and not piece.is_done
                ]
                news, code = write_pieces(
                    [(one.path, one.file_size, one.index, one.data, one.filling) for one in pieces]
                )
                for piece, is_new in zip(pieces, news, strict=False):
                    piece.is_done, piece.is_new = True, is_new
                if code:
                    failed = pieces[len(news)]
                    failed.is_new = True
                    error = OSError(code, os.strerror(code), failed.path)
                    raise store_error(error, "writing consume queues")
