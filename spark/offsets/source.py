"""`format("rocketmq-offsets")`: where queues and groups are now, as rows; docs/offset-report.md has the columns.

One task asks one broker. A stream takes a snapshot at each trigger: its offset is the time of the last one,
which is `takenAt` of all rows in that batch. A batch that is repeated after a crash asks again, for the
same `takenAt`: so a sink has one snapshot for it, as for every other batch.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyspark
from pyspark.sql.datasource import (
    DataSourceReader,
    DataSourceStreamReader,
    InputPartition,
)
from pyspark.sql.types import StructType

from trimq.spark.errors import SparkSourceError, sentences
from trimq.spark.offsets.snapshot.cluster import BrokerAddress, addresses, read_broker
from trimq.spark.offsets.snapshot.table import COLUMNS, now_millis
from trimq.spark.offsets.source_options import OffsetsOptions, offsets_options
from trimq.spark.reading.outages import patiently
from trimq.spark.refusal import ReadOnly, Refusal
from trimq.spark.schema import chosen, ddl, wanted
from trimq.spark.versions import asks_for_filters, has_streams

if TYPE_CHECKING:
    from trimq.spark.offsets.stream import OffsetsStreamReader

log: Final = logging.getLogger("trimq.spark")

# Columns whose conditions save questions, and the fields of `Only` for them.
_NARROWING: Final = {"topic": "topics", "consumerGroup": "groups", "brokerName": "brokers"}


class RocketMQOffsetsDataSource(ReadOnly):
    """Offsets of queues and of groups in them."""

    ONLY_READ = "offsets can only be read; mqadmin resetOffset sets those of a group"

    @classmethod
    def name(cls) -> str:
        return "rocketmq-offsets"

    def schema(self) -> str:
        with sentences():
            offsets_options(self.options)
            return ddl(chosen(self.options.get("columns"), COLUMNS), COLUMNS)

    def reader(self, schema: StructType) -> DataSourceReader:
        with sentences():
            kind = FilteringOffsetsReader if asks_for_filters() else OffsetsReader
            return kind(offsets_options(self.options), wanted(schema, COLUMNS))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        try:
            return self._stream_reader(schema)
        except SparkSourceError as error:
            return Refusal(error)

    def _stream_reader(self, schema: StructType) -> OffsetsStreamReader:
        if not has_streams(pyspark.__version__):
            raise SparkSourceError(
                f"streams need Spark 4.2 or newer, this is {pyspark.__version__}: read once, and "
                f"again whenever you like"
            )
        from trimq.spark.offsets.stream import OffsetsStreamReader

        return OffsetsStreamReader(offsets_options(self.options), wanted(schema, COLUMNS))


class BrokerPartition(InputPartition):
    """One broker's part of the snapshot that began at `taken`, for one task."""

    def __init__(self, broker: BrokerAddress, taken: int) -> None:
        super().__init__(broker.name)
        self.broker = broker
        self.taken = taken


def planned(options: OffsetsOptions, taken: int, limit: float) -> list[InputPartition]:
    """A task for each broker that is registered now; waits this many seconds for a NameServer."""
    with sentences():
        what = f"brokers of {options.connection.name_servers}"
        found = patiently(what, limit, lambda: addresses(options.source))
    return [BrokerPartition(one, taken) for one in found]


def asked(
    options: OffsetsOptions, partition: InputPartition, names: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    """What a task's broker says, in these columns."""
    # If there is nothing to read, Spark asks for a partition of its own.
    if not isinstance(partition, BrokerPartition):
        return
    broker, taken = partition.broker, partition.taken
    what = f"broker {broker.name}"
    try:
        with sentences(what):
            found = patiently(
                what,
                options.connection.patience,
                lambda: read_broker(options.source, broker, taken),
            )
    except SparkSourceError as error:
        if options.fail_without:
            raise SparkSourceError(
                f"{error}; option failOnMissingBroker=false leaves out brokers that do not answer"
            ) from None
        log.warning("broker %s is left out of a snapshot: %s", broker.name, error)
        return
    for note in found.notes:
        log.warning("not known: %s", note)
    yield from found.table.select(names).to_batches()


class OffsetsReader(DataSourceReader):
    """How things are when the job runs."""

    def __init__(self, options: OffsetsOptions, names: Sequence[str]) -> None:
        self._options = options
        self._names = names

    def partitions(self) -> list[InputPartition]:
        return planned(self._options, now_millis(), self._options.connection.patience_of_planning)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        yield from asked(self._options, partition, self._names)


class FilteringOffsetsReader(OffsetsReader):
    """Asks only for what conditions name; Spark still checks every row."""

    def pushFilters(self, filters: list[Any]) -> Iterable[Any]:
        for one in filters:
            (column, *more) = getattr(one, "attribute", None) or (None,)
            if column in _NARROWING and not more:
                self._narrow(_NARROWING[column], _values(one))
        return filters

    def _narrow(self, field: str, names: frozenset[str] | None) -> None:
        if names is None:
            return
        source = self._options.source
        before = getattr(source.only, field)
        both = names if before is None else before & names
        only = replace(source.only, **{field: both})
        self._options = replace(self._options, source=replace(source, only=only))


def _values(condition: Any) -> frozenset[str] | None:
    """What a column may be under this condition: null is not a name; None: it does not say."""
    kind = type(condition).__name__
    if kind == "IsNull":
        return frozenset()
    if kind in ("EqualTo", "EqualNullSafe"):
        return frozenset({condition.value} - {None})
    if kind == "In":
        return frozenset(condition.value) - {None}
    return None
