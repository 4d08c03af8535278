"""What of POP's still waits on the timer wheel, or to be put on it.

POP sends its checkpoints and acknowledgements over the wheel, so a record is either POP's or a
timer message. The timer log has the hash of the topic that a record goes to: POP's are recognised
by it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from trimq.codec.java.hashes import string_hash
from trimq.codec.names import REVIVE_TOPIC_PREFIX, TIMER_TOPIC
from trimq.codec.records.properties import find_property
from trimq.store.timers.files import TimerFiles

if TYPE_CHECKING:
    from trimq.broker.pending.taken_over import TakenOver

_REVIVE: Final = REVIVE_TOPIC_PREFIX.encode()


@dataclass(slots=True)
class Wheel:
    """Where the waiting records are in the commit log.

    A set, since after a kill a record may be both on the wheel and beyond the queue's position.
    """

    pops: set[int] = field(default_factory=set)


def look_at_wheel(taken: TakenOver, most: int) -> Wheel:
    """Examine at most this many records. Blocks."""
    files = TimerFiles(taken.root)
    hashes = {string_hash(topic) for topic in taken.revive_topics}
    wheel = Wheel()
    if not hashes:
        return wheel
    left = most
    for slot in files.slots():
        for record in files.records(slot, min(slot.count, left)):
            left -= 1
            if record.topic_hash in hashes:
                wheel.pops.add(record.physical_offset)
    store = taken.store
    for queue_id in store.queues(TIMER_TOPIC):
        begin = max(files.queue_offset, store.min_offset(TIMER_TOPIC, queue_id))
        for stored in taken.records(TIMER_TOPIC, queue_id, begin, left):
            left -= 1
            if (find_property(stored.properties, b"REAL_TOPIC") or b"").startswith(_REVIVE):
                wheel.pops.add(stored.physical_offset)
    return wheel
