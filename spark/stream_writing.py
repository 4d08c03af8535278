"""Writing a stream: every batch as a batch; one that is done again after a crash or a bad row is sent again."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from trimq.spark.errors import sentences
from trimq.spark.messages import check_columns
from trimq.spark.options import WriteOptions
from trimq.spark.outcomes import conclude
from trimq.spark.writing import send_all


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
