"""`format("rocketmq-store")`: a store directory as tables, read-only, without its broker."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSourceReader,
    DataSourceStreamReader,
    InputPartition,
)
from pyspark.sql.types import StructType

from trimq.spark.errors import SparkSourceError, sentences
from trimq.spark.records.decode import to_batch, unwrap
from trimq.spark.refusal import ReadOnly, Refusal
from trimq.spark.schema import (
    COLUMNS,
    INDEX_ENTRY_COLUMNS,
    QUEUE_ENTRY_COLUMNS,
    chosen,
    ddl,
    wanted,
)
from trimq.spark.store.known_topics import check_topics
from trimq.spark.store.log_scan import LogPart, scan
from trimq.spark.store.options import StoreOptions, store_options
from trimq.spark.store.plan import QueuePart, plan
from trimq.spark.store.records import read_named
from trimq.spark.store.tables import entry_folders, index_entries, index_paths, queue_entries
from trimq.spark.versions import asks_for_filters

_COLUMNS: Final = {
    "messages": COLUMNS,
    "consumequeue": QUEUE_ENTRY_COLUMNS,
    "index": INDEX_ENTRY_COLUMNS,
}


class RocketMQStoreDataSource(ReadOnly):
    """Messages of a commit log, entries of consume queues and of the index."""

    ONLY_READ = "stores can only be read: write with format('rocketmq')"

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
            with _readable():
                check_topics(options)
            names = wanted(schema, _COLUMNS[options.table])
            if options.table == "messages":
                kind = FilteringLogReader if asks_for_filters() else LogReader
                return kind(options, names)
            return TableReader(options, names)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        return Refusal(
            SparkSourceError(
                "a store is read once, not as a stream: use read, or readStream.format('rocketmq') from its broker"
            )
        )


@contextmanager
def _readable(where: str = "") -> Iterator[None]:
    """SparkSourceError if a disk or a file system cannot be read."""
    with sentences(where):
        try:
            yield
        except OSError as error:
            raise SparkSourceError(
                f"{error.filename or where or 'the store'} cannot be read: {error.strerror or error}"
            ) from None


class _Part(InputPartition):
    """What one task reads."""

    def __init__(self, part: LogPart | QueuePart | str) -> None:
        super().__init__(str(part))
        self.part = part


class LogReader(DataSourceReader):
    """Messages, straight from the commit log's files."""

    def __init__(self, options: StoreOptions, names: Sequence[str]) -> None:
        self._options = options
        self._names = names

    def partitions(self) -> list[InputPartition]:
        with _readable():
            return [_Part(part) for part in plan(self._options)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        part = partition.part if isinstance(partition, _Part) else None
        if isinstance(part, LogPart):
            found, where, name = scan(part, self._options), part.path, part.broker_name
        elif isinstance(part, QueuePart):
            found, where = read_named(part, self._options), part.store.root
            name = part.store.broker_name
        else:
            return
        with _readable(where):
            for rows in found:
                yield to_batch(unwrap(rows), self._names, name)


class FilteringLogReader(LogReader):
    """Makes use of conditions on topic, queueId and storeTimestamp."""

    def pushFilters(self, filters: list[Any]) -> Iterable[Any]:
        """Spark itself checks what is given back, row by row."""
        return [one for one in filters if not self._takes(one)]

    def _takes(self, condition: Any) -> bool:
        """Whether every row that comes meets the condition."""
        column, value = getattr(condition, "attribute", ()), getattr(condition, "value", None)
        kind = type(condition).__name__
        if column == ("topic",):
            return self._topic(kind, value)
        if column == ("queueId",):
            return self._queue(kind, value)
        if column == ("storeTimestamp",) and isinstance(value, datetime):
            self._time(kind, value)
        return False

    def _topic(self, kind: str, value: Any) -> bool:
        names = frozenset(_values(kind, value, str))
        # A name that is not UTF-8 is read with this mark in it, and cannot be found by it.
        if not names or any("\N{REPLACEMENT CHARACTER}" in name for name in names):
            return False
        given = self._options.topics
        # An impossible topic leaves nothing, whereas no topic at all would mean any.
        both = given & names if given else names
        self._options = replace(self._options, topics=both or frozenset({""}))
        return True

    def _queue(self, kind: str, value: Any) -> bool:
        numbers = frozenset(_values(kind, value, int))
        if not numbers:
            return False
        given = self._options.queue_ids
        self._options = replace(
            self._options, queue_ids=numbers if given is None else given & numbers
        )
        return True

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


def _values(kind: str, value: Any, of: type) -> list[Any]:
    """What a column may be under = or IN; nothing if the condition is a different one."""
    if kind not in ("EqualTo", "In"):
        return []
    given = [value] if kind == "EqualTo" else list(value)
    return given if all(isinstance(one, of) for one in given) else []


class TableReader(DataSourceReader):
    """Entries of consume queues, one task per queue, or of the index, one per file."""

    def __init__(self, options: StoreOptions, names: Sequence[str]) -> None:
        self._options = options
        self._names = names

    def partitions(self) -> list[InputPartition]:
        with _readable():
            queues = self._options.table == "consumequeue"
            return [
                _Part(path) for path in (entry_folders if queues else index_paths)(self._options)
            ]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        if not isinstance(partition, _Part) or not isinstance(partition.part, str):
            return
        with _readable(partition.part):
            queues = self._options.table == "consumequeue"
            entries = queue_entries if queues else index_entries
            yield from entries(partition.part, self._names, self._options.files)
