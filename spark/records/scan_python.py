"""Rows as tuples, found in Python; `scan_native` is the twin, if C was built."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from trimq.codec.java.hashes import crc32_31
from trimq.codec.records.record import outline_records
from trimq.spark.records.columns import Columns
from trimq.spark.records.rows import (
    BODY_AT,
    BODY_LENGTH,
    CRC,
    PROPERTIES_AT,
    QUEUE_ID,
    STOP,
    STORE_TIMESTAMP,
    SYS_FLAG,
    TOPIC_AT,
    QueueIds,
    Row,
    Rows,
    Topics,
)


def find_rows(buffer: bytes, at: int, end: int, base: int) -> tuple[Rows, int]:
    """The records from `at` on, and where the last one ended; see `outline_records`."""
    listed: list[Row] = []
    stopped = outline_records(buffer, at, end, base, listed)
    return PythonRows(buffer, listed), stopped


class PythonRows(Rows):
    """Rows as tuples."""

    __slots__ = ("_listed", "buffer")

    def __init__(self, buffer: bytes, listed: Sequence[Row]) -> None:
        self.buffer = buffer
        self._listed = listed

    def __len__(self) -> int:
        return len(self._listed)

    def __iter__(self) -> Iterator[Row]:
        return iter(self._listed)

    def flagged(self, flags: int) -> bool:
        return any(row[SYS_FLAG] & flags == flags for row in self._listed)

    def numbers(self, field: int) -> list[int]:
        return [row[field] for row in self._listed]

    def take(self, spans: Sequence[tuple[int, int]]) -> Rows:
        listed = self._listed
        return PythonRows(self.buffer, [row for at, end in spans for row in listed[at:end]])

    def select(self, start: int, end: int, topics: Topics, queue_ids: QueueIds) -> Rows:
        buffer = self.buffer
        return self._those(
            lambda row: (
                start <= row[STORE_TIMESTAMP] < end
                and (queue_ids is None or row[QUEUE_ID] in queue_ids)
                and (topics is None or buffer[row[TOPIC_AT] : row[PROPERTIES_AT] - 2] in topics)
            )
        )

    def sound(self, unsure: int) -> Rows:
        return self._those(lambda row: row[STORE_TIMESTAMP] < unsure or _whole(self.buffer, row))

    def columns(self, broker_name: str | None, all_properties: bool) -> Columns:
        return Columns(self, broker_name, all_properties)

    def _those(self, wanted: Callable[[Row], bool]) -> Rows:
        return PythonRows(self.buffer, [row for row in self._listed if wanted(row)])


def _whole(buffer: bytes, row: Row) -> bool:
    """Whether no part of the record can be the zeros that a torn write leaves."""
    body = memoryview(buffer)[row[BODY_AT] : row[BODY_AT] + row[BODY_LENGTH]]
    if len(body) and crc32_31(body) != row[CRC]:
        return False
    if 0 in buffer[row[TOPIC_AT] : row[PROPERTIES_AT] - 2]:
        return False
    stop: int = row[STOP]
    return bool(row[PROPERTIES_AT] == stop) or buffer[stop - 1] != 0
