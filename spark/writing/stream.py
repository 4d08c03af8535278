"""Writing a stream: every batch as a batch; one that is repeated after a crash or a bad row is sent again."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from trimq.spark.errors import sentences
from trimq.spark.options.values import WriteOptions
from trimq.spark.writing.batch import send_all
from trimq.spark.writing.messages import check_columns
from trimq.spark.writing.outcomes import conclude


class RocketMQStreamWriter(DataSourceStreamArrowWriter):
    """Sends the rows of each batch of a stream."""

    def __init__(self, options: WriteOptions, schema: StructType) -> None:
        check_columns(schema, options.topic)
        self._options = options

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        with sentences():
            return send_all(iterator, self._options)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        with sentences():
            conclude(messages, self._options.skip_bad_rows)
