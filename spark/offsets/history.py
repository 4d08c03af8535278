"""The history: a folder with one Parquet file per snapshot, named after its time. `offsets-MILLIS.parquet`."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from trimq.spark.errors import SparkSourceError
from trimq.spark.offsets.table import SCHEMA

_NAME: Final = re.compile(r"offsets-(\d+)\.parquet")


@dataclass(frozen=True, order=True, slots=True)
class SnapshotFile:
    """`taken` in milliseconds since 1970."""

    taken: int
    path: Path


def append(folder: Path, table: pa.Table) -> SnapshotFile:
    """Add a snapshot that has rows. Readers see the whole file or none; OSError if it cannot be written."""
    folder.mkdir(parents=True, exist_ok=True)
    taken = table["takenAt"][0].cast(pa.int64()).as_py() // 1000
    path = folder / f"offsets-{taken}.parquet"
    # Spark passes over names that begin with a dot.
    new = folder / f".{path.name}.{os.getpid()}"
    try:
        with new.open("wb") as file:
            pq.write_table(table, file, compression="zstd")
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
    except BaseException:
        new.unlink(missing_ok=True)
        raise
    return SnapshotFile(taken, path)


def snapshots(folder: Path) -> list[SnapshotFile]:
    """All snapshots, oldest first."""
    if not folder.is_dir():
        return []
    found = ((_NAME.fullmatch(path.name), path) for path in folder.iterdir())
    return sorted(SnapshotFile(int(match[1]), path) for match, path in found if match)


def check(file: SnapshotFile) -> None:
    """SparkSourceError when it is no snapshot, or only the beginning of one; OSError when it is gone."""
    try:
        schema = pq.read_schema(file.path)
    except pa.ArrowInvalid as error:
        raise SparkSourceError(
            f"{file.path} is damaged: remove it, the report goes without ({error})"
        ) from None
    if not schema.equals(SCHEMA):
        raise SparkSourceError(
            f"{file.path} has not the columns of a snapshot: another TriMQ wrote it"
        )


def spread(files: list[SnapshotFile], most: int) -> list[SnapshotFile]:
    """At most so many of them, evenly spread over their number, the last one in any case."""
    if len(files) <= most:
        return files
    step = len(files) / most
    return [files[len(files) - 1 - int(step * at)] for at in range(most)][::-1]
