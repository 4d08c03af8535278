"""A snapshot as a table: one row per queue, and one more per group that has an offset in it."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

_TIME: Final = pa.timestamp("us", tz="UTC")
# Milliseconds to what Spark calls a timestamp.
_MILLIS: Final = pa.timestamp("ms", tz="UTC")

SCHEMA: Final = pa.schema(
    [
        # When the snapshot began: the same in all of its rows.
        ("takenAt", _TIME),
        # When the offsets of this row were read.
        ("askedAt", _TIME),
        ("cluster", pa.string()),
        ("brokerName", pa.string()),
        ("topic", pa.string()),
        ("queueId", pa.int32()),
        # Null in the row about the queue itself, like everything else about groups.
        ("consumerGroup", pa.string()),
        # The first offset that still exists, and the one that the next message will get.
        ("minOffset", pa.int64()),
        ("maxOffset", pa.int64()),
        # The next offset that the group reads; how far messages were handed out.
        ("committed", pa.int64()),
        ("pulled", pa.int64()),
        # How long the next message has been waiting. Not exact: at most this long. Null: not known.
        ("delayMillis", pa.int64()),
        ("delayExact", pa.bool_()),
        # When the last message that was read had been stored; when the owner last consumed.
        ("lastReadAt", _TIME),
        ("lastConsumedAt", _TIME),
        # Who has the queue now.
        ("client", pa.string()),
        # How many clients of the group are connected; null: not known.
        ("members", pa.int32()),
        # Whether members of the group want different things; null: not known.
        ("subscriptionsDiffer", pa.bool_()),
    ]
)

# The same for Spark.
_SPARK_TYPES: Final = {
    _TIME: "timestamp",
    pa.string(): "string",
    pa.int32(): "int",
    pa.int64(): "bigint",
    pa.bool_(): "boolean",
}


COLUMNS: Final = {field.name: (_SPARK_TYPES[field.type], field.type) for field in SCHEMA}


def ddl() -> str:
    """The columns as Spark writes them."""
    return ", ".join(f"{name} {kind}" for name, (kind, _) in COLUMNS.items())


def now_millis() -> int:
    """Milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def times(millis: Any) -> pa.Array:
    """Milliseconds since 1970 as times; null for those not above 0, which are not known."""
    known = pc.if_else(pc.greater(millis, 0), millis, pa.scalar(None, pa.int64()))
    return known.cast(_MILLIS).cast(_TIME)


def part(taken: int, asked: int, columns: Mapping[str, Any]) -> pa.Table:
    """Rows of a snapshot. A plain value is the same in all rows; an absent column is null."""
    count = next(len(value) for value in columns.values() if isinstance(value, pa.Array | list))
    given = {"takenAt": _moment(taken), "askedAt": _moment(asked), **columns}
    arrays = [_column(given.get(field.name), field.type, count) for field in SCHEMA]
    return pa.Table.from_arrays(arrays, schema=SCHEMA)


def joined(parts: Sequence[pa.Table]) -> pa.Table:
    """All rows of a snapshot."""
    return pa.concat_tables(parts) if parts else SCHEMA.empty_table()


def waiting(asked: int, maximum: Any, minimum: Any, committed: Any, last_read: Any) -> pa.Array:
    """For how many milliseconds the next message has been waiting at most.

    It was stored after the last one that was read. 0 without backlog, null where nothing was read.
    """
    backlog = pc.subtract(maximum, pc.max_element_wise(committed, minimum))
    since = pc.max_element_wise(pc.subtract(pa.scalar(asked, pa.int64()), last_read), 0)
    unknown = pa.scalar(None, pa.int64())
    bound = pc.if_else(pc.greater(last_read, 0), since, unknown)
    return pc.if_else(pc.greater(backlog, 0), bound, pa.scalar(0, pa.int64()))


def _moment(millis: int) -> Any:
    return pa.scalar(millis, pa.int64()).cast(_MILLIS).cast(_TIME)


def _column(value: Any, kind: pa.DataType, count: int) -> pa.Array:
    if isinstance(value, pa.Array):
        return value.cast(kind)
    if isinstance(value, list):
        return pa.array(value, kind)
    scalar = value if isinstance(value, pa.Scalar) else pa.scalar(value, kind)
    return pa.repeat(scalar, count)
