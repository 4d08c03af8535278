"""The commit log for a check: every record in order, across files and past damage.

Where there is no record, the next one is searched for, so that one torn byte does not hide the
rest.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final

from trimq.codec.java.hashes import crc32_31
from trimq.codec.records.record import Record
from trimq.store.checking.findings import Findings
from trimq.store.checking.state import StoreState
from trimq.store.inspecting.kinds import base_of
from trimq.store.inspecting.records import RecordWalk, find_record
from trimq.store.inspecting.sparse_file import SparseFile

WINDOW: Final = 4 * 1024 * 1024
NOWHERE: Final = 1 << 62
# Damaged regions remembered, to explain entries that point into them.
REGIONS: Final = 1000


class LogFile:
    __slots__ = ("base", "path", "size")

    def __init__(self, base: int, path: Path, size: int) -> None:
        self.base = base
        self.path = path
        self.size = size

    @property
    def end(self) -> int:
        return self.base + self.size


def list_log(*directories: Path) -> list[LogFile]:
    """The files in order, from all folders that the log has."""
    folders = [folder for folder in directories if folder.is_dir()]
    listed = [folder / name for folder in folders for name in os.listdir(folder)]
    files: list[LogFile] = []
    for path in sorted(listed, key=lambda path: path.name):
        base = base_of(path)
        if base is not None:
            # A listing that is read while a broker creates files may lack an existing one.
            while files and files[-1].end < base and files[-1].size:
                between = _found(directories, files[-1].end)
                if between is None:
                    break
                files.append(_file(files[-1].end, between))
            files.append(_file(base, path))
    return files


def _found(directories: Sequence[Path], base: int) -> Path | None:
    paths = [folder / f"{base:020d}" for folder in directories]
    return next((path for path in paths if path.exists()), None)


def _file(base: int, path: Path) -> LogFile:
    return LogFile(base, path, path.stat().st_size)


def misfit(files: list[LogFile], aborted: bool) -> str:
    """Which file is missing or has another length than the first, so that no broker would open it.

    After a kill the last one may be shorter; it gets its length back.
    """
    for before, file in pairwise(files):
        if file.base != before.base + before.size:
            return f"{before.path} ends at {before.base + before.size}, then comes {file.path}"
    if files and files[-1].size != files[0].size:
        last = files[-1]
        if last.size > files[0].size or not (aborted or last.size == 0):
            return f"{last.path} has {last.size} bytes, the first one {files[0].size}"
    return ""


def without_unused(files: list[LogFile]) -> list[LogFile]:
    """Without the files at the end that nothing was written to yet: a broker creates them early."""
    used = list(files)
    while used:
        with SparseFile(used[-1].path) as file:
            if file.skip_zeros(0) < file.size:
                break
        used.pop()
    return used


class LogWalk:
    """Iterates over the sound records; afterwards `end` is where the log ends.

    `unsound` is the first place where recovery, which begins at `recovery_start`, would stop
    (NOWHERE: none).
    """

    def __init__(
        self, files: list[LogFile], start: int, state: StoreState, findings: Findings
    ) -> None:
        self._files = [file for file in files if file.base + file.size > start]
        self._findings = findings
        self._state = state
        self.start = start
        self.end = start
        self.unsound = NOWHERE
        self.recovery_start = start
        self.records_behind = False
        """There are sound records behind `unsound`."""
        self.damaged: list[tuple[int, int]] = []
        self.limit = self._limit()

    def _limit(self) -> int:
        """Under a running broker: where the log ended when the check began."""
        if not self._state.running or not self._files:
            return NOWHERE
        last = self._files[-1]
        with SparseFile(last.path) as file:
            return last.base + file.data_end()

    def __iter__(self) -> Iterator[Record]:
        for number, log_file in enumerate(self._files):
            if number and log_file.base > self._files[number - 1].end:
                self._lost(self._files[number - 1].end, log_file.base)
            last = number + 1 == len(self._files)
            with SparseFile(log_file.path, WINDOW) as file:
                yield from self._records(file, log_file, last)
            if self.end >= self.limit:
                return

    def _records(self, file: SparseFile, log_file: LogFile, last: bool) -> Iterator[Record]:
        position = max(self.start - log_file.base, 0)
        while 0 <= position < file.size:
            walk = RecordWalk(file, log_file.base, position)
            held = yield from self._checked(walk)
            self.end = log_file.base + walk.position
            if self.end >= self.limit:
                return
            ended = walk.position >= file.size and not walk.damage
            position = file.size if ended else self._behind(walk)
            more = not last or (position >= 0 and not ended)
            if held is not None and more:
                yield from self._released(held)
            if not more:
                self._end_of_log(walk, held)
            elif not ended and position != walk.position:
                self._damage(walk, position if position >= 0 else file.size)

    def _checked(self, walk: RecordWalk) -> Generator[Record, None, Record | None]:
        """Yield records; one that may be torn only when another follows, or else return it."""
        held: Record | None = None
        for record in walk:
            if held is not None:
                yield from self._released(held)
                held = None
            if record.physical_offset >= self.limit:
                walk.position -= record.total_size
                return None
            if _whole(record):
                yield record
                continue
            held = _reread(walk, record) if self._state.running else record
            if _whole(held):
                yield held
                held = None
        return held

    def _released(self, record: Record) -> Iterator[Record]:
        """A held record that is followed by another one, so that a tear does not explain it."""
        start, end = record.physical_offset, record.physical_offset + record.total_size
        what = f"record at {start}, {record.topic!r} {record.queue_id} offset {record.queue_offset}"
        if "\0" in record.topic:
            self._findings.problem("damaged record", f"{what}: its topic holds a zero byte")
            self._lost(start, end)
            return
        if not crc_holds(record):
            text = f"{what}: its body does not match its CRC"
            self._findings.problem("damaged record", text)
            self._stops_at(start, True)
        yield record

    def _stops_at(self, offset: int, records_behind: bool) -> None:
        if offset >= self.recovery_start and self.unsound == NOWHERE:
            self.unsound = offset
            self.records_behind = records_behind

    def _behind(self, walk: RecordWalk) -> int:
        """The position of the next record in this file, -1 when there is none."""
        file = walk.file
        if not walk.damage and file.skip_zeros(walk.position) >= file.size:
            return -1
        found = find_record(file, walk.base, walk.position)
        file.forget()
        if found > walk.position and self._state.running and _is_record(walk):
            # Written in the meantime.
            return walk.position
        return found

    def _end_of_log(self, walk: RecordWalk, held: Record | None) -> None:
        file, base = walk.file, walk.base or 0
        if held is not None:
            self.end -= held.total_size
            self._torn_end(file, self.end, "a record that was not written completely")
        elif walk.damage:
            self._torn_end(file, self.end, walk.damage)
        elif (something := file.skip_zeros(walk.position)) < file.size:
            text = f"{file.path}: bytes at {base + something} after the end that are not a record"
            self._findings.note("old bytes after the end", text)

    def _damage(self, walk: RecordWalk, until: int) -> None:
        start, end = (walk.base or 0) + walk.position, (walk.base or 0) + until
        what = walk.damage or "it is all zeros"
        text = f"{walk.file.path}: bytes {start}..{end} ({end - start}) hold no record: {what}"
        self._findings.problem("damaged region", text)
        self._lost(start, end)

    def _lost(self, start: int, end: int) -> None:
        if len(self.damaged) < REGIONS:
            self.damaged.append((start, end))
        self._stops_at(start, True)

    def _torn_end(self, file: SparseFile, offset: int, what: str) -> None:
        self._stops_at(offset, False)
        text = f"{file.path}: at {offset}: {what}, and no record after it"
        if self._state.running:
            self._findings.note("end in motion", text)
        elif self._state.repaired(offset):
            self._findings.note("torn end, which recovery cuts off", text)
        else:
            self._findings.problem("torn end", text)


def crc_holds(record: Record) -> bool:
    """As in the real broker, a record without a body is not checked."""
    return not record.body or crc32_31(record.body) == record.body_crc


def _whole(record: Record) -> bool:
    """Whether no part of it can be the zeros that a torn write leaves."""
    if record.properties.endswith(b"\0") or "\0" in record.topic:
        return False
    return crc_holds(record)


def _reread(walk: RecordWalk, record: Record) -> Record:
    """The same record as it is now in the file."""
    walk.file.forget()
    position = walk.position - record.total_size
    return next(iter(RecordWalk(walk.file, walk.base, position)), record)


def _is_record(walk: RecordWalk) -> bool:
    return next(iter(RecordWalk(walk.file, walk.base, walk.position)), None) is not None


def sound_record_at(files: list[LogFile], offset: int) -> Record | None:
    """The record that begins exactly there, as recovery would accept it."""
    for log_file in files:
        if log_file.base <= offset < log_file.base + log_file.size:
            with SparseFile(log_file.path) as file:
                walk = RecordWalk(file, log_file.base, offset - log_file.base)
                record = next(iter(walk), None)
            return record if record is not None and crc_holds(record) else None
    return None
