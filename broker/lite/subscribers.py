"""The clients of one group that read the same: walked through from anywhere without a copy, however many they are."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Final, NamedTuple

# So many are searched one by one, without a table of their places: most lite topics have one reader.
_FEW: Final = 8


class Subscriber(NamedTuple):
    client_id: str
    group: str


class Subscribers:
    __slots__ = ("_places", "_readers")

    def __init__(self) -> None:
        self._readers: list[Subscriber] = []
        self._places: dict[Subscriber, int] | None = None

    def __len__(self) -> int:
        return len(self._readers)

    def __iter__(self) -> Iterator[Subscriber]:
        return iter(self._readers)

    def __contains__(self, reader: object) -> bool:
        return reader in (self._readers if self._places is None else self._places)

    def add(self, reader: Subscriber) -> bool:
        """False: it is there already."""
        if reader in self:
            return False
        if self._places is None and len(self._readers) >= _FEW:
            self._places = {known: place for place, known in enumerate(self._readers)}
        if self._places is not None:
            self._places[reader] = len(self._readers)
        self._readers.append(reader)
        return True

    def remove(self, reader: Subscriber) -> bool:
        """False: it was not there. The last one takes its place."""
        if reader not in self:
            return False
        place = self._readers.index(reader) if self._places is None else self._places.pop(reader)
        last = self._readers.pop()
        if place < len(self._readers):
            self._readers[place] = last
            if self._places is not None:
                self._places[last] = place
        return True

    def from_anywhere(self, most: int) -> Iterator[Subscriber]:
        """Each of them once, but no more than so many; nobody comes or goes meanwhile."""
        readers = self._readers
        count = len(readers)
        if count == 1:
            yield readers[0]
            return
        start = random.randrange(count) if count else 0
        for number in range(start, start + min(count, most)):
            yield readers[number % count]


NOBODY: Final = Subscribers()
