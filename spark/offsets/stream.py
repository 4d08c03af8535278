"""A snapshot at each trigger, kept by the query's sink. Spark's checkpoint has the time of the last one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    SupportsTriggerAvailableNow,
)

from trimq.spark.errors import check_version
from trimq.spark.offsets.snapshot.table import now_millis
from trimq.spark.offsets.source import asked, planned
from trimq.spark.offsets.source_options import OffsetsOptions

VERSION: Final = 1
# Triggers sometimes come a little early.
_EARLY: Final = 0.9


class OffsetsStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Its offset is {"version": 1, "takenAt": MILLISECONDS}; 0 before the first snapshot."""

    def __init__(self, options: OffsetsOptions, names: Sequence[str]) -> None:
        self._options = options
        self._names = names
        self._target: int | None = None

    def getDefaultReadLimit(self) -> ReadLimit:
        return ReadAllAvailable()

    def initialOffset(self) -> dict[str, Any]:
        return _offset(0)

    def prepareForTriggerAvailableNow(self) -> None:
        self._target = now_millis()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        before = _taken(start)
        if self._target is not None:
            return _offset(max(before, self._target))
        now = now_millis()
        # A clock that was set back must not make a snapshot older than the one before.
        return _offset(now) if now - before > self._options.least * _EARLY else start

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        taken = _taken(end)
        if taken <= _taken(start):
            return []
        return planned(self._options, taken, self._options.connection.patience)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        yield from asked(self._options, partition, self._names)


def _offset(taken: int) -> dict[str, Any]:
    return {"version": VERSION, "takenAt": taken}


def _taken(offset: dict[str, Any]) -> int:
    check_version(offset, VERSION)
    return int(offset["takenAt"])
