"""Upkeep of a history: small files are merged, what is too old is deleted.

A crash at any point leaves each snapshot counted once: the merged file appears as a whole, and from
then on replaces the small ones, whether they still exist or not. Those are hidden and, when nobody
can be reading them any more, deleted. One process does this at a time; others skip it.
"""

from __future__ import annotations

import fcntl
import json
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from trimq.spark.errors import SparkSourceError
from trimq.spark.offsets.history.history import (
    NAME,
    REPLACES,
    TAKEN,
    Part,
    day_folder,
    hidden,
    names,
    opened,
    parts,
    sync,
    write,
)
from trimq.spark.offsets.snapshot.table import SCHEMA

DAY: Final = 86_400_000
# This many files with about the same number of snapshots become one, while their day is not over.
FAN: Final = 32
# A merged file has at most this many bytes, unless one snapshot has more.
MOST_BYTES: Final = 256 << 20
# Rows in one group of a file: what is read at once.
_GROUP: Final = 1 << 17
# A snapshot is late by the time that it takes.
_LATE: Final = 600_000
# How long a reader that has planned with files that are merged now may still come for them.
GRACE: Final = 900.0
_HIDDEN: Final = re.compile(r"\.offsets-[\d-]+\.parquet(\.\d+)?")


def tend(folder: Path, now: int, keep: int | None) -> None:
    """Merge, and delete what was taken more than `keep` milliseconds before `now`; both in milliseconds.

    OSError, and SparkSourceError when a file is damaged.
    """
    with _alone(folder) as alone:
        if alone:
            _sweep(folder)
            _settle(folder)
            if keep is not None:
                _expire(folder, now - keep)
            _merge_all(folder, now)


@contextmanager
def _alone(folder: Path) -> Iterator[bool]:
    with (folder / ".lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True


def _sweep(folder: Path) -> None:
    """Files hidden long enough ago, and unfinished files whose writer was killed."""
    before = time.time() - GRACE
    for path in (*folder.glob(".offsets-*"), *folder.glob("day=*/.offsets-*")):
        if _HIDDEN.fullmatch(path.name) and path.lstat().st_ctime < before:
            path.unlink()


def _settle(folder: Path) -> None:
    """Move files of earlier versions to their days, and hide what merged files replace."""
    for name, path in names(folder).items():
        if path.parent == folder:
            match = NAME.fullmatch(name)
            assert match is not None
            day = day_folder(folder, int(match[1]))
            day.mkdir(exist_ok=True)
            path.rename(day / name)
    count = {part.path for part in parts(folder)}
    for path in names(folder).values():
        if path not in count:
            path.rename(hidden(path))


def _expire(folder: Path, before: int) -> None:
    """Whole files, and the folders of days that are empty then."""
    for part in parts(folder):
        if part.last < before:
            part.path.unlink()
    oldest = day_folder(folder, before)
    for day in folder.glob("day=*"):
        if day < oldest:
            # Not while there are hidden files in it.
            with suppress(OSError):
                day.rmdir()


def _merge_all(folder: Path, now: int) -> None:
    days: dict[Path, list[Part]] = {}
    for part in sorted(parts(folder), key=lambda part: part.first):
        days.setdefault(part.path.parent, []).append(part)
    for day, found in days.items():
        over = day < day_folder(folder, now - _LATE)
        for chosen in _whole_day(found) if over else _levels(found):
            _merge(chosen)


def _whole_day(found: Sequence[Part]) -> Iterator[list[Part]]:
    """Everything, in files that are not too large."""
    yield from (chosen for chosen in _limited(found) if len(chosen) > 1)


def _levels(found: Sequence[Part]) -> Iterator[list[Part]]:
    """Files with about as many snapshots, as soon as there are enough of them."""
    levels: dict[int, list[Part]] = {}
    for part in found:
        level, count = 0, len(part.taken)
        while count >= FAN:
            level, count = level + 1, count // FAN
        levels.setdefault(level, []).append(part)
    for alike in levels.values():
        if len(alike) >= FAN:
            yield from (chosen for chosen in _limited(alike) if len(chosen) > 1)


def _limited(found: Sequence[Part]) -> Iterator[list[Part]]:
    chosen: list[Part] = []
    size = 0
    for part in found:
        more = part.path.stat().st_size
        if chosen and size + more > MOST_BYTES:
            yield chosen
            chosen, size = [], 0
        chosen.append(part)
        size += more
    if chosen:
        yield chosen


def _merge(chosen: Sequence[Part]) -> None:
    taken = sorted(one for part in chosen for one in part.taken)
    path = chosen[0].path.with_name(f"offsets-{taken[0]}-{taken[-1]}-{len(taken)}.parquet")
    said = {
        TAKEN: json.dumps(taken).encode(),
        REPLACES: json.dumps([part.path.name for part in chosen]).encode(),
    }
    expected = 0

    def fill(file: Any) -> None:
        nonlocal expected
        with pq.ParquetWriter(file, SCHEMA.with_metadata(said), compression="zstd") as writer:
            for rows in _groups(chosen):
                writer.write_table(rows.replace_schema_metadata(said), row_group_size=rows.num_rows)
                expected += rows.num_rows

    write(path, fill)
    with opened(path) as made:
        if made.metadata.num_rows != expected:
            raise SparkSourceError(f"{path} has {made.metadata.num_rows} rows, not {expected}")
    for part in chosen:
        part.path.rename(hidden(part.path))
    sync(path.parent)


def _groups(chosen: Sequence[Part]) -> Iterator[pa.Table]:
    """All rows in the order of their files, in portions that are read at once."""
    waiting: list[pa.Table] = []
    count = 0
    for part in chosen:
        with opened(part.path) as file:
            for number in range(file.num_row_groups):
                try:
                    waiting.append(file.read_row_group(number).replace_schema_metadata(None))
                except (OSError, pa.ArrowException) as error:
                    raise SparkSourceError(
                        f"{part.path} is damaged: remove it; the report goes on without it "
                        f"({error})"
                    ) from None
                count += waiting[-1].num_rows
                if count >= _GROUP:
                    yield pa.concat_tables(waiting)
                    waiting, count = [], 0
    if waiting:
        yield pa.concat_tables(waiting)
