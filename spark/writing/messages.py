"""Rows to messages: which columns a message has, and why a row is not one.

Runs on executors, except for the columns.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from trimq.codec.frames.frame import FRAME_LIMIT
from trimq.codec.records import property_keys
from trimq.codec.records.batch import BatchItem
from trimq.codec.records.properties import ENTRY_END, NAME_END, format_properties
from trimq.spark.errors import WrongOption
from trimq.spark.schema import COLUMNS
from trimq.spark.writing.sending import MessageIds, Outgoing

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

_WHOLE: Final = ("int", "bigint", "smallint", "tinyint")
# The columns that are written, with the types that they may have.
WRITTEN: Final[dict[str, tuple[str, ...]]] = {
    "topic": ("string",),
    "body": ("binary", "string"),
    "keys": ("string", "array<string>"),
    "tags": ("string",),
    "properties": ("map<string,string>",),
    "shardingKey": ("string",),
    "delayLevel": _WHOLE,
    "deliveryTimestamp": ("timestamp",),
    "flag": _WHOLE,
}
_BY_NAME: Final = {name.lower(): name for name in WRITTEN}
# Columns of a read that say where a message was: rows that are written again may have them.
_PASSED_OVER: Final = frozenset(name.lower() for name in COLUMNS) - frozenset(_BY_NAME)
# Names of properties that are not a user's. What was read may contain them; they are set again.
RESERVED: Final = frozenset(
    value
    for name, value in vars(property_keys).items()
    if name.isupper() and name not in ("KEY_SEPARATOR", "TRANSIENT_PREFIX")
)
# TopicValidator's rules; the length of a record's properties is two bytes with a sign.
_TOPIC: Final = re.compile(r"[%|a-zA-Z0-9_-]{1,127}|%(?:RETRY|DLQ)%[%|a-zA-Z0-9_-]{1,249}")
_MOST_PROPERTIES: Final = (1 << 15) - 1
# Brokers hang up on longer frames; 4 KiB are for what is around a message. Their own limit is lower (maxMessageSize).
_LONGEST: Final = FRAME_LIMIT - 4096
_INT: Final = range(-(1 << 31), 1 << 31)


class _Unreadable:
    """In place of a text that is not UTF-8, which Spark lets pass."""


_UNREADABLE: Final = _Unreadable()


def check_columns(schema: StructType, topic: str | None) -> None:
    """WrongOption when rows of this schema are not messages. As in Spark, case does not matter."""
    found: set[str] = set()
    for field in schema.fields:
        lower = field.name.lower()
        if lower in found:
            raise WrongOption(
                f"there are two columns {field.name!r}; upper and lower case count as the same"
            )
        found.add(lower)
        name = _BY_NAME.get(lower)
        if name is None and lower not in _PASSED_OVER:
            raise WrongOption(
                f"column {field.name!r} is not part of a message; there are: {', '.join(WRITTEN)}"
            )
        kind = field.dataType.simpleString()
        if name is not None and kind not in WRITTEN[name]:
            kinds = " or ".join(WRITTEN[name])
            raise WrongOption(f"column {field.name!r} has type {kind}, not {kinds}")
    if "body" not in found:
        raise WrongOption("a column 'body' (binary or string) is missing")
    if topic is None and "topic" not in found:
        raise WrongOption("give option 'topic', or a column 'topic'")


def rows(batch: pa.RecordBatch) -> Iterator[dict[str, Any]]:
    """The rows of a batch: values by the names in WRITTEN."""
    names, columns = [], []
    for given, column in zip(batch.schema.names, batch.columns, strict=True):
        name = _BY_NAME.get(given.lower())
        if name is not None:
            names.append(name)
            columns.append(_values(_plain(name, column)))
    for values in zip(*columns, strict=True):
        yield dict(zip(names, values, strict=True))


def _plain(name: str, column: pa.Array) -> pa.Array:
    if name == "deliveryTimestamp":
        # Microseconds; as datetimes they would cost more and need a time zone.
        return column.cast(pa.int64())
    if name == "body":
        # A text is the same bytes; large, so that any number of them fits.
        return column.cast(pa.large_binary())
    return column


def _values(column: pa.Array) -> list[Any]:
    try:
        found: list[Any] = column.to_pylist()
    except UnicodeDecodeError:
        return [_value(scalar) for scalar in column]
    return found


def _value(scalar: pa.Scalar) -> Any:
    try:
        return scalar.as_py()
    except UnicodeDecodeError:
        return _UNREADABLE


def to_message(row: Mapping[str, Any], topic: str | None, ids: MessageIds, number: int) -> Outgoing:
    """ValueError says why a row is not a message. `topic` takes precedence over the row's own."""
    if _UNREADABLE in row.values():
        name = next(name for name, value in row.items() if value is _UNREADABLE)
        raise ValueError(f"its column {name!r} is not UTF-8")
    to, body = topic or row.get("topic"), row.get("body")
    if not to:
        raise ValueError("it has no topic")
    if _TOPIC.fullmatch(to) is None:
        raise ValueError(f"{to!r} is not a topic name: up to 127 letters, digits and any of %|_-")
    if not body:
        raise ValueError("it has no body")
    properties = _properties(row, ids)
    alone = _delay(row, properties)
    _check(properties)
    block = format_properties(properties)
    if len(block) > _MOST_PROPERTIES:
        raise ValueError(
            f"its properties take {len(block)} bytes, and at most {_MOST_PROPERTIES} are possible"
        )
    if len(body) + len(block) > _LONGEST:
        raise ValueError(
            f"its body takes {len(body)} bytes, more than a frame of the protocol can hold"
        )
    item = BatchItem(_whole(row, "flag", _INT) or 0, body, block)
    return Outgoing(to, item, properties.get(property_keys.SHARDING_KEY), alone, number)


def _properties(row: Mapping[str, Any], ids: MessageIds) -> dict[str, str]:
    given = dict(row.get("properties") or ())
    properties = {key: value for key, value in given.items() if key not in RESERVED and value}
    for name in (property_keys.KEYS, property_keys.TAGS, property_keys.SHARDING_KEY):
        if given.get(name):
            properties[name] = given[name]
    keys = keys_of(row)
    if keys:
        properties[property_keys.KEYS] = keys
    if row.get("tags"):
        properties[property_keys.TAGS] = row["tags"]
    if row.get("shardingKey"):
        properties[property_keys.SHARDING_KEY] = row["shardingKey"]
    properties[property_keys.UNIQ_KEY] = ids.next()
    properties[property_keys.WAIT] = "true"
    return properties


def keys_of(row: Mapping[str, Any]) -> str | None:
    """A row's keys as a message has them."""
    keys = row.get("keys")
    if isinstance(keys, list):
        return " ".join(key for key in keys if key)
    return keys if isinstance(keys, str) else None


def _delay(row: Mapping[str, Any], properties: dict[str, str]) -> bool:
    """Whether the message comes later; says so in its properties."""
    level = _whole(row, "delayLevel", range(1 << 31))
    moment = row.get("deliveryTimestamp")
    if level:
        properties[property_keys.DELAY] = str(level)
    elif moment is not None:
        properties[property_keys.TIMER_DELIVER_MS] = str(moment // 1000)
    return bool(level) or moment is not None


def _whole(row: Mapping[str, Any], name: str, allowed: range) -> int | None:
    value: int | None = row.get(name)
    if value is not None and value not in allowed:
        raise ValueError(
            f"its {name} is {value}, not a number from {allowed.start} to {allowed.stop - 1}"
        )
    return value


def _check(properties: dict[str, str]) -> None:
    for key, value in properties.items():
        text = key + value
        if not key or NAME_END in text or ENTRY_END in text:
            raise ValueError(f"property {key!r} holds a character that separates properties")
