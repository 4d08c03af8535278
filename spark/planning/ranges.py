"""The ranges of queues that a job reads, and what no longer exists of them."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import replace

from trimq.spark.options.positions import Offsets, QueueKey
from trimq.spark.queues import QueueEnds, Range
from trimq.spark.reading.outages import Away, lost


def ranges(
    starts: Offsets, ends: Offsets, bounds: Mapping[QueueKey, QueueEnds], fail_on_data_loss: bool
) -> list[Range]:
    """What to read of each queue; DataLost, or a warning, if the bounds say that it is gone.

    Away when only a slave can be asked, which does not have all of it yet.
    """
    found: list[Range] = []
    for key, end in sorted(ends.items()):
        start, at = starts.get(key, 0), bounds.get(key)
        if start >= end:
            continue
        topic, broker, queue = key
        one = Range(topic, broker, queue, at.addr if at else "", start, end)
        if at is None:
            lost(one, "the queue does not exist any more", fail_on_data_loss)
            continue
        if start < at.first:
            gone = replace(one, end=min(end, at.first))
            lost(gone, f"expired: the queue begins at {at.first}", fail_on_data_loss)
            one = replace(one, start=at.first)
        if end > at.next and at.slave:
            raise Away(f"the master of {one} is away, and the slave at {at.addr} is behind it")
        if end > at.next:
            gone = replace(one, start=max(one.start, at.next))
            lost(gone, f"not there: the queue ends before {at.next}", fail_on_data_loss)
            one = replace(one, end=at.next)
        if one.start < one.end:
            found.append(one)
    return found


def split(whole: Iterable[Range], most: int | None) -> list[Range]:
    """Ranges of about equal length, none with more than `most` offsets."""
    found: list[Range] = []
    for one in whole:
        length = one.end - one.start
        count = 1 if most is None else -(-length // most)
        cuts = [one.start + length * number // count for number in range(count + 1)]
        found += [replace(one, start=low, end=high) for low, high in itertools.pairwise(cuts)]
    return found


def begun(
    starts: Offsets, given: Offsets, bounds: Mapping[QueueKey, QueueEnds], fail_on_data_loss: bool
) -> Offsets:
    """`starts`, none beyond the end of its queue: DataLost, or a warning, if one was given that
    way.

    Only `given` can be: the others come from the bounds.
    """
    found = dict(starts)
    for key in given:
        start, at = found[key], bounds[key]
        if start <= at.next:
            continue
        if at.slave:
            raise Away(f"the master of broker {key[1]!r} is away, and its slave may be behind it")
        gone = Range(*key, at.addr, at.next, start)
        lost(gone, f"not there: the queue ends before {at.next}", fail_on_data_loss)
        found[key] = at.next
    return found
