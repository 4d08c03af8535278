"""What a scan finds of queues whose records do not simply follow one another.

A queue's offsets count up in the order of the log, and begin again with 0 when its topic was deleted and made again. A
record with any other offset has been forged, or belongs to records that were lost: it begins a run of its own. Which
of a queue's runs are its entries, is judged when all are known: mostly records that continue the queue come later.

Hot: compiled by mypyc when a compiler is there.
"""

from __future__ import annotations

from trimq.store.messages.message import Dispatched
from trimq.store.queues.queue import FoundEntries, Queue

# Of one queue: whoever forges more has the shortest forgotten.
MOST_RUNS = 32


class OddRuns:
    """The runs of queues that have more than one, beside the one that got the last record; the newest is last."""

    __slots__ = ("_of_queue",)

    def __init__(self) -> None:
        self._of_queue: dict[tuple[str, int], list[FoundEntries]] = {}

    def put_aside(self, key: tuple[str, int], run: FoundEntries) -> None:
        runs = self._of_queue.setdefault(key, [])
        if len(runs) >= MOST_RUNS:
            runs.remove(min(runs, key=length))
        runs.append(run)

    def take_continued(self, key: tuple[str, int], record: Dispatched) -> FoundEntries | None:
        """The newest run that the record continues, with it."""
        runs = self._of_queue.get(key)
        if runs is None:
            return None
        for index in range(len(runs) - 1, -1, -1):
            if runs[index].add(record):
                return runs.pop(index)
        return None

    def queues(self) -> list[tuple[str, int]]:
        return list(self._of_queue)

    def choose(self, key: tuple[str, int], last: FoundEntries, queue: Queue) -> FoundEntries:
        """Which one has the queue's entries; `last` is the run that got the last record."""
        runs = self._of_queue.pop(key, [])
        runs.append(last)
        runs.reverse()
        for run in runs:
            if run.first == 0 or (run.first <= queue.max_offset and not queue.is_new):
                return run
        # The queue may begin anywhere, and what comes first in the log is no less likely than anything else.
        return min(runs, key=begin)


def length(run: FoundEntries) -> int:
    return run.next - run.first


def begin(run: FoundEntries) -> int:
    return run.physical_offset
