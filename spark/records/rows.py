"""Which records are in a buffer, and where everything is in each of them.

In a compiled build C finds them and keeps the rows packed, so that no object is made per message
(`scan_native`); otherwise they are tuples (`scan_python`). Both are `Rows`, with the same outcome, and
`scan` has the available one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from trimq.codec.flags import SysFlag

if TYPE_CHECKING:
    from trimq.spark.records.columns import Columns

Row = tuple[Any, ...]
# What is asked for; None: of any.
Topics = frozenset[bytes] | None
QueueIds = frozenset[int] | None

# What is where in a row of `outline_records`.
CRC: Final = 2
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

WRAPPED: Final = int(SysFlag.INNER_BATCH | SysFlag.NEED_UNWRAP)


class Rows(ABC):
    """Some records of a buffer. Iterating gives tuples, which costs more than everything else."""

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
        """Those whose positions are within a span, its end not included."""

    @abstractmethod
    def select(self, start: int, end: int, topics: Topics, queue_ids: QueueIds) -> Rows:
        """Those stored from `start` on and before `end`, of these topics and queues."""

    @abstractmethod
    def sound(self, unsure: int) -> Rows:
        """Without those stored at or after `unsure` that a crash has left incomplete."""

    @abstractmethod
    def columns(self, broker_name: str | None, all_properties: bool) -> Columns:
        """Their columns, built on request."""

    def fields(self) -> list[Sequence[Any]]:
        """The rows by field."""
        return list(zip(*self, strict=True)) if len(self) else [()] * FIELDS
