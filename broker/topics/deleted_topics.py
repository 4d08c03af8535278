"""What was deleted since the start, and where the log ended then: slaves are told (TriMQ's own; RocketMQ's leave the
queues of deleted topics where they are).

A topic that is only missing in a master's table was not deleted: perhaps the table is an older one again. So a
deletion travels as one. Records of the topic that lie before the end of the log at that moment are of what was
deleted; those behind it belong to a topic that was made anew.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

# More than anybody deletes while a slave is away for a minute; older ones are forgotten.
MOST: Final = 1000


class DeletedTopicNames:
    def __init__(self) -> None:
        # Where the log ends: 0 before there is one, and then nothing was deleted.
        self.log_end: Callable[[], int] = lambda: 0
        self._ends: dict[str, int] = {}

    def note(self, name: str) -> None:
        self._ends.pop(name, None)
        self._ends[name] = self.log_end()
        while len(self._ends) > MOST:
            del self._ends[next(iter(self._ends))]

    def all(self) -> Mapping[str, int]:
        """By name: where the log ended."""
        return self._ends
