"""The columns of a message, and which of them a job wants."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from trimq.spark.errors import WrongOption

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

_TIME: Final = pa.timestamp("us", tz="UTC")
# name -> (Spark's type, Arrow's type)
COLUMNS: Final[dict[str, tuple[str, pa.DataType]]] = {
    "topic": ("string", pa.string()),
    "brokerName": ("string", pa.string()),
    "queueId": ("int", pa.int32()),
    "queueOffset": ("bigint", pa.int64()),
    "commitLogOffset": ("bigint", pa.int64()),
    "msgId": ("string", pa.string()),
    "uniqKey": ("string", pa.string()),
    "keys": ("string", pa.string()),
    "tags": ("string", pa.string()),
    "properties": ("map<string,string>", pa.map_(pa.string(), pa.string())),
    "body": ("binary", pa.binary()),
    "bornTimestamp": ("timestamp", _TIME),
    "storeTimestamp": ("timestamp", _TIME),
    "bornHost": ("string", pa.string()),
    "storeHost": ("string", pa.string()),
    "reconsumeTimes": ("int", pa.int32()),
    "sysFlag": ("int", pa.int32()),
    "deliveryTimestamp": ("timestamp", _TIME),
}
QUEUE_ENTRY_COLUMNS: Final[dict[str, tuple[str, pa.DataType]]] = {
    "topic": ("string", pa.string()),
    "queueId": ("int", pa.int32()),
    "queueOffset": ("bigint", pa.int64()),
    "commitLogOffset": ("bigint", pa.int64()),
    "size": ("int", pa.int32()),
    "tagsCode": ("bigint", pa.int64()),
}
INDEX_ENTRY_COLUMNS: Final[dict[str, tuple[str, pa.DataType]]] = {
    "file": ("string", pa.string()),
    "entry": ("int", pa.int32()),
    "keyHash": ("int", pa.int32()),
    "commitLogOffset": ("bigint", pa.int64()),
    "storeTimestamp": ("timestamp", _TIME),
    "previousEntry": ("int", pa.int32()),
}


def ddl(names: Sequence[str], columns: dict[str, tuple[str, pa.DataType]] = COLUMNS) -> str:
    """A schema as Spark writes it."""
    return ", ".join(f"{name} {columns[name][0]}" for name in names)


def arrow_schema(
    names: Sequence[str], columns: dict[str, tuple[str, pa.DataType]] = COLUMNS
) -> pa.Schema:
    """The same for Arrow; exactly what Spark expects in the batches."""
    return pa.schema([pa.field(name, columns[name][1]) for name in names])


def chosen(text: str | None, columns: dict[str, tuple[str, pa.DataType]] = COLUMNS) -> list[str]:
    """The columns that the option `columns` names; all without it."""
    if text is None or not text.strip():
        return list(columns)
    by_name = {name.lower(): name for name in columns}
    names: list[str] = []
    for part in text.split(","):
        name = by_name.get(part.strip().lower())
        if name is None:
            raise WrongOption(
                f"option 'columns' names {part.strip()!r}; there are: {', '.join(columns)}"
            )
        if name not in names:
            names.append(name)
    return names


def wanted(schema: StructType, columns: dict[str, tuple[str, pa.DataType]] = COLUMNS) -> list[str]:
    """The columns of a schema that a job gave with `.schema(...)`, or that came from `ddl`."""
    by_name = {name.lower(): name for name in columns}
    names: list[str] = []
    for field in schema.fields:
        name = by_name.get(field.name.lower())
        if name is None or field.name != name:
            raise WrongOption(
                f"the schema names column {field.name!r}; there are: {', '.join(columns)}"
            )
        kind = columns[name][0]
        if field.dataType.simpleString() != kind:
            raise WrongOption(
                f"column {name!r} has type {kind}, not {field.dataType.simpleString()}"
            )
        names.append(name)
    return names
