"""What a format does not do: one sentence where Spark would show a trace."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from pyspark.sql.datasource import (
    DataSource,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
    InputPartition,
)

from trimq.spark.errors import SparkSourceError, sentences
from trimq.spark.shipping import Shipped

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


class ReadOnly(DataSource, metaclass=Shipped):
    """A format that is not written to; `ONLY_READ` says so, and what to do."""

    ONLY_READ: ClassVar[str]

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        with sentences():
            raise SparkSourceError(self.ONLY_READ)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:
        with sentences():
            raise SparkSourceError(self.ONLY_READ)


class Refusal(DataSourceStreamReader):
    """An error of `streamReader` itself is hidden by another one: Spark (4.3.0) stops a reader that it did not get."""

    def __init__(self, error: SparkSourceError) -> None:
        self._error = error

    def initialOffset(self) -> dict[str, object]:
        with sentences():
            raise self._error

    def read(self, partition: InputPartition) -> Iterator[tuple[object, ...]]:
        raise self._error
