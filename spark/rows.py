"""Which records lie in a buffer, and where everything lies in each of them.

`codec.record.outline_records` finds them and says it in tuples; in a compiled build `codec/_records.c`
finds them and keeps it packed, so that nothing is made per message. Both are `Rows`, with the same outcome.
"""

from __future__ import annotations

import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from struct import Struct
from typing import Any, Final

from trimq.codec import kernel
from trimq.codec.flags import SysFlag
from trimq.codec.record import outline_records

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
FIELDS: Final = 19
_CRC: Final = 2

WRAPPED: Final = int(SysFlag.INNER_BATCH | SysFlag.NEED_UNWRAP)
_PACKED: Final = Struct(f"={FIELDS}q")


class Rows(ABC):
    """Some records of a buffer. Iterating gives tuples, which costs more than all else does."""

    buffer: bytes

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def __iter__(self) -> Iterator[Row]: ...

    @abstractmethod
    def flagged(self, flags: int) -> bool:
        """Whether a record has all of these flags in its sysFlag."""

    @abstractmethod
    def numbers(self, field: int) -> list[int]:
        """One field of all of them, which is a number."""

    @abstractmethod
    def take(self, spans: Sequence[tuple[int, int]]) -> Rows:
        """Those whose places among these are from the first on and before the second of a span."""

    @abstractmethod
    def select(
        self,
        start: int,
        end: int,
        topics: frozenset[bytes] | None,
        queue_ids: frozenset[int] | None,
    ) -> Rows:
        """Those stored from `start` on and before `end`, of these topics and queues; None: of any."""

    @abstractmethod
    def sound(self, unsure: int) -> Rows:
        """Without those stored at `unsure` or later that a crash has left in part."""

    def fields(self) -> list[Sequence[Any]]:
        """The rows by field."""
        return list(zip(*self, strict=True)) if len(self) else [()] * FIELDS


class ListedRows(Rows):
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
        return ListedRows(self.buffer, [row for at, end in spans for row in listed[at:end]])

    def select(
        self,
        start: int,
        end: int,
        topics: frozenset[bytes] | None,
        queue_ids: frozenset[int] | None,
    ) -> Rows:
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

    def _those(self, wanted: Callable[[Row], bool]) -> Rows:
        return ListedRows(self.buffer, [row for row in self._listed if wanted(row)])


def _whole(buffer: bytes, row: Row) -> bool:
    """Whether nothing of the record can be the zeros that a torn write leaves."""
    body = memoryview(buffer)[row[BODY_AT] : row[BODY_AT] + row[BODY_LENGTH]]
    if len(body) and zlib.crc32(body) & 0x7FFFFFFF != row[_CRC]:
        return False
    if 0 in buffer[row[TOPIC_AT] : row[PROPERTIES_AT] - 2]:
        return False
    stop: int = row[STOP]
    return bool(row[PROPERTIES_AT] == stop) or buffer[stop - 1] != 0


class PackedRows(Rows):
    """Rows as `codec/_records.c` has them."""

    __slots__ = ("buffer", "packed")

    def __init__(self, buffer: bytes, packed: bytes) -> None:
        self.buffer = buffer
        self.packed = packed

    def __len__(self) -> int:
        return len(self.packed) // _PACKED.size

    def __iter__(self) -> Iterator[Row]:
        buffer = self.buffer
        for row in _PACKED.iter_unpack(self.packed):
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
        return kernel.records.flagged(self.packed, flags)

    def numbers(self, field: int) -> list[int]:
        return memoryview(self.packed).cast("q")[field::FIELDS].tolist()

    def take(self, spans: Sequence[tuple[int, int]]) -> Rows:
        packed, size = self.packed, _PACKED.size
        return PackedRows(
            self.buffer, b"".join(packed[at * size : end * size] for at, end in spans)
        )

    def select(
        self,
        start: int,
        end: int,
        topics: frozenset[bytes] | None,
        queue_ids: frozenset[int] | None,
    ) -> Rows:
        packed = kernel.records.select(self.packed, self.buffer, start, end, topics, queue_ids)
        return PackedRows(self.buffer, packed)

    def sound(self, unsure: int) -> Rows:
        return PackedRows(self.buffer, kernel.records.sound(self.packed, self.buffer, unsure))


def find_rows(buffer: bytes, at: int, end: int, base: int) -> tuple[Rows, int]:
    """The records from `at` on, and where the last one ended; see `outline_records`."""
    if kernel.IN_C:
        packed, stopped = kernel.records.outline(buffer, at, end, base)
        return PackedRows(buffer, packed), stopped
    listed: list[Row] = []
    stopped = outline_records(buffer, at, end, base, listed)
    return ListedRows(buffer, listed), stopped
