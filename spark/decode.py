"""Records to Arrow columns, many at once: nothing is done per message that Arrow can do per batch.

`codec.record.outline_records` says what lies where; numbers become columns from those rows, texts
are cut out of the buffer by their places, and the properties of all messages are split at once; where any
are out of the ordinary, message by message by `codec.properties`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, chain
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from trimq.codec.addresses import unpack_host
from trimq.codec.batch import split_batch
from trimq.codec.compression import unpack_body
from trimq.codec.errors import CodecError
from trimq.codec.flags import SysFlag
from trimq.codec.properties import find_property, parse_properties
from trimq.codec.record import encode_record, outline_records
from trimq.spark.schema import COLUMNS, arrow_schema

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
    made = _Columns(buffer, rows, broker_name, "properties" in names)
    batch = pa.RecordBatch.from_arrays(
        [made.column(name) for name in names], schema=arrow_schema(names)
    )
    if not tags:
        return batch
    # The broker compares hashes of tags; what only looks alike is sorted out here.
    return batch.filter(pc.is_in(made.column("tags"), value_set=pa.array(sorted(tags))))


class _Columns:
    """The columns of some records, made when asked for."""

    def __init__(
        self, buffer: bytes, rows: Sequence[Row], broker_name: str | None, all_properties: bool
    ) -> None:
        # Taking all properties apart costs more than looking for a few.
        self._all_properties = all_properties
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
        if name == "properties":
            return self._parsed().maps()
        if name == "deliveryTimestamp":
            # When it shall be delivered, and on a delivered message when that was to be.
            return pc.coalesce(
                _times(_longs(self._values_of("TIMER_DELIVER_MS"))),
                _times(_longs(self._values_of("TIMER_OUT_MS"))),
            )
        return self._values_of(_FROM_PROPERTIES[name])

    def _parsed(self) -> _Properties:
        if self._properties is None:
            places = self._fields[PROPERTIES_AT], self._fields[STOP]
            self._properties = _Properties(self._buffer, *places)
        return self._properties

    def _values_of(self, key: str) -> pa.Array:
        """One property of every message; null where it is not there."""
        if self._all_properties:
            return self._parsed().values_of(key)
        buffer, wanted = self._buffer, key.encode()
        places = zip(self._fields[PROPERTIES_AT], self._fields[STOP], strict=True)
        found = [find_property(buffer[start:end], wanted) for start, end in places]
        return _text(pa.array(found, pa.binary()))


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
    """Properties of many messages, taken apart: one row per entry, in order."""

    def __init__(self, buffer: bytes, starts: Sequence[int], ends: Sequence[int]) -> None:
        self._count = len(starts)
        found = _plain_entries(buffer, starts, ends)
        if found is None:
            found = _any_entries(buffer, starts, ends)
        keys, values, counts = found
        self._keys = pa.array(keys, pa.string())
        self._values = pa.array(values, pa.string())
        self._offsets = pa.array(list(accumulate(counts, initial=0)), pa.int32())
        self._parents = pc.list_parent_indices(pa.ListArray.from_arrays(self._offsets, self._keys))

    def values_of(self, key: str) -> pa.Array:
        """One property of every message; null where it is not there."""
        hits = pc.equal(self._keys, key)
        values = self._values.filter(hits)
        if len(values) == self._count:
            return values
        owners = self._parents.filter(hits)
        return values.take(pc.index_in(_numbers(self._count), value_set=owners))

    def maps(self) -> pa.Array:
        return pa.MapArray.from_arrays(self._offsets, self._keys, self._values)


# Keys, values, and how many entries each message has.
Entries = tuple[list[str], list[str], list[int]]
_SEPARATORS: Final = b"\x01\x02"
_OTHERS: Final = bytes(byte for byte in range(256) if byte not in _SEPARATORS)


def _plain_entries(buffer: bytes, starts: Sequence[int], ends: Sequence[int]) -> Entries | None:
    """All blocks in one go; None where one is not just `key 0x01 value 0x02` repeated, each key once."""
    blocks = [buffer[start:end] for start, end in zip(starts, ends, strict=True)]
    whole = b"".join(blocks)
    counts = [block.count(2) for block in blocks]
    total = sum(counts)
    if whole.translate(None, _OTHERS) != _SEPARATORS * total:
        return None
    # Of a block that ends elsewhere the next one's first key would begin in it.
    if not all(block.endswith(b"\x02") for block in blocks if block):
        return None
    try:
        pieces = whole.decode().replace("\x01", "\x02").split("\x02")
    except UnicodeDecodeError:
        return None
    keys, values = pieces[:-1:2], pieces[1::2]
    if "" in keys or "" in values or not _differ(keys, counts):
        return None
    return keys, values, counts


def _differ(keys: list[str], counts: list[int]) -> bool:
    """Whether no message has a key twice; most have the same keys as others."""
    seen: set[tuple[str, ...]] = set()
    at = 0
    for count in counts:
        those = tuple(keys[at : at + count])
        at += count
        if those not in seen:
            if len(set(those)) < count:
                return False
            seen.add(those)
    return True


def _any_entries(buffer: bytes, starts: Sequence[int], ends: Sequence[int]) -> Entries:
    """Message by message, with all the rules of `codec.properties`."""
    maps = [parse_properties(buffer[at:end]) for at, end in zip(starts, ends, strict=True)]
    keys = [key for one in maps for key in one]
    values = [value for one in maps for value in one.values()]
    return keys, values, [len(one) for one in maps]


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
        texts = [
            None if one is None else one.decode("utf-8", "replace") for one in data.to_pylist()
        ]
        return pa.array(texts, pa.string())


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
