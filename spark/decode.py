"""Records to Arrow columns, many at once: nothing is done per message that Arrow can do per batch.

`codec.record.outline_records` says what lies where; numbers become columns from those rows, texts
are cut out of the buffer by their places, and properties are taken apart by Arrow's own functions with
the rules of `codec.properties`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from codec.addresses import unpack_host
from codec.batch import split_batch
from codec.compression import unpack_body
from codec.errors import CodecError
from codec.flags import SysFlag
from codec.record import encode_record, outline_records
from spark.schema import COLUMNS, arrow_schema

Row = tuple[Any, ...]

# What is where in a row of `outline_records`.
QUEUE_ID: Final = 3
FLAG: Final = 4
QUEUE_OFFSET: Final = 5
PHYSICAL_OFFSET: Final = 6
SYS_FLAG: Final = 7
BORN_TIMESTAMP: Final = 8
BORN_HOST: Final = 9
STORE_TIMESTAMP: Final = 10
STORE_HOST: Final = 11
RECONSUME_TIMES: Final = 12
PREPARED: Final = 13
BODY_LENGTH: Final = 14
BODY_AT: Final = 15
TOPIC_AT: Final = 16
PROPERTIES_AT: Final = 17
STOP: Final = 18

WRAPPED: Final = int(SysFlag.INNER_BATCH | SysFlag.NEED_UNWRAP)
# Milliseconds whose microseconds no longer fit 64 bits: a client may have put anything there.
_LATEST: Final = (1 << 63) // 1000 - 1
_FROM_PROPERTIES: Final = {"uniqKey": "UNIQ_KEY", "keys": "KEYS", "tags": "TAGS"}
_NEED_PROPERTIES: Final = frozenset({*_FROM_PROPERTIES, "properties", "deliveryTimestamp"})


def outline(buffer: bytes) -> list[Row]:
    """The rows of a pull's answer; CodecError when it is not records from end to end."""
    rows: list[Row] = []
    at = outline_records(buffer, 0, len(buffer), -1, rows)
    if at != len(buffer):
        raise CodecError(f"an answer of {len(buffer)} bytes holds no record at byte {at}")
    return rows


def is_wrapped(row: Row) -> bool:
    """Whether the record holds several messages."""
    return bool(row[SYS_FLAG] & WRAPPED == WRAPPED)


def unwrap(buffer: bytes, rows: Sequence[Row]) -> tuple[bytes, list[Row]]:
    """The same with every message of a batch record as a record of its own.

    Each keeps its record's fields, with its own flag, body and properties and the next queue offset
    (MessageDecoder.decodeMessage of inner messages).
    """
    parts: list[bytes] = []
    for row in rows:
        if not is_wrapped(row):
            parts.append(buffer[row[STOP] - row[0] : row[STOP]])
            continue
        body = buffer[row[BODY_AT] : row[BODY_AT] + row[BODY_LENGTH]]
        parts += [
            encode_record(
                buffer[row[TOPIC_AT] : row[PROPERTIES_AT] - 2],
                row[QUEUE_ID],
                item.flag,
                row[QUEUE_OFFSET] + number,
                row[PHYSICAL_OFFSET],
                row[SYS_FLAG] & ~WRAPPED,
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
    unwrapped = b"".join(parts)
    return unwrapped, outline(unwrapped)


def to_batch(
    buffer: bytes,
    rows: Sequence[Row],
    names: Sequence[str],
    broker_name: str | None,
    tags: frozenset[str] = frozenset(),
) -> pa.RecordBatch:
    """The columns `names` of the records; without those that have none of the tags, if any are given."""
    made = _Columns(buffer, rows, broker_name)
    batch = pa.RecordBatch.from_arrays(
        [made.column(name) for name in names], schema=arrow_schema(names)
    )
    if not tags:
        return batch
    # The broker compares hashes of tags; what only looks alike is sorted out here.
    return batch.filter(pc.is_in(made.column("tags"), value_set=pa.array(sorted(tags))))


class _Columns:
    """The columns of some records, made when asked for."""

    def __init__(self, buffer: bytes, rows: Sequence[Row], broker_name: str | None) -> None:
        self._buffer = buffer
        self._memory = pa.py_buffer(buffer)
        self._count = len(rows)
        self._fields: list[Sequence[Any]] = list(zip(*rows, strict=True)) if rows else [()] * 19
        self._broker_name = broker_name
        self._properties: _Properties | None = None

    def column(self, name: str) -> pa.Array:
        fields = self._fields
        if name in _NEED_PROPERTIES:
            return self._of_properties(name)
        if name in _NUMBERS:
            return pa.array(fields[_NUMBERS[name]], COLUMNS[name][1])
        if name in _TIMES:
            return _times(pa.array(fields[_TIMES[name]], pa.int64()))
        if name in _HOSTS:
            return _hosts(fields[_HOSTS[name]])
        if name == "topic":
            return self._texts(fields[TOPIC_AT], [at - 2 for at in fields[PROPERTIES_AT]])
        if name == "brokerName":
            return pa.repeat(pa.scalar(self._broker_name, pa.string()), self._count)
        if name == "body":
            return self._bodies()
        return self._message_ids()

    def _slices(self, starts: Sequence[int], ends: Sequence[int]) -> pa.Array:
        """The bytes from each start to its end; starts and ends lie in order in the buffer."""
        count = len(starts)
        if not count:
            return pa.array([], pa.binary())
        # An array of the pieces and of what is between them needs no copy of its own.
        offsets = pa.array(list(chain.from_iterable(zip(starts, ends, strict=True))), pa.int32())
        pieces = pa.Array.from_buffers(
            pa.binary(), 2 * count - 1, [None, offsets.buffers()[1], self._memory]
        )
        return pieces.take(_every_second(count, 0))

    def _texts(self, starts: Sequence[int], ends: Sequence[int]) -> pa.Array:
        return _text(self._slices(starts, ends))

    def _bodies(self) -> pa.Array:
        fields = self._fields
        flags = fields[SYS_FLAG]
        starts = fields[BODY_AT]
        ends = [at + length for at, length in zip(starts, fields[BODY_LENGTH], strict=True)]
        if not any(flag & SysFlag.COMPRESSED for flag in flags):
            return self._slices(starts, ends)
        buffer = self._buffer
        return pa.array(
            [
                unpack_body(buffer[start:end], flag)
                for start, end, flag in zip(starts, ends, flags, strict=True)
            ],
            pa.binary(),
        )

    def _message_ids(self) -> pa.Array:
        """See `codec.message_id.offset_message_id`."""
        starts = {host: host.hex().upper() for host in set(self._fields[STORE_HOST])}
        return pa.array(
            [
                f"{starts[host]}{offset:016X}"
                for host, offset in zip(
                    self._fields[STORE_HOST], self._fields[PHYSICAL_OFFSET], strict=True
                )
            ],
            pa.string(),
        )

    def _of_properties(self, name: str) -> pa.Array:
        if self._properties is None:
            blocks = self._slices(self._fields[PROPERTIES_AT], self._fields[STOP])
            self._properties = _Properties(blocks)
        properties = self._properties
        if name == "properties":
            return properties.maps()
        if name == "deliveryTimestamp":
            # When it shall be delivered, and on a delivered message when that was to be.
            return pc.coalesce(
                _times(_longs(properties.values_of("TIMER_DELIVER_MS"))),
                _times(_longs(properties.values_of("TIMER_OUT_MS"))),
            )
        return properties.values_of(_FROM_PROPERTIES[name])


_NUMBERS: Final = {
    "queueId": QUEUE_ID,
    "queueOffset": QUEUE_OFFSET,
    "commitLogOffset": PHYSICAL_OFFSET,
    "reconsumeTimes": RECONSUME_TIMES,
    "sysFlag": SYS_FLAG,
}
_TIMES: Final = {"bornTimestamp": BORN_TIMESTAMP, "storeTimestamp": STORE_TIMESTAMP}
_HOSTS: Final = {"bornHost": BORN_HOST, "storeHost": STORE_HOST}


class _Properties:
    """Blocks of properties, taken apart: one row per entry, in order."""

    def __init__(self, blocks: pa.Array) -> None:
        self._count = len(blocks)
        lists = pc.split_pattern(_text(blocks), "\x02")
        entries = pc.list_flatten(lists)
        parents = pc.list_parent_indices(lists)
        at = pc.find_substring(entries, "\x01")
        # An entry counts only with a separator, a key in front and a value behind it.
        last = pc.subtract(pc.binary_length(entries), 1)
        whole = pc.and_(pc.greater(at, 0), pc.less(at, last))
        entries, self._parents = entries.filter(whole), parents.filter(whole)
        halves = pc.list_flatten(pc.split_pattern(entries, "\x01", max_splits=1))
        self._keys = halves.take(_every_second(len(entries), 0))
        self._values = halves.take(_every_second(len(entries), 1))
        self._use_last_of_a_key()

    def _use_last_of_a_key(self) -> None:
        """Of two entries with one key the later counts; that is rare."""
        keys = self._keys.dictionary_encode()
        number = pc.add(
            pc.multiply(self._parents, len(keys.dictionary) + 1), keys.indices.cast(pa.int64())
        )
        if pc.count_distinct(number).as_py() == len(number):
            return
        found: dict[tuple[int, str], str] = {}
        columns = (self._parents.to_pylist(), self._keys.to_pylist(), self._values.to_pylist())
        for parent, key, value in zip(*columns, strict=True):
            found[parent, key] = value
        self._parents = pa.array([parent for parent, _ in found], pa.int64())
        self._keys = pa.array([key for _, key in found], pa.string())
        self._values = pa.array(list(found.values()), pa.string())

    def values_of(self, key: str) -> pa.Array:
        """One property of every message; null where it is not there."""
        hits = pc.equal(self._keys, key)
        values = self._values.filter(hits)
        if len(values) == self._count:
            return values
        owners = self._parents.filter(hits)
        return values.take(pc.index_in(_numbers(self._count), value_set=owners))

    def maps(self) -> pa.Array:
        counted = pc.value_counts(self._parents)
        place = pc.index_in(_numbers(self._count), value_set=counted.field("values"))
        counts = pc.fill_null(counted.field("counts").take(place), 0)
        ends = pc.cumulative_sum(counts).cast(pa.int32())
        offsets = pa.concat_arrays([pa.array([0], pa.int32()), ends])
        return pa.MapArray.from_arrays(offsets, self._keys, self._values)


def _numbers(count: int) -> pa.Array:
    """0, 1, 2, ..."""
    return pa.array(range(count), pa.int64())


def _every_second(count: int, first: int) -> pa.Array:
    return pa.array(range(first, 2 * count, 2), pa.int32())


def _text(data: pa.Array) -> pa.Array:
    """UTF-8, or where bytes are none, with marks in their place."""
    try:
        return data.cast(pa.string())
    except pa.ArrowInvalid:
        return pa.array([one.decode("utf-8", "replace") for one in data.to_pylist()], pa.string())


def _times(millis: pa.Array) -> pa.Array:
    """Times of milliseconds; null where they are beyond any calendar."""
    bounds = pc.min_max(millis).as_py()
    if bounds["min"] is not None and not -_LATEST <= bounds["min"] <= bounds["max"] <= _LATEST:
        sound = pc.and_(pc.less_equal(millis, _LATEST), pc.greater_equal(millis, -_LATEST))
        millis = pc.if_else(sound, millis, pa.scalar(None, pa.int64()))
    return pc.multiply(millis, 1000).cast(pa.timestamp("us", tz="UTC"))


def _longs(texts: pa.Array) -> pa.Array:
    """Numbers of decimal texts; null where a text is none."""
    digits = pc.match_substring_regex(texts, r"^[0-9]{1,18}$")
    return pc.if_else(digits, texts, pa.scalar(None, pa.string())).cast(pa.int64())


def _hosts(packed: Sequence[bytes]) -> pa.Array:
    texts = {host: unpack_host(host) for host in set(packed)}
    return pa.array([texts[host] for host in packed], pa.string())
