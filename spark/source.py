"""The classes that Spark knows: `session.dataSource.register(RocketMQDataSource)`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import pyspark
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
)
from pyspark.sql.types import StructType

from trimq.spark.errors import SparkSourceError, sentences
from trimq.spark.options.parsing import ENDING, FOR_STREAMS, read_options, write_options
from trimq.spark.reading.batch import RocketMQBatchReader
from trimq.spark.refusal import Refusal
from trimq.spark.schema import chosen, ddl, wanted
from trimq.spark.shipping import Shipped
from trimq.spark.versions import has_streams
from trimq.spark.writing.batch import RocketMQWriter

if TYPE_CHECKING:
    from trimq.spark.reading.stream import RocketMQStreamReader
    from trimq.spark.writing.stream import RocketMQStreamWriter


class RocketMQDataSource(DataSource, metaclass=Shipped):
    """`format("rocketmq")`: topics, read once or as a stream, and written to."""

    @classmethod
    def name(cls) -> str:
        return "rocketmq"

    def schema(self) -> str:
        with sentences():
            read_options(self.options)
            return ddl(chosen(self.options.get("columns")))

    def reader(self, schema: StructType) -> DataSourceReader:
        with sentences():
            options = read_options(self.options)
            _refuse(self.options, FOR_STREAMS, "for readStream, not for read")
            return RocketMQBatchReader(options, wanted(schema))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        try:
            return self._stream_reader(schema)
        except SparkSourceError as error:
            return Refusal(error)

    def _stream_reader(self, schema: StructType) -> RocketMQStreamReader:
        _need_streams()
        from trimq.spark.reading.stream import RocketMQStreamReader

        options = read_options(self.options)
        _refuse(self.options, ENDING, "for read, not for readStream")
        return RocketMQStreamReader(options, wanted(schema))

    def writer(self, schema: StructType, overwrite: bool) -> RocketMQWriter:
        with sentences():
            return RocketMQWriter(write_options(self.options), schema, overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> RocketMQStreamWriter:
        with sentences():
            _need_streams()
            from trimq.spark.writing.stream import RocketMQStreamWriter

            return RocketMQStreamWriter(write_options(self.options), schema)


def _refuse(given: Mapping[str, str], names: Iterable[str], why: str) -> None:
    low = {name.lower() for name, value in given.items() if value.strip()}
    wrong = next((name for name in names if name.lower() in low), None)
    if wrong is not None:
        raise SparkSourceError(f"option {wrong!r} is {why}")


def _need_streams() -> None:
    if not has_streams(pyspark.__version__):
        raise SparkSourceError(
            f"streams need Spark 4.2 or newer, this is {pyspark.__version__}: earlier versions do "
            f"not tell a Python data source how far a query has got"
        )
