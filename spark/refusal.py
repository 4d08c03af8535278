"""A reader of a stream that cannot be: it says why when it is asked for offsets."""

from __future__ import annotations

from collections.abc import Iterator

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from trimq.spark.errors import SparkSourceError, sentences


class Refusal(DataSourceStreamReader):
    """An error of `streamReader` itself is hidden by another one: Spark (4.3.0) stops a reader that it has not got."""

    def __init__(self, error: SparkSourceError) -> None:
        self._error = error

    def initialOffset(self) -> dict[str, object]:
        with sentences():
            raise self._error

    def read(self, partition: InputPartition) -> Iterator[tuple[object, ...]]:
        raise self._error
