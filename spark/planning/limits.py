"""How a batch's limit is shared among queues."""

from __future__ import annotations

from trimq.spark.positions import Offsets


def share(backlog: Offsets, most: int | None) -> Offsets:
    """How many messages to read of each queue, `most` in all: short queues whole, long ones equally."""
    if most is None:
        return dict(backlog)
    left, found = most, {}
    waiting = sorted(backlog.items(), key=lambda item: item[1])
    for number, (key, count) in enumerate(waiting):
        found[key] = min(count, left // (len(waiting) - number))
        left -= found[key]
    return found
