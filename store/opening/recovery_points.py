"""How far back in the commit log a start has to read: for whom, why, and how much that is.

Whoever derives something from the log, and writes it down now and then, declares a `RecoveryPoint` here: from which
byte on he would need the log if the process were killed now. The store's recovery asks where to begin, the broker
says at its start what was read again and because of whom, and `trimq check` says it of a store at rest.

One bound holds for all of them (`recoveryBytes`). They are looked at while the log grows; who is further behind is
told to write down what he has at once, not at his next interval. So a start reads, for each of them, the bound at
most, the bytes until the next look, and what came while he was writing.

Not what is read does a start good, but how long that takes: a record that is looked up in its queue and decoded
takes four times as long as one that the log is scanned for. So it counts four times.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Final, NamedTuple

CONSUME_QUEUES: Final = "consume queues"
MESSAGE_INDEX: Final = "message index"
# Looks at one who is near the bound, or behind it, in the time in which as much is written as it allows.
LOOKS: Final = 8
_LOOKED_UP: Final = 4


class Unit(Enum):
    """What is read from a position on, and when."""

    RECOVERY = "the log, when the store opens"
    LOG = "the log once more"
    QUEUES = "records of some queues"
    LATER = "records of some queues, once the broker serves"

    @property
    def weight(self) -> int:
        """How many bytes of a scan take as long as one of these."""
        return _LOOKED_UP if self is Unit.QUEUES else 1


def nothing() -> None:
    """Until a service says how it is told to hurry."""


class Reread(NamedTuple):
    """What a start has read because of one of them."""

    position: int
    size: int
    seconds: float


@dataclass(slots=True)
class RecoveryPoint:
    """`position`: the first byte of the log that he would need, its end if he needs none. It may be costly to find."""

    name: str
    why: str
    unit: Unit
    position: Callable[[], int]
    # Bytes of his records from there on, where they are not most of the log.
    owed: Callable[[], int] | None = None
    # He is to write down what he has, now.
    hurry: Callable[[], object] = nothing
    reread: Reread | None = None

    def has_read(self, position: int, size: int, seconds: float) -> None:
        """A start has read that many bytes because of him, from there on."""
        self.reread = Reread(position, size, seconds)


class Debt(NamedTuple):
    """What a start would read now because of one of them."""

    point: RecoveryPoint
    position: int
    size: int

    @property
    def cost(self) -> int:
        """In bytes of a scan."""
        return self.size * self.point.unit.weight


class RecoveryPoints:
    """`log_end` and `bound` are asked each time."""

    def __init__(self, log_end: Callable[[], int], bound: Callable[[], int]) -> None:
        self._log_end = log_end
        self._bound = bound
        self._points: dict[str, RecoveryPoint] = {}
        # Between these ends of the log nobody is looked at, and who is looked at next at which end.
        self._looked_at = 0
        self._look_at = 0
        self._looks: dict[str, int] = {}

    def declare(self, point: RecoveryPoint) -> None:
        if point.name in self._points:
            raise ValueError(f"two recovery points are called {point.name!r}: rename one of them")
        self._points[point.name] = point

    def __iter__(self) -> Iterator[RecoveryPoint]:
        return iter(self._points.values())

    # --- asking

    def begin(self) -> int:
        """Where the store's recovery has to begin."""
        found = (point.position() for point in self if point.unit is Unit.RECOVERY)
        return min(found, default=self._log_end())

    def debt(self, point: RecoveryPoint) -> Debt:
        end = self._log_end()
        position = min(point.position(), end)
        size = end - position
        return Debt(point, position, size if point.owed is None else min(size, point.owed()))

    def debts(self) -> list[Debt]:
        """Those that cost most first."""
        return sorted(map(self.debt, self), key=lambda debt: debt.cost, reverse=True)

    # --- keeping to the bound

    def written(self) -> None:
        """A write listener of the store. Cheap, but for one write in many: nobody is looked at before enough has come
        for him to be behind the bound.
        """
        end = self._log_end()
        if self._looked_at <= end < self._look_at:
            return
        if end < self._looked_at:
            # The log was cut.
            self._looks.clear()
        bound = self._bound()
        for name, point in self._points.items():
            if end >= self._looks.get(name, 0):
                left = bound - self.debt(point).cost
                self._looks[name] = end + max(left, bound // LOOKS) // point.unit.weight + 1
                if left < 0:
                    point.hurry()
        self._looked_at, self._look_at = end, min(self._looks.values(), default=end + bound)

    # --- what the start did

    @property
    def rereads(self) -> list[tuple[str, Reread]]:
        """Whose it was, and what; those that cost most first."""
        read = [(point, point.reread) for point in self if point.reread is not None]
        read.sort(key=lambda one: one[0].unit.weight * one[1].size, reverse=True)
        return [(point.name, reread) for point, reread in read]
