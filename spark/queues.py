"""What is known of queues: where they begin and end, and the ranges of them that a job reads."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Final

from trimq.spark.errors import DataLost

log: Final = logging.getLogger("trimq.spark")


@dataclass(frozen=True, slots=True)
class Bounds:
    """A queue's first offset, the offset its next message gets, and the broker that has it."""

    first: int
    next: int
    addr: str


@dataclass(frozen=True, slots=True)
class Range:
    """The messages of a queue from `start` up to `end`, without that one."""

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


def lost(gone: Range, why: str, fail: bool) -> None:
    """DataLost if that is wanted, else a warning."""
    if fail:
        raise DataLost(f"{gone}: {why}. Option failOnDataLoss=false goes on with what is there")
    log.warning("%s: %s; going on with what is there", gone, why)
