"""What is known about queues: where they begin and end, and the ranges of them that a job reads."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class QueueEnds:
    """A queue's first offset, the offset its next message gets, and the broker that has it.

    A slave's queue may end before its master's, which says nothing about what is lost.
    """

    first: int
    next: int
    addr: str
    slave: bool = False


@dataclass(frozen=True, slots=True)
class Range:
    """The messages of a queue from `start` up to, not including, `end`."""

    topic: str
    broker_name: str
    queue_id: int
    addr: str
    start: int
    end: int

    def __str__(self) -> str:
        return (
            f"topic {self.topic!r}, broker {self.broker_name!r}, queue {self.queue_id},"
            f" offsets {self.start} to {self.end - 1}"
        )

    @property
    def count(self) -> int:
        """How many offsets the range has."""
        return self.end - self.start
