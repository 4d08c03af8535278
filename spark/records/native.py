"""The same columns from packed rows: Arrow's buffers as `codec/native/_columns.c` makes them.

What C leaves to its twin, `trimq.spark.records.columns` does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa

from trimq.codec.flags import SysFlag
from trimq.codec.native import _columns
from trimq.codec.records.addresses import unpack_host
from trimq.spark.records.columns import CALENDAR, HOSTS, NUMBERS, TIMES, Columns, as_text
from trimq.spark.records.rows import STORE_HOST
from trimq.spark.schema import COLUMNS

if TYPE_CHECKING:
    from trimq.spark.records.scan_native import NativeRows

_ANY: Final = (-(1 << 63), (1 << 63) - 1)


class PackedColumns(Columns):
    """The columns of packed rows."""

    _rows: NativeRows

    def _number(self, name: str) -> pa.Array:
        kind = COLUMNS[name][1]
        size = kind.bit_width // 8
        data = _columns.numbers(self._rows.packed, NUMBERS[name], size, 1, *_ANY)
        return super()._number(name) if data is None else self._plain(kind, data)

    def _time(self, name: str) -> pa.Array:
        data = _columns.numbers(self._rows.packed, TIMES[name], 8, 1000, *CALENDAR)
        return super()._time(name) if data is None else self._plain(COLUMNS[name][1], data)

    def _plain(self, kind: pa.DataType, data: bytes) -> pa.Array:
        return pa.Array.from_buffers(kind, self._count, [None, pa.py_buffer(data)])

    def _host(self, name: str) -> pa.Array:
        found = _columns.hosts(self._rows.packed, self._buffer, HOSTS[name] == STORE_HOST)
        if found is None:
            return super()._host(name)
        numbers, hosts = found
        texts = pa.array([unpack_host(host) for host in hosts], pa.string())
        return texts.take(self._plain(pa.int32(), numbers))

    def _topics(self) -> pa.Array:
        found = _columns.cut(self._rows.packed, self._buffer, False)
        return super()._topics() if found is None else _texts(self._count, *found)

    def _bodies(self) -> pa.Array:
        if self._rows.flagged(SysFlag.COMPRESSED):
            return super()._bodies()
        found = _columns.cut(self._rows.packed, self._buffer, True)
        if found is None:
            return super()._bodies()
        return _binary(self._count, *found[:2])

    def _message_ids(self) -> pa.Array:
        found = _columns.offset_ids(self._rows.packed, self._buffer)
        return super()._message_ids() if found is None else _texts(self._count, *found, True)

    def _values_of(self, key: str) -> pa.Array:
        found = _columns.property(self._rows.packed, self._buffer, key.encode())
        if found is None:
            return super()._values_of(key)
        bitmap, absent, offsets, data, ascii_only = found
        if absent == self._count:
            return pa.nulls(self._count, pa.string())
        return _texts(self._count, offsets, data, ascii_only, bitmap if absent else None, absent)

    def _maps(self) -> pa.Array:
        found = _columns.properties(self._rows.packed, self._buffer)
        if found is None:
            return super()._maps()
        firsts, key_offsets, keys, value_offsets, values, ascii_only = found
        count = len(key_offsets) // 4 - 1
        try:
            names = _binary(count, key_offsets, keys).cast(pa.string())
        except pa.ArrowInvalid:
            # If bytes are not text, two different names may be read as the same one.
            return super()._maps()
        texts = _texts(count, value_offsets, values, ascii_only)
        return pa.MapArray.from_arrays(self._plain_offsets(firsts), names, texts)

    def _plain_offsets(self, data: bytes) -> pa.Array:
        return pa.Array.from_buffers(pa.int32(), self._count + 1, [None, pa.py_buffer(data)])


def _binary(
    count: int, offsets: bytes, data: bytes, bitmap: bytes | None = None, absent: int = 0
) -> pa.Array:
    return pa.Array.from_buffers(pa.binary(), count, _buffers(offsets, data, bitmap), absent)


def _texts(
    count: int,
    offsets: bytes,
    data: bytes,
    ascii_only: bool,
    bitmap: bytes | None = None,
    absent: int = 0,
) -> pa.Array:
    if not ascii_only:
        return as_text(_binary(count, offsets, data, bitmap, absent))
    return pa.Array.from_buffers(pa.string(), count, _buffers(offsets, data, bitmap), absent)


def _buffers(offsets: bytes, data: bytes, bitmap: bytes | None) -> list[pa.Buffer | None]:
    valid = None if bitmap is None else pa.py_buffer(bitmap)
    return [valid, pa.py_buffer(offsets), pa.py_buffer(data)]
