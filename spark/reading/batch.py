"""Reading once: which ranges to read is decided in the driver, each is read on an executor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition

from trimq.spark.errors import sentences
from trimq.spark.options.values import ReadOptions
from trimq.spark.parts import RangesPartition
from trimq.spark.planning.cluster import Cluster, planned
from trimq.spark.planning.grouping import group
from trimq.spark.planning.ranges import begun, ranges
from trimq.spark.planning.resolving import assigned, check_assigned, named, resolve
from trimq.spark.queues import Range
from trimq.spark.reading.partition import read_ranges


class RocketMQBatchReader(DataSourceReader):
    """A read of what is there when the job is planned."""

    def __init__(self, options: ReadOptions, names: Sequence[str]) -> None:
        self._options = options
        self._names = names

    def partitions(self) -> list[InputPartition]:
        with sentences():
            connection = self._options.connection
            limit = connection.patience_of_planning
            found = planned(connection, "planning the read", limit, self._ranges)
        options = self._options
        groups = group(found, options.least_partitions, options.most_per_partition)
        return [RangesPartition(parts) for parts in groups]

    def _ranges(self, cluster: Cluster) -> list[Range]:
        options = self._options
        view = cluster.look(cluster.topics(options), named(options), options.topics).complete()
        bounds = assigned(options.queues, view.bounds)
        check_assigned(options.queues, bounds)
        cluster.check(options.pulls.expression, options.pulls.group, bounds)
        starts = resolve(cluster, options.starting, "earliest", bounds)
        fail = options.pulls.fail_on_data_loss
        starts = begun(starts, options.starting.offsets, bounds, fail)
        ends = resolve(cluster, options.ending, "latest", bounds)
        return ranges(starts, ends, bounds, fail)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        # If there is nothing to read, Spark asks for a partition of its own.
        if isinstance(partition, RangesPartition):
            with sentences():
                yield from read_ranges(partition.parts, self._options, self._names)
