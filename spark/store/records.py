"""Records by their positions in the log: neighbours are read together, and what lies between is left out."""

from __future__ import annotations

import logging
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from trimq.spark.records.rows import PHYSICAL_OFFSET, Rows
from trimq.spark.records.scan import find_rows
from trimq.spark.store.files import Files, LogFile
from trimq.spark.store.log_scan import select, sound
from trimq.spark.store.options import StoreOptions
from trimq.spark.store.plan import QueuePart, seek_cost
from trimq.spark.store.queues import places
from trimq.store.inspecting.sparse_file import SparseFile

log: Final = logging.getLogger("trimq.spark")

# Bytes of records that are handed over together, and positions that are sorted together.
_TOGETHER: Final = 4 << 20
_SORTED: Final = 100_000

Place = tuple[int, int]


def read_named(part: QueuePart, options: StoreOptions) -> Iterator[Rows]:
    """The records that the entries name and that are asked for, some at a time."""
    store = part.store
    log_files = _Log(options.files.log_files(store.commit_logs), options.files)
    gap = seek_cost(store)
    entries = places(part.ranges, options.files)
    try:
        while some := list(islice(entries, _SORTED)):
            # Two queues may name one record (light queues do).
            wanted = sorted({one for one in some if part.low <= one[0] < part.high})
            for run in _runs(wanted, gap):
                for rows in log_files.records(run):
                    chosen = select(sound(rows, part.unsure, store.root), options)
                    if len(chosen):
                        yield chosen
    finally:
        log_files.close()


def _runs(wanted: Sequence[Place], gap: int) -> Iterator[list[Place]]:
    """Neighbours whose records are read as one."""
    run: list[Place] = []
    for place, size in wanted:
        if run:
            end = run[-1][0] + run[-1][1]
            if place - end > gap or place + size - run[0][0] > _TOGETHER:
                yield run
                run = []
        run.append((place, size))
    if run:
        yield run


class _Log:
    """The files of a commit log, one of them open."""

    def __init__(self, listed: Sequence[LogFile], files: Files) -> None:
        self._listed = listed
        self._bases = [one.base for one in listed]
        self._files = files
        self._open: tuple[int, SparseFile] | None = None

    def close(self) -> None:
        if self._open is not None:
            self._open[1].close()
            self._open = None

    def records(self, run: Sequence[Place]) -> Iterator[Rows]:
        """The records at neighbouring positions, in one piece if all match their entries."""
        data = self._fetch(run[0][0], run[-1][0] + run[-1][1])
        first = run[0][0]
        pieces = [data[place - first : place - first + size] for place, size in run]
        joined = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        rows, stopped = find_rows(joined, 0, len(joined), -1)
        if stopped == len(joined) and rows.numbers(PHYSICAL_OFFSET) == [place for place, _ in run]:
            yield rows
            return
        for (place, _), piece in zip(run, pieces, strict=True):
            rows, stopped = find_rows(piece, 0, len(piece), place)
            if stopped and stopped == len(piece):
                yield rows
            elif self._bases and place >= self._bases[0]:
                log.warning("a queue names a record at %d, and there is none", place)

    def _fetch(self, start: int, end: int) -> bytes:
        """The log's bytes, across its files; those of files that are gone are zeros."""
        data = b""
        while start + len(data) < end:
            at = start + len(data)
            number = bisect_right(self._bases, at) - 1
            file = self._file(number)
            limit = self._bases[number + 1] if number + 1 < len(self._bases) else end
            size = min(end, limit) - at
            found = b"" if file is None else file.fetch(at - self._bases[number], size)
            data += found + bytes(size - len(found))
        return data

    def _file(self, number: int) -> SparseFile | None:
        if number < 0:
            return None
        if self._open is not None and self._open[0] == number:
            return self._open[1]
        self.close()
        try:
            self._open = number, self._files.open(self._listed[number].path)
        except FileNotFoundError:
            log.warning("%s is gone: the broker has deleted it", self._listed[number].path)
            return None
        return self._open[1]
