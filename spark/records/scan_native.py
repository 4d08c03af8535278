"""Rows as C has them, found in C; `scan_python` is the twin. ImportError if C was not built."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trimq.codec.flags import SysFlag
from trimq.codec.native import _rows
from trimq.spark.records.columns import Columns
from trimq.spark.records.native import PackedColumns
from trimq.spark.records.rows import (
    BORN_HOST,
    FIELDS,
    STORE_HOST,
    STORE_TIMESTAMP,
    SYS_FLAG,
    QueueIds,
    Row,
    Rows,
    Topics,
)

_ROW_SIZE = 8 * FIELDS


def find_rows(buffer: bytes, at: int, end: int, base: int) -> tuple[Rows, int]:
    """The records from `at` on, and where the last one ended; see `outline_records`."""
    packed, stopped = _rows.outline(buffer, at, end, base)
    return NativeRows(buffer, packed), stopped


class NativeRows(Rows):
    """Rows as `codec/native/_rows.c` makes them: FIELDS machine words each."""

    __slots__ = ("buffer", "packed")

    def __init__(self, buffer: bytes, packed: bytes) -> None:
        self.buffer = buffer
        self.packed = packed

    def __len__(self) -> int:
        return len(self.packed) // _ROW_SIZE

    def __iter__(self) -> Iterator[Row]:
        buffer = self.buffer
        words = memoryview(self.packed).cast("q").tolist()
        for at in range(0, len(words), FIELDS):
            row = words[at : at + FIELDS]
            born, stored = row[BORN_HOST], row[STORE_HOST]
            flags = row[SYS_FLAG]
            yield (
                *row[:BORN_HOST],
                buffer[born : born + (20 if flags & SysFlag.BORN_HOST_V6 else 8)],
                row[STORE_TIMESTAMP],
                buffer[stored : stored + (20 if flags & SysFlag.STORE_HOST_V6 else 8)],
                *row[STORE_HOST + 1 :],
            )

    def flagged(self, flags: int) -> bool:
        return _rows.flagged(self.packed, flags)

    def numbers(self, field: int) -> list[int]:
        return memoryview(self.packed).cast("q")[field::FIELDS].tolist()

    def take(self, spans: Sequence[tuple[int, int]]) -> Rows:
        packed, size = self.packed, _ROW_SIZE
        return NativeRows(
            self.buffer, b"".join(packed[at * size : end * size] for at, end in spans)
        )

    def select(self, start: int, end: int, topics: Topics, queue_ids: QueueIds) -> Rows:
        packed = _rows.select(self.packed, self.buffer, start, end, topics, queue_ids)
        return NativeRows(self.buffer, packed)

    def sound(self, unsure: int) -> Rows:
        return NativeRows(self.buffer, _rows.sound(self.packed, self.buffer, unsure))

    def columns(self, broker_name: str | None, all_properties: bool) -> Columns:
        return PackedColumns(self, broker_name, all_properties)
