"""What listeners of official clients wrote down, and whether each key was in order by one clock.

A key's number n may begin when a listener has returned from n - 1; what came before may come again, but not after a
later number of its key from another queue.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

MILLISECOND: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Seen:
    """One call of a listener; `member` is the journal that it stands in, times are nanoseconds since 1970."""

    group: str
    key: str
    number: int
    queue: int
    offset: int
    stored: int
    began: int
    returned: int
    member: str


@dataclass(slots=True)
class Order:
    """What one group saw: all counts are of messages, `missing` of those that nobody got."""

    seen: int = 0
    again: int = 0
    gaps: int = 0
    overlaps: int = 0
    late_again: int = 0
    handovers: int = 0
    missing: int = 0
    first: list[str] = field(default_factory=list)

    @property
    def broken(self) -> int:
        return self.gaps + self.overlaps + self.late_again

    def note(self, what: str, one: Seen) -> None:
        if len(self.first) < 5:
            self.first.append(f"{what}: {one}")


@dataclass(slots=True)
class _Key:
    highest: int = -1
    # Of the highest number: when a listener first had returned from it.
    returned: int = 0
    # Queue -> the highest number that came from there.
    by_queue: dict[int, int] = field(default_factory=dict)


def read(files: Iterable[Path]) -> list[Seen]:
    """All calls, by when they began."""
    found = []
    for file in files:
        for line in file.read_text().splitlines():
            group, key, *texts = line.split()
            number, queue, offset, stored, began, returned = map(int, texts)
            found.append(
                Seen(group, key, number, queue, offset, stored, began, returned, file.name)
            )
    return sorted(found, key=lambda one: one.began)


def order(calls: Iterable[Seen], sent: Mapping[str, int]) -> Order:
    """Of one group, by when they began; `sent`: key -> how many numbers it was to get."""
    made = Order()
    keys: dict[str, _Key] = defaultdict(_Key)
    owners: dict[int, str] = {}
    for one in calls:
        made.seen += 1
        made.handovers += owners.get(one.queue, one.member) != one.member
        owners[one.queue] = one.member
        _take(made, keys[one.key], one)
    made.missing = sum(count - 1 - keys[key].highest for key, count in sent.items())
    return made


def _take(made: Order, key: _Key, one: Seen) -> None:
    if one.number <= key.highest:
        made.again += 1
        if any(last > one.number for queue, last in key.by_queue.items() if queue != one.queue):
            made.late_again += 1
            made.note("again after a later one from another queue", one)
        if one.number == key.highest:
            key.returned = min(key.returned, one.returned)
        return
    if one.number > key.highest + 1:
        made.gaps += 1
        made.note(f"after {key.highest}", one)
    elif one.began < key.returned:
        made.overlaps += 1
        made.note("began before the last one had returned", one)
    key.highest, key.returned = one.number, one.returned
    key.by_queue[one.queue] = one.number


def delays(calls: Iterable[Seen], starts: Iterable[Mapping[int, int]]) -> list[float]:
    """For each receiver of each change, milliseconds from when its first message was stored to its listener.

    `starts`: of each change, receiver -> its start. A receiver that got nothing after a start counts nowhere.
    """
    first: dict[int, dict[int, float]] = defaultdict(dict)
    for one in calls:
        first[one.queue].setdefault(one.offset, (one.began - one.stored) / MILLISECOND)
    found = []
    for change in starts:
        for queue, start in change.items():
            offset = min((known for known in first[queue] if known >= start), default=None)
            if offset is not None:
                found.append(first[queue][offset])
    return found
