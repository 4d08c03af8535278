"""`format("rocketmq-store")`: a store directory as tables, read-only, without its broker."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from trimq.spark.decode import to_batch, unwrap
from trimq.spark.errors import sentences
from trimq.spark.log_scan import LogPart, plan, scan
from trimq.spark.schema import (
    COLUMNS,
    INDEX_ENTRY_COLUMNS,
    QUEUE_ENTRY_COLUMNS,
    chosen,
    ddl,
    wanted,
)
from trimq.spark.shipping import Shipped
from trimq.spark.store_options import StoreOptions, store_options
from trimq.spark.store_tables import index_entries, index_paths, queue_entries, queue_folders

_COLUMNS: Final = {
    "messages": COLUMNS,
    "consumequeue": QUEUE_ENTRY_COLUMNS,
    "index": INDEX_ENTRY_COLUMNS,
}
# The process in which Spark asks for filters; in others it refuses a reader that takes some.
_PUSHDOWN: Final = "pyspark.sql.worker.data_source_pushdown_filters"


class RocketMQStoreDataSource(DataSource, metaclass=Shipped):
    """Messages of a commit log, entries of consume queues and of the index."""

    @classmethod
    def name(cls) -> str:
        return "rocketmq-store"

    def schema(self) -> str:
        with sentences():
            columns = _COLUMNS[store_options(self.options).table]
            return ddl(chosen(self.options.get("columns"), columns), columns)

    def reader(self, schema: StructType) -> DataSourceReader:
        with sentences():
            options = store_options(self.options)
            names = wanted(schema, _COLUMNS[options.table])
            if options.table == "messages":
                kind = FilteringLogReader if _PUSHDOWN in sys.modules else LogReader
                return kind(options, names)
            return TableReader(options, names)


class _Part(InputPartition):
    """What one task reads."""

    def __init__(self, part: LogPart | Path) -> None:
        super().__init__(str(part))
        self.part = part


class LogReader(DataSourceReader):
    """Messages, straight from the commit log's files."""

    def __init__(self, options: StoreOptions, names: Sequence[str]) -> None:
        self._options = options
        self._names = names

    def partitions(self) -> list[InputPartition]:
        with sentences():
            return [_Part(part) for part in plan(self._options)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        if not isinstance(partition, _Part) or not isinstance(partition.part, LogPart):
            return
        with sentences(str(partition.part.path)):
            for rows in scan(partition.part, self._options):
                yield to_batch(unwrap(rows), self._names, self._options.broker_name)


class FilteringLogReader(LogReader):
    """Makes use of conditions on topic and storeTimestamp; Spark still looks at every row."""

    def pushFilters(self, filters: list[Any]) -> Iterable[Any]:
        for one in filters:
            column, value = getattr(one, "attribute", ()), getattr(one, "value", None)
            if column == ("topic",):
                self._topic(type(one).__name__, value)
            elif column == ("storeTimestamp",) and isinstance(value, datetime):
                self._time(type(one).__name__, value)
        return filters

    def _topic(self, kind: str, value: Any) -> None:
        if kind not in ("EqualTo", "In"):
            return
        names = frozenset({value} if kind == "EqualTo" else value)
        given = self._options.topics
        # A topic that cannot be leaves nothing, where no topic at all would mean any.
        both = given & names if given else names
        self._options = replace(self._options, topics=both or frozenset({""}))

    def _time(self, kind: str, moment: datetime) -> None:
        if moment.tzinfo is None:
            return
        millis = int(moment.timestamp() * 1000)
        options = self._options
        if kind in ("GreaterThan", "GreaterThanOrEqual"):
            self._options = replace(options, start=max(options.start, millis))
        elif kind in ("LessThan", "LessThanOrEqual"):
            # Spark's times are finer than a millisecond.
            self._options = replace(options, end=min(options.end, millis + 1))


class TableReader(DataSourceReader):
    """Entries of consume queues, one task per queue, or of the index, one per file."""

    def __init__(self, options: StoreOptions, names: Sequence[str]) -> None:
        self._options = options
        self._names = names

    def partitions(self) -> list[InputPartition]:
        with sentences():
            queues = self._options.table == "consumequeue"
            return [
                _Part(path) for path in (queue_folders if queues else index_paths)(self._options)
            ]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        if not isinstance(partition, _Part) or not isinstance(partition.part, Path):
            return
        with sentences(str(partition.part)):
            queues = self._options.table == "consumequeue"
            yield from (queue_entries if queues else index_entries)(partition.part, self._names)
