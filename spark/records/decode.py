"""Records to Arrow columns, many at once: whatever Arrow or C can do per batch is not done per message."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from trimq.codec.errors import CodecError
from trimq.codec.flags import SysFlag
from trimq.codec.records.batch import split_batch
from trimq.codec.records.compression import unpack_body
from trimq.codec.records.record import encode_record
from trimq.spark.records.rows import (
    BODY_AT,
    BODY_LENGTH,
    BORN_HOST,
    BORN_TIMESTAMP,
    PHYSICAL_OFFSET,
    PREPARED,
    PROPERTIES_AT,
    QUEUE_ID,
    QUEUE_OFFSET,
    RECONSUME_TIMES,
    STOP,
    STORE_HOST,
    STORE_TIMESTAMP,
    SYS_FLAG,
    TOPIC_AT,
    WRAPPED,
    Row,
    Rows,
)
from trimq.spark.records.scan import find_rows
from trimq.spark.schema import arrow_schema

__all__ = ["QUEUE_OFFSET", "Row", "Rows", "outline", "to_batch", "unwrap"]


def outline(buffer: bytes) -> Rows:
    """The records of a pull's answer; CodecError when it is not records from end to end."""
    rows, at = find_rows(buffer, 0, len(buffer), -1)
    if at != len(buffer):
        raise CodecError(f"an answer of {len(buffer)} bytes holds no record at byte {at}")
    return rows


def unwrap(rows: Rows) -> Rows:
    """The same with every message of a batch record as its own record.

    Each keeps its record's fields, with its own flag, body and properties and the next queue offset
    (MessageDecoder.decodeMessage of inner messages).
    """
    if not rows.flagged(WRAPPED):
        return rows
    buffer = rows.buffer
    parts: list[bytes] = []
    for row in rows:
        if row[SYS_FLAG] & WRAPPED != WRAPPED:
            parts.append(buffer[row[STOP] - row[0] : row[STOP]])
            continue
        # A batch may be compressed as a whole.
        body = unpack_body(buffer[row[BODY_AT] : row[BODY_AT] + row[BODY_LENGTH]], row[SYS_FLAG])
        parts += [
            encode_record(
                buffer[row[TOPIC_AT] : row[PROPERTIES_AT] - 2],
                row[QUEUE_ID],
                item.flag,
                row[QUEUE_OFFSET] + number,
                row[PHYSICAL_OFFSET],
                row[SYS_FLAG] & ~(WRAPPED | SysFlag.COMPRESSED),
                row[BORN_TIMESTAMP],
                row[BORN_HOST],
                row[STORE_TIMESTAMP],
                row[STORE_HOST],
                row[RECONSUME_TIMES],
                row[PREPARED],
                item.body,
                item.properties,
            )
            for number, item in enumerate(split_batch(body))
        ]
    return outline(b"".join(parts))


def to_batch(
    rows: Rows, names: Sequence[str], broker_name: str | None, tags: frozenset[str] = frozenset()
) -> pa.RecordBatch:
    """The columns `names` of the records; without those that have none of the tags, if any are given."""
    made = rows.columns(broker_name, "properties" in names)
    batch = pa.RecordBatch.from_arrays(
        [made.column(name) for name in names], schema=arrow_schema(names)
    )
    if not tags:
        return batch
    # The broker compares hashes of tags; tags that merely share a hash are dropped here.
    return batch.filter(pc.is_in(made.column("tags"), value_set=pa.array(sorted(tags))))
