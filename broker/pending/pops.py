"""Messages that were handed out by POP and not acknowledged (PopReviveService).

The group's offset has already passed them: only the checkpoint knows that they may have to be
delivered again. Checkpoints and acknowledgements wait on the timer wheel until the time is up, and
are then in the revive topic, whose reader's position is the last settled one.
"""

from __future__ import annotations

from collections.abc import Iterator

from trimq.broker.pending.taken_over import MOST_READ, Found, Kind, TakenOver
from trimq.codec.bodies.base import decode_body
from trimq.codec.bodies.pop import AckMsg, PopCheckPoint
from trimq.codec.errors import CodecError
from trimq.codec.names import REVIVE_GROUP
from trimq.codec.records.properties import find_property
from trimq.codec.records.record import Record

# What a checkpoint and the acknowledgements of its messages share.
_Popped = tuple[str | None, str | None, int, int, int]


class _Outstanding:
    """Checkpoints with their remaining offsets, in whatever order they come."""

    def __init__(self) -> None:
        self._handed_out: dict[_Popped, set[int]] = {}
        self._acknowledged: dict[_Popped, set[int]] = {}
        self.unreadable = 0

    def add(self, record: Record) -> None:
        tag = find_property(record.properties, b"TAGS")
        try:
            if tag == b"ck":
                point = decode_body(PopCheckPoint, record.body)
                key = (point.t, point.c, point.q, point.so, point.pt)
                self._handed_out.setdefault(key, set()).update(point.open_offsets())
            else:
                ack = decode_body(AckMsg, record.body)
                key = (ack.t, ack.c, ack.q, ack.so, ack.pt)
                self._acknowledged.setdefault(key, set()).update([ack.ao, *(ack.aol or ())])
        except CodecError:
            self.unreadable += 1

    def count(self) -> int:
        return self.unreadable + sum(
            len(offsets - self._acknowledged.get(key, set()))
            for key, offsets in self._handed_out.items()
        )


def count(taken: TakenOver) -> Found:
    outstanding = _Outstanding()
    for offset in taken.wheel.pops:
        record = taken.record(offset)
        if record is not None:
            outstanding.add(record)
    unread = 0
    for topic, queue_id, begin in _revive_queues(taken):
        for record in taken.records(topic, queue_id, begin, MOST_READ):
            outstanding.add(record)
        unread += max(0, taken.store.max_offset(topic, queue_id) - begin - MOST_READ)
    return Found(outstanding.count() + unread, at_most=unread > 0)


def _revive_queues(taken: TakenOver) -> Iterator[tuple[str, int, int]]:
    """Topic, queue, and its first unsettled record."""
    for topic in taken.revive_topics:
        for queue_id in taken.store.queues(topic):
            begin = taken.store.min_offset(topic, queue_id)
            settled = taken.offsets.get(f"{topic}@{REVIVE_GROUP}", {}).get(queue_id, -1)
            yield topic, queue_id, max(begin, settled + 1)


POPS = Kind(
    "message that was handed out by POP and not acknowledged",
    "messages that were handed out by POP and not acknowledged",
    count,
)
