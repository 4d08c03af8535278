"""Checkpoints of one queue of the revive topic that were read and are not settled (PopReviveService.ConsumeReviveObj).

Each is settled at its own time, in whatever order they were read: a clock that was set back makes those that were
read last due first. The position of the queue stays before the first that is not settled.

Memory has a bound. Beyond it, those that are acknowledged are let go, and then those whose time comes last: of them
only their place in the queue is kept. When their time comes, the queue is read again from the first of them on.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import Final

from trimq.codec.bodies.pop import AckMsg, PopCheckPoint

# Of the heap: entries of checkpoints that were noted anew, and of those that were let go.
_STALE: Final = 1000
# Characters of names that count as much as one checkpoint: a client makes up the broker's.
_LONG: Final = 500

Key = tuple[str | None, str | None, int, int, int, str]


@dataclass(slots=True)
class Place:
    """A record of the revive topic: offset in its queue, place in the log, and when it was stored."""

    offset: int
    physical: int
    stored: int


class OpenCheckpoint:
    """A checkpoint that is not settled: which record it is, and what is acknowledged of it."""

    __slots__ = ("acknowledged", "due", "key", "place", "point", "tries", "weight")

    def __init__(self, key: Key, point: PopCheckPoint, place: Place) -> None:
        self.key = key
        self.point = point
        self.place = place
        self.due = point.due
        self.weight = 1 + sum(len(name) for name in key if isinstance(name, str)) // _LONG
        self.acknowledged: frozenset[int] = frozenset()
        # How often it could not be settled.
        self.tries = 0

    def left(self) -> list[int]:
        """The offsets of messages that nobody has acknowledged."""
        return [offset for offset in self.point.open_offsets() if offset not in self.acknowledged]


class OpenCheckpoints:
    """`most`: how many may be open. `next`: the first record of the queue that is to be read."""

    def __init__(self, begin: int, most: int, broker_name: str) -> None:
        """`broker_name`: of notes that name none."""
        self.next = begin
        self._most = most
        self._name = broker_name
        self._open: dict[Key, OpenCheckpoint] = {}
        self._weight = 0
        # Due time, a number that is never the same, checkpoint.
        self._heap: list[tuple[int, int, OpenCheckpoint]] = []
        self._noted = 0
        # Those that were let go before their time: their records, the first of these, and the first time.
        self._gone = array("q")
        self._gone_at = 0
        self._gone_due = 0
        # Of what is read again: up to where, and the checkpoints that are wanted of it.
        self._read_until = begin
        self._wanted = array("q")

    def __len__(self) -> int:
        return len(self._open)

    def __iter__(self) -> Iterator[OpenCheckpoint]:
        return iter(self._open.values())

    def note(self, point: PopCheckPoint, place: Place) -> None:
        """A checkpoint was read. One that is noted anew keeps its acknowledgements."""
        if place.offset < self._read_until and not self._is_wanted(place.offset):
            return
        key = (point.t, point.c, point.q, point.so, point.pt, point.bn or self._name)
        opened = OpenCheckpoint(key, point, place)
        known = self._open.get(key)
        if known is not None:
            opened.acknowledged, opened.tries = known.acknowledged, known.tries
            point.sp = point.sp or known.point.sp
            self.settled(known)
        self._open[key] = opened
        self._weight += opened.weight
        self.leave(opened)
        if self._weight > self._most:
            self._let_go()

    def acknowledge(self, ack: AckMsg) -> None:
        """An acknowledgement was read. What it says of others than the checkpoint's messages does not count."""
        key = (ack.t, ack.c, ack.q, ack.so, ack.pt, ack.bn or self._name)
        one = self._open.get(key)
        if one is not None:
            one.acknowledged |= frozenset(one.point.offsets()).intersection(ack.offsets())

    def first_due(self) -> OpenCheckpoint | None:
        """The one whose time comes first."""
        heap = self._heap
        while heap and self._open.get(heap[0][2].key) is not heap[0][2]:
            heappop(heap)
        return heap[0][2] if heap else None

    def take_due(self, until: int) -> OpenCheckpoint | None:
        """The first one, if its time is before `until`: it is to be `settled`, or to be left open with `leave`."""
        one = self.first_due()
        if one is None or one.due >= until:
            return None
        heappop(self._heap)
        return one

    def leave(self, one: OpenCheckpoint) -> None:
        """It waits for its time, or for another try."""
        self._noted += 1
        if len(self._heap) > 2 * len(self._open) + _STALE:
            self._heap = [entry for entry in self._heap if self._open.get(entry[2].key) is entry[2]]
            heapify(self._heap)
        heappush(self._heap, (one.due, self._noted, one))

    def settled(self, one: OpenCheckpoint) -> None:
        if self._open.get(one.key) is one:
            del self._open[one.key]
            self._weight -= one.weight

    @property
    def position(self) -> int:
        """The offset of the last record of those that are done with, all before it too."""
        first = min(self.next, self._gone_at) if self._gone else self.next
        return min([first, *(one.place.offset for one in self)]) - 1

    def go_back(self, until: int) -> bool:
        """To the first record that was let go, if the time of one is before `until`: it is to be read again."""
        if not self._gone or self._gone_due >= until:
            return False
        self._read_until = max(self.next, self._read_until)
        self._wanted, self._gone = array("q", sorted(self._gone)), array("q")
        self.next = self._wanted[0]
        return True

    def _is_wanted(self, offset: int) -> bool:
        index = bisect_left(self._wanted, offset)
        return index < len(self._wanted) and self._wanted[index] == offset

    def _let_go(self) -> None:
        """Half of the bound is left, or one."""
        unsettled = sorted((one for one in self if one.left()), key=lambda one: one.due)
        self._open, self._heap, self._weight = {}, [], 0
        for one in unsettled:
            if not self._open or self._weight + one.weight <= self._most // 2:
                self._open[one.key] = one
                self._weight += one.weight
                self.leave(one)
                continue
            offset = one.place.offset
            if not self._gone:
                self._gone_at, self._gone_due = offset, one.due
            self._gone_at = min(self._gone_at, offset)
            self._gone_due = min(self._gone_due, one.due)
            self._gone.append(offset)
