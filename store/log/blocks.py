"""Blocks on the disk for what the commit log gets next, chosen before it comes.

A write to a hole waits while the file system, in a flush that runs beside it, chooses blocks for what was written
before: on ext4 up to 20 ms, and with it everything on the broker's thread. Where the blocks are chosen already,
there is nothing to wait for. They are read as zeros, and the file's length does not change.

Hot: compiled by mypyc when a compiler is there.
"""

from __future__ import annotations

from typing import Final

from trimq.store.disk import system
from trimq.store.log.segment import Segment

# How far behind the log's end: some times what came between two flushes, and within these bounds.
LEAST: Final = 64 * 1024 * 1024
MOST: Final = 256 * 1024 * 1024
_TIMES: Final = 4
_PAGE: Final = 4096


class BlocksAhead:
    """How far blocks are chosen in the file that is appended to.

    The thread that flushes calls `keep`, the one that writes calls `begin`; when they meet, the worst is that blocks
    are chosen twice, or too late.
    """

    __slots__ = ("_base", "_end", "_file_size", "_seen", "_step", "_works")

    def __init__(self, file_size: int) -> None:
        self._file_size = file_size
        self._works = True
        self._base = -1
        self._end = 0
        self._seen = -1
        self._step = LEAST

    def begin(self, last: Segment, written: int) -> None:
        """The log goes on at `written` in a file that is new, or was opened or cut: choose blocks there."""
        self._works = True
        self._base = -1
        if self._seen < 0:
            self._seen = written
        self._choose(last, written)

    def keep(self, last: Segment, written: int) -> None:
        """The log ends at `written`. Choose blocks in its last file when half of what should be chosen is used."""
        came = written - self._seen
        self._seen = written
        self._step = min(max(_TIMES * came, LEAST), MOST)
        if last.base != self._base or self._end - written < self._step // 2:
            self._choose(last, written)

    def _choose(self, segment: Segment, written: int) -> None:
        fd, base = segment.fd, segment.base
        position = written - base
        if not self._works or fd < 0 or not 0 <= position <= self._file_size:
            return
        start = position - position % _PAGE
        if base == self._base:
            start = max(start, self._end - base)
        end = min(position + self._step, self._file_size)
        if end > start:
            try:
                self._works = system.choose_blocks(fd, start, end - start)
            except OSError:
                # It is not needed.
                self._works = False
        self._base = base
        self._end = base + end
