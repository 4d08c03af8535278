"""The history: a Parquet data set with a folder per day (UTC), `day=2026-11-22`.

A snapshot is written as `offsets-MILLIS.parquet`, named after its time; `compacting` merges such files to
`offsets-FIRST-LAST-COUNT.parquet`. A merged file names in its metadata the files that it replaces, so a
reader that looks while files are swapped counts each snapshot once: it ignores files that a merged one
replaces. A read that was planned with files that are gone since then finds them, for a while, under a
name that begins with a dot. Folders of earlier versions have all their files at the top; they are read as
well.
"""

from __future__ import annotations

import json
import os
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from trimq.spark.errors import SparkSourceError
from trimq.spark.offsets.snapshot.table import SCHEMA

NAME: Final = re.compile(r"offsets-(\d+)(?:-(\d+)-(\d+))?\.parquet")
# In a merged file: the times of its snapshots, and the names of the files that it replaces.
TAKEN: Final = b"trimq.taken"
REPLACES: Final = b"trimq.replaces"
_LOOKS: Final = 50
# Small files read together, and in parallel: more threads do not read them faster.
_GROUP: Final = 256
_THREADS: Final = 2


@dataclass(frozen=True, slots=True)
class Part:
    """A file and the times of its snapshots, oldest first, in milliseconds since 1970."""

    path: Path
    taken: tuple[int, ...]

    @property
    def first(self) -> int:
        return self.taken[0]

    @property
    def last(self) -> int:
        return self.taken[-1]

    @property
    def merged(self) -> bool:
        return len(self.taken) > 1


class History:
    """What exists at one moment; reading keeps to that while others merge files."""

    def __init__(self, parts: Iterable[Part]) -> None:
        self._parts = sorted(parts, key=lambda part: (part.first, part.last))
        self.taken = sorted({taken for part in self._parts for taken in part.taken})

    def snapshot(self, taken: int) -> pa.Table:
        """All rows of one snapshot. SparkSourceError when its file is damaged."""
        return self.read([taken], SCHEMA.names)

    def read(self, chosen: Sequence[int], columns: Sequence[str], where: Any = None) -> pa.Table:
        """Rows of some snapshots, which are in ascending order. `where` is about some of the columns."""
        found = [part for part in self._parts if _between(chosen, part.first, part.last)]
        times = _times(chosen)
        within = pc.field("takenAt")
        # Arrow skips blocks of a file when it is given an equality.
        within = within == times[0] if len(times) == 1 else within.isin(times)
        both = within if where is None else within & where
        small = _together([part for part in found if not part.merged], columns, where)
        large = [_some(part.path, columns, both) for part in found if part.merged]
        return pa.concat_tables([small, *large])

    def backwards(self, columns: Sequence[str], where: Any) -> Iterator[pa.Table]:
        """All rows, newest snapshots first: no table has snapshots newer than those in the one before."""
        for group in _apart(self._parts):
            if len(group) == 1 and group[0].merged:
                yield from _from_the_end(group[0].path, columns, where)
            else:
                yield _together(group, columns, where)


def _apart(parts: Sequence[Part]) -> Iterator[list[Part]]:
    """The parts in groups, newest first, such that all of a group is newer than all of the next one."""
    group: list[Part] = []
    for part in sorted(parts, key=lambda part: part.last, reverse=True):
        full = len(group) >= _GROUP or any(one.merged for one in (*group, part))
        if group and full and part.last < min(one.first for one in group):
            yield group
            group = []
        group.append(part)
    if group:
        yield group


def look(folder: Path) -> History:
    """The snapshots that exist now. SparkSourceError when a merged file is damaged."""
    return History(parts(folder))


def parts(folder: Path) -> list[Part]:
    """The files that count."""
    made: list[Part] = []
    replaced: set[str] = set()
    for name, path in _settled(folder).items():
        match = NAME.fullmatch(name)
        if match is None or match[2] is None:
            made.append(Part(path, (int(name[8:-8]),)))
        else:
            said = metadata(path)
            made.append(Part(path, tuple(json.loads(said[TAKEN]))))
            replaced |= set(json.loads(said[REPLACES]))
    return [one for one in made if one.path.name not in replaced]


def names(folder: Path) -> dict[str, Path]:
    """All files of snapshots, counting or not, by name: a file that is moved to its day counts once."""
    if not folder.is_dir():
        return {}
    # The top first: files move from there to their days.
    found = {path.name: path for path in folder.glob("*.parquet") if NAME.fullmatch(path.name)}
    for day in sorted(folder.glob("day=*")):
        found |= {path.name: path for path in day.glob("*.parquet") if NAME.fullmatch(path.name)}
    return found


def _settled(folder: Path) -> dict[str, Path]:
    """Names as they were at one moment: a folder that changes while it is listed may show neither
    the old files nor the one that replaces them.
    """
    before = names(folder)
    for _ in range(_LOOKS):
        now = names(folder)
        if now.keys() == before.keys():
            return now
        before = now
    raise SparkSourceError(f"{folder} keeps changing: are several reports writing to it?")


def metadata(path: Path) -> dict[bytes, bytes]:
    """What a merged file says about itself."""
    with opened(path) as file:
        found: dict[bytes, bytes] = file.schema_arrow.metadata or {}
    if TAKEN not in found or REPLACES not in found:
        raise SparkSourceError(f"{path} does not say which snapshots it has: it is not ours")
    return found


def opened(path: Path) -> pq.ParquetFile:
    """A file of snapshots. SparkSourceError when it is not one, or damaged; OSError when it is gone."""
    try:
        try:
            file = pq.ParquetFile(path)
        except FileNotFoundError:
            file = pq.ParquetFile(hidden(path))
    except pa.ArrowInvalid as error:
        raise _damaged(path, error) from None
    if not file.schema_arrow.equals(SCHEMA):
        file.close()
        raise SparkSourceError(
            f"{path} does not have the columns of a snapshot: another version of TriMQ wrote it"
        ) from None
    return file


def hidden(path: Path) -> Path:
    """Where a file is after it was merged, until it is deleted; Spark ignores such names."""
    return path.with_name(f".{path.name}")


def _damaged(path: Path, error: Exception) -> SparkSourceError:
    said = " ".join(str(error).split())
    return SparkSourceError(f"{path} is damaged: remove it; the report goes on without it ({said})")


def day_folder(folder: Path, taken: int) -> Path:
    """Where a snapshot of that time belongs."""
    return folder / f"day={datetime.fromtimestamp(taken / 1000, UTC):%Y-%m-%d}"


def append(folder: Path, table: pa.Table) -> Part:
    """Add a snapshot that has rows. Readers see the whole file or nothing; OSError if it cannot be written."""
    taken = table["takenAt"][0].cast(pa.int64()).as_py() // 1000
    path = day_folder(folder, taken) / f"offsets-{taken}.parquet"
    write(path, lambda file: pq.write_table(table, file, compression="zstd"))
    return Part(path, (taken,))


def write(path: Path, fill: Callable[[Any], None]) -> None:
    """A file that exists completely, even after a power cut, or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with new.open("wb") as file:
            fill(file)
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
        sync(path.parent)
    except BaseException:
        new.unlink(missing_ok=True)
        raise


def sync(folder: Path) -> None:
    """Sync the names in a folder to the disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def spread(taken: Sequence[int], most: int) -> list[int]:
    """At most this many of them, evenly spread, always with the last one."""
    if len(taken) <= most:
        return list(taken)
    step = len(taken) / most
    return [taken[len(taken) - 1 - int(step * at)] for at in range(most)][::-1]


def _times(millis: Sequence[int]) -> pa.Array:
    return pa.array([one * 1000 for one in millis], pa.int64()).cast(SCHEMA.field("takenAt").type)


def _between(values: Sequence[int], low: int, high: int) -> bool:
    """Whether any of the sorted values is one of low to high."""
    return bisect_left(values, low) < bisect_right(values, high)


def _together(parts: Sequence[Part], columns: Sequence[str], where: Any) -> pa.Table:
    """All rows of small files; rows are chosen once for all of them, which costs as much as for one."""
    with ThreadPoolExecutor(_THREADS) as pool:
        tables = pool.map(lambda part: _all(part.path, columns), parts)
        rows = pa.concat_tables([SCHEMA.empty_table().select(columns), *tables])
    return rows if where is None else rows.filter(where)


def _all(path: Path, columns: Sequence[str]) -> pa.Table:
    with opened(path) as file:
        rows = _read(path, lambda: file.read(columns=list(columns), use_threads=False))
    return rows.select(columns).replace_schema_metadata(None)


def _some(path: Path, columns: Sequence[str], where: Any) -> pa.Table:
    """Rows of a merged file. Parts of it whose times do not match are not read."""
    opened(path).close()

    def read(there: Path) -> pa.Table:
        files = ds.dataset(there, schema=SCHEMA, format="parquet")
        return files.to_table(columns=list(columns), filter=where)

    try:
        return _read(path, partial(read, path))
    except FileNotFoundError:
        # It was merged with others in the meantime.
        return _read(path, partial(read, hidden(path)))


def _from_the_end(path: Path, columns: Sequence[str], where: Any) -> Iterator[pa.Table]:
    """The rows of a merged file, its last ones first."""
    with opened(path) as file:
        for number in reversed(range(file.num_row_groups)):
            rows = _read(path, partial(file.read_row_group, number, columns=list(columns)))
            yield rows.select(columns).replace_schema_metadata(None).filter(where)


def _read(path: Path, read: Callable[[], pa.Table]) -> pa.Table:
    try:
        return read()
    except FileNotFoundError:
        raise
    except (OSError, pa.ArrowException) as error:
        raise _damaged(path, error) from None
