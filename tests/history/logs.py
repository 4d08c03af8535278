"""Rule (e) for files: two commit logs hold the same bytes, as far as both reach. Knows the files' names and no more
of a record than its first eight bytes, which say its size and that it is one.
"""

from __future__ import annotations

import mmap
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.history.findings import Finding, Rule

_MAGICS: Final = tuple(bytes.fromhex(it) for it in ("daa320a7", "daa320ab", "cbd43194"))
_STEP: Final = 1 << 20


@dataclass(frozen=True)
class Compared:
    """`begin` to `end`: the physical offsets that both logs have; `ends`: of the first and the second log.

    Whoever expects that something was compared looks at `bytes`.
    """

    begin: int
    end: int
    ends: tuple[int, int]
    findings: list[Finding]

    @property
    def bytes(self) -> int:
        return max(self.end - self.begin, 0)


class _Log:
    """The files of a commit log, mapped; the name of each is the physical offset of its first byte."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        files = sorted(path for path in folder.iterdir() if path.name.isdecimal())
        files = [path for path in files if path.stat().st_size]
        self._starts = [int(path.name) for path in files]
        self._maps = [self._map(path) for path in files]
        self.begin = self._starts[0] if files else 0
        # Where the last record begins and ends.
        self.last, self.end = self._find_end()

    @staticmethod
    def _map(path: Path) -> mmap.mmap:
        with path.open("rb") as file:
            return mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)

    def close(self) -> None:
        for one in self._maps:
            one.close()

    def _find_end(self) -> tuple[int, int]:
        """The last record of the last file that has any; it need not be whole."""
        for start, held in zip(reversed(self._starts), reversed(self._maps), strict=True):
            at = last = 0
            size = len(held)
            while at + 8 <= size and held[at + 4 : at + 8] in _MAGICS:
                length = int.from_bytes(held[at : at + 4])
                if length < 8 or at + length > size:
                    break
                last, at = at, at + length
            if at:
                return start + last, start + at
        return self.begin, self.begin

    def breaks_off(self, at: int) -> bool:
        """Whether that is in the last record, and there is nothing behind."""
        return at >= self.last and not any(self.read(at, self.end - at))

    def read(self, offset: int, size: int) -> bytes:
        """At most that many bytes: no more than its file holds from there."""
        index = bisect_right(self._starts, offset) - 1
        at = offset - self._starts[index]
        return self._maps[index][at : at + size]


@contextmanager
def _opened(folder: Path) -> Iterator[_Log]:
    log = _Log(folder)
    try:
        yield log
    finally:
        log.close()


def compare_logs(first: Path, second: Path) -> Compared:
    """Folders named `commitlog` of stopped brokers, from where both begin to where the shorter one ends.

    That may be within a record: a slave takes bytes.
    """
    with _opened(first) as one, _opened(second) as other:
        begin, end = max(one.begin, other.begin), min(one.end, other.end)
        ends = (one.end, other.end)
        at = begin
        while at < end:
            ours = one.read(at, min(_STEP, end - at))
            theirs = other.read(at, len(ours))
            size = min(len(ours), len(theirs))
            if not size:
                why = f"{(second if ours else first).parent} has a hole there"
                return Compared(begin, end, ends, [_finding(at, why)])
            if ours[:size] != theirs[:size]:
                at += next(i for i in range(size) if ours[i] != theirs[i])
                if one.breaks_off(at) or other.breaks_off(at):
                    return Compared(begin, at, ends, [])
                near = f"{one.read(at, 8).hex()} in {first}, {other.read(at, 8).hex()} in {second}"
                return Compared(begin, end, ends, [_finding(at, f"the bytes differ: {near}")])
            at += size
        return Compared(begin, end, ends, [])


def _finding(at: int, why: str) -> Finding:
    return Finding(Rule.COPIES, f"commit log at {at}", why)
