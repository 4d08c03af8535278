"""Writing rows: each task sends its own, the driver reports on all."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from trimq.spark.errors import SparkSourceError, WrongOption, sentences
from trimq.spark.options.values import WriteOptions
from trimq.spark.writing.messages import check_columns, keys_of, rows, to_message
from trimq.spark.writing.outcomes import Written, conclude
from trimq.spark.writing.sending import MessageIds, Sender

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


class RocketMQWriter(DataSourceArrowWriter):
    """Sends the rows of a batch."""

    def __init__(self, options: WriteOptions, schema: StructType, overwrite: bool) -> None:
        if overwrite:
            raise WrongOption("messages cannot be overwritten: write with mode 'append'")
        check_columns(schema, options.topic)
        self._options = options

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        with sentences():
            return send_all(iterator, self._options)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        with sentences():
            conclude(messages, self._options.skip_bad_rows)


def send_all(batches: Iterator[pa.RecordBatch], options: WriteOptions) -> Written:
    """Send every row of a task. SparkSourceError when an outage lasts too long."""
    sender, ids, number = Sender(options), MessageIds(), 0
    try:
        for batch in batches:
            for row in rows(batch):
                number += 1
                try:
                    message = to_message(row, options.topic, ids, number)
                except ValueError as error:
                    sender.bad.add(str(error), number, keys_of(row))
                    continue
                sender.send(message)
        sender.finish()
    except SparkSourceError as error:
        raise SparkSourceError(f"{error}; {sender.stored} rows of this task were stored") from None
    finally:
        sender.close()
    return Written(sender.stored, sender.bad, sender.refused)
