"""The files of the commit log, and what is staged for them.

Hot: compiled by mypyc when a compiler is there.
"""

from __future__ import annotations

from typing import Final

_ALL: Final = 1 << 62


class Segment:
    """One file of the log; `fd` is open (not -1) while it is written or not yet synced.

    `readers` counts the worker threads that may open it by its path. `removed_at` is when it was
    taken out of the log, -1 while it belongs to it. Of one that was cut, only the bytes before `kept` are the
    log's: what stands behind them by now was never in this one.
    """

    __slots__ = ("base", "fd", "kept", "path", "readers", "removed_at")

    def __init__(self, base: int, path: str, fd: int = -1) -> None:
        self.base = base
        self.path = path
        self.fd = fd
        self.readers = 0
        self.removed_at = -1
        self.kept = _ALL


class Run:
    """Consecutive staged records in one file."""

    __slots__ = ("chunks", "start")

    def __init__(self, start: int) -> None:
        self.start = start
        self.chunks: list[bytes] = []
