"""How a batch's limit is shared among queues."""

from __future__ import annotations

import itertools

from trimq.spark.options.positions import Offsets, QueueKey


def share(backlog: Offsets, most: int | None, starts: Offsets) -> Offsets:
    """How many messages to read of each queue, `most` in all: short queues whole, long ones equally.

    The remainder goes round. Whose turn it is follows from `starts`, the offsets of all queues,
    since nothing else outlives a query's process: each limited batch moves their sum on by `most`,
    and with it the place among the queues from which one more message each is given out. So with a
    limit below the number of queues, each has its turn within `len(starts) / most + 1` batches.
    """
    if most is None or most >= sum(backlog.values()):
        return dict(backlog)
    found: Offsets = {}
    left = most
    waiting = sorted(backlog.items(), key=lambda item: item[1])
    for number, (key, count) in enumerate(waiting):
        fair = left // (len(waiting) - number)
        if count > fair:
            long = [one for one, _ in waiting[number:]]
            found |= dict.fromkeys(long, fair)
            for one in _in_turn(long, starts)[: left - fair * len(long)]:
                found[one] += 1
            break
        found[key] = count
        left -= count
    return found


def _in_turn(keys: list[QueueKey], starts: Offsets) -> list[QueueKey]:
    """The keys, beginning with the one whose turn it is."""
    ring = sorted(starts)
    turn = sum(starts.values()) % len(ring)
    wanted = set(keys)
    return [key for key in itertools.chain(ring[turn:], ring[:turn]) if key in wanted]
