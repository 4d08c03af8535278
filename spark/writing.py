"""Rows to messages. Runs on executors; what can be said of the schema is said in the driver."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from trimq.codec import property_keys
from trimq.codec.batch import BatchItem
from trimq.codec.properties import ENTRY_END, NAME_END, format_properties
from trimq.spark.errors import WrongOption, sentences
from trimq.spark.options import WriteOptions
from trimq.spark.schema import COLUMNS
from trimq.spark.sending import MessageIds, Outgoing, Sender

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

# The columns that are written, with the types that they may have.
WRITTEN: Final[dict[str, tuple[str, ...]]] = {
    "topic": ("string",),
    "body": ("binary", "string"),
    "keys": ("string", "array<string>"),
    "tags": ("string",),
    "properties": ("map<string,string>",),
    "shardingKey": ("string",),
    "delayLevel": ("int",),
    "deliveryTimestamp": ("timestamp",),
    "flag": ("int",),
}
# Columns of a read that say where a message was: rows that are written again may have them.
_PASSED_OVER: Final = frozenset(COLUMNS) - frozenset(WRITTEN)
# Names of properties that are not a user's. What was read may hold them; they are made anew.
RESERVED: Final = frozenset(
    value
    for name, value in vars(property_keys).items()
    if name.isupper() and name not in ("KEY_SEPARATOR", "TRANSIENT_PREFIX")
)


class Written(WriterCommitMessage):
    """How many rows a task has sent."""

    def __init__(self, count: int) -> None:
        self.count = count


class RocketMQWriter(DataSourceArrowWriter):
    """Sends the rows of a batch."""

    def __init__(self, options: WriteOptions, schema: StructType, overwrite: bool) -> None:
        if overwrite:
            raise WrongOption("messages cannot be overwritten: write with mode 'append'")
        check_columns(schema, options.topic)
        self._options = options

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        with sentences():
            return Written(send_all(iterator, self._options))


def check_columns(schema: StructType, topic: str | None) -> None:
    """WrongOption when rows of this schema are no messages."""
    names = {field.name for field in schema.fields}
    for field in schema.fields:
        kinds = WRITTEN.get(field.name)
        kind = field.dataType.simpleString()
        if kinds is None and field.name not in _PASSED_OVER:
            raise WrongOption(
                f"column {field.name!r} is no part of a message; there are: {', '.join(WRITTEN)}"
            )
        if kinds is not None and kind not in kinds:
            raise WrongOption(f"column {field.name!r} has type {kind}, not {' or '.join(kinds)}")
    if "body" not in names:
        raise WrongOption("a column 'body' (binary or string) is missing")
    if topic is None and "topic" not in names:
        raise WrongOption("give option 'topic', or a column 'topic'")


def send_all(batches: Iterator[pa.RecordBatch], options: WriteOptions) -> int:
    """Send every row; how many there were. SparkSourceError when any was not stored."""
    sender, ids = Sender(options), MessageIds()
    try:
        for batch in batches:
            for row in _rows(batch):
                try:
                    message = to_message(row, options.topic, ids)
                except ValueError as error:
                    sender.reject(str(error))
                    continue
                sender.send(message)
        sender.finish()
    finally:
        sender.close()
    return sender.sent


def _rows(batch: pa.RecordBatch) -> Iterator[dict[str, Any]]:
    names = [name for name in batch.schema.names if name in WRITTEN]
    columns = []
    for name in names:
        column = batch.column(name)
        if name == "deliveryTimestamp":
            # Microseconds; as datetimes they would cost more and need a time zone.
            column = column.cast(pa.int64())
        columns.append(column.to_pylist())
    for values in zip(*columns, strict=True):
        yield dict(zip(names, values, strict=True))


def to_message(row: dict[str, Any], topic: str | None, ids: MessageIds) -> Outgoing:
    """ValueError says why a row is no message. `topic` counts more than the row's own."""
    to = topic or row.get("topic")
    body = row.get("body")
    if not to:
        raise ValueError("a row has no topic")
    if not body:
        raise ValueError("a row has no body")
    given = dict(row.get("properties") or ())
    properties = {key: value for key, value in given.items() if key not in RESERVED and value}
    for name in (property_keys.KEYS, property_keys.TAGS, property_keys.SHARDING_KEY):
        if given.get(name):
            properties[name] = given[name]
    keys = row.get("keys")
    if keys:
        properties[property_keys.KEYS] = keys if isinstance(keys, str) else " ".join(keys)
    if row.get("tags"):
        properties[property_keys.TAGS] = row["tags"]
    if row.get("shardingKey"):
        properties[property_keys.SHARDING_KEY] = row["shardingKey"]
    properties[property_keys.UNIQ_KEY] = ids.next()
    properties[property_keys.WAIT] = "true"
    alone = _delay(row, properties)
    _check(properties)
    data = body.encode() if isinstance(body, str) else body
    item = BatchItem(row.get("flag") or 0, data, format_properties(properties))
    return Outgoing(to, item, properties.get(property_keys.SHARDING_KEY), alone)


def _delay(row: dict[str, Any], properties: dict[str, str]) -> bool:
    """Whether the message comes later; says so in its properties."""
    level, moment = row.get("delayLevel"), row.get("deliveryTimestamp")
    if level:
        properties[property_keys.DELAY] = str(level)
    elif moment is not None:
        properties[property_keys.TIMER_DELIVER_MS] = str(moment // 1000)
    return bool(level) or moment is not None


def _check(properties: dict[str, str]) -> None:
    for key, value in properties.items():
        text = key + value
        if not key or NAME_END in text or ENTRY_END in text:
            raise ValueError(f"property {key!r} holds a character that separates properties")
