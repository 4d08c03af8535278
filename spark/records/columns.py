"""The columns of some records, built on request; numbers and texts of many at once.

Texts are cut out of the buffer by their positions, and the properties of all messages are split in
one go; if any are unusual, message by message by `codec.properties`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate, chain
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from trimq.codec.flags import SysFlag
from trimq.codec.records.addresses import unpack_host
from trimq.codec.records.compression import unpack_body
from trimq.codec.records.properties import find_property, parse_properties
from trimq.spark.records.rows import (
    BODY_AT,
    BODY_LENGTH,
    BORN_HOST,
    BORN_TIMESTAMP,
    PHYSICAL_OFFSET,
    PROPERTIES_AT,
    QUEUE_ID,
    QUEUE_OFFSET,
    RECONSUME_TIMES,
    STOP,
    STORE_HOST,
    STORE_TIMESTAMP,
    SYS_FLAG,
    TOPIC_AT,
    Rows,
)
from trimq.spark.schema import COLUMNS

# Milliseconds from 0001-01-04 up to 9999-12-31, UTC: a client may have put anything there (microseconds, say), and
# Python has no time outside the years 1 to 9999. The days at either end are for time zones.
CALENDAR: Final = (-62_135_337_600_000, 253_402_214_400_000)
_FROM_PROPERTIES: Final = {"uniqKey": "UNIQ_KEY", "keys": "KEYS", "tags": "TAGS"}
_NEED_PROPERTIES: Final = frozenset({*_FROM_PROPERTIES, "properties", "deliveryTimestamp"})
NUMBERS: Final = {
    "queueId": QUEUE_ID,
    "queueOffset": QUEUE_OFFSET,
    "commitLogOffset": PHYSICAL_OFFSET,
    "reconsumeTimes": RECONSUME_TIMES,
    "sysFlag": SYS_FLAG,
}
TIMES: Final = {"bornTimestamp": BORN_TIMESTAMP, "storeTimestamp": STORE_TIMESTAMP}
HOSTS: Final = {"bornHost": BORN_HOST, "storeHost": STORE_HOST}


class Columns:
    """The columns of some records, built on request."""

    def __init__(self, rows: Rows, broker_name: str | None, all_properties: bool) -> None:
        # Taking all properties apart costs more than looking for a few.
        self._all_properties = all_properties
        self._rows = rows
        self._buffer = rows.buffer
        self._count = len(rows)
        self._broker_name = broker_name
        self._split: _Properties | None = None

    def column(self, name: str) -> pa.Array:
        if name in _NEED_PROPERTIES:
            return self._of_properties(name)
        if name in NUMBERS:
            return self._number(name)
        if name in TIMES:
            return self._time(name)
        if name in HOSTS:
            return self._host(name)
        if name == "topic":
            return self._topics()
        if name == "brokerName":
            return pa.repeat(pa.scalar(self._broker_name, pa.string()), self._count)
        if name == "body":
            return self._bodies()
        return self._message_ids()

    @cached_property
    def _fields(self) -> list[Sequence[Any]]:
        return self._rows.fields()

    def _number(self, name: str) -> pa.Array:
        return pa.array(self._fields[NUMBERS[name]], COLUMNS[name][1])

    def _time(self, name: str) -> pa.Array:
        return _times(pa.array(self._fields[TIMES[name]], pa.int64()))

    def _host(self, name: str) -> pa.Array:
        packed = self._fields[HOSTS[name]]
        texts = {host: unpack_host(host) for host in set(packed)}
        return pa.array([texts[host] for host in packed], pa.string())

    def _topics(self) -> pa.Array:
        fields = self._fields
        return as_text(self._slices(fields[TOPIC_AT], [at - 2 for at in fields[PROPERTIES_AT]]))

    def _slices(self, starts: Sequence[int], ends: Sequence[int]) -> pa.Array:
        """The bytes from each start to its end; starts and ends are in order in the buffer."""
        count = len(starts)
        if not count:
            return pa.array([], pa.binary())
        # An array of the pieces and of what is between them needs no copy of its own.
        offsets = pa.array(list(chain.from_iterable(zip(starts, ends, strict=True))), pa.int32())
        pieces = pa.Array.from_buffers(
            pa.binary(), 2 * count - 1, [None, offsets.buffers()[1], pa.py_buffer(self._buffer)]
        )
        return pieces.take(_every_second(count, 0))

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
            return self._maps()
        if name == "deliveryTimestamp":
            # When it is to be delivered, or, on a delivered message, when it was to be.
            return pc.coalesce(
                _times(_longs(self._values_of("TIMER_DELIVER_MS"))),
                _times(_longs(self._values_of("TIMER_OUT_MS"))),
            )
        return self._values_of(_FROM_PROPERTIES[name])

    def _parsed(self) -> _Properties:
        if self._split is None:
            places = self._fields[PROPERTIES_AT], self._fields[STOP]
            self._split = _Properties(self._buffer, *places)
        return self._split

    def _maps(self) -> pa.Array:
        return self._parsed().maps()

    def _values_of(self, key: str) -> pa.Array:
        """One property of every message; null if it is missing."""
        if self._all_properties:
            return self._parsed().values_of(key)
        buffer, wanted = self._buffer, key.encode()
        places = zip(self._fields[PROPERTIES_AT], self._fields[STOP], strict=True)
        found = [find_property(buffer[start:end], wanted) for start, end in places]
        return as_text(pa.array(found, pa.binary()))


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
        """One property of every message; null if it is missing."""
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
    """All blocks in one go; None if one is not just `key 0x01 value 0x02` repeated, each key once."""
    blocks = [buffer[start:end] for start, end in zip(starts, ends, strict=True)]
    whole = b"".join(blocks)
    counts = [block.count(2) for block in blocks]
    total = sum(counts)
    if whole.translate(None, _OTHERS) != _SEPARATORS * total:
        return None
    # If a block ended elsewhere, the next one's first key would begin in it.
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


def as_text(data: pa.Array) -> pa.Array:
    """UTF-8; other bytes are replaced by marks."""
    try:
        return data.cast(pa.string())
    except pa.ArrowInvalid:
        texts = [
            None if one is None else one.decode("utf-8", "replace") for one in data.to_pylist()
        ]
        return pa.array(texts, pa.string())


def _times(millis: pa.Array) -> pa.Array:
    """Times from milliseconds; null if they are not in the years 1 to 9999."""
    bounds = pc.min_max(millis).as_py()
    first, last = CALENDAR
    if bounds["min"] is not None and not first <= bounds["min"] <= bounds["max"] <= last:
        sound = pc.and_(pc.greater_equal(millis, first), pc.less_equal(millis, last))
        millis = pc.if_else(sound, millis, pa.scalar(None, pa.int64()))
    return pc.multiply(millis, 1000).cast(pa.timestamp("us", tz="UTC"))


def _longs(texts: pa.Array) -> pa.Array:
    """Numbers from decimal texts; null if a text is not one."""
    digits = pc.match_substring_regex(texts, r"^[0-9]{1,18}$")
    return pc.if_else(digits, texts, pa.scalar(None, pa.string())).cast(pa.int64())
