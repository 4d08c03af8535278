"""What still waits on the timer wheel of a real broker, or in front of it.

POP sends its checkpoints and acknowledgements over the wheel, so a record is either POP's or a
timer message. The timer log has the hash of the topic that a record goes to: POP's are known by it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from trimq.broker.topic_names import REVIVE_TOPIC_PREFIX, TIMER_TOPIC
from trimq.codec.java import string_hash
from trimq.codec.properties import find_property
from trimq.store.timer_files import TimerFiles

if TYPE_CHECKING:
    from trimq.broker.pending.taken_over import TakenOver

_REVIVE: Final = REVIVE_TOPIC_PREFIX.encode()


@dataclass(slots=True)
class Wheel:
    """Where the waiting records lie in the commit log, and how many nobody looked at.

    Sets, since after a kill a record may be on the wheel and behind the queue's position.
    """

    timers: set[int] = field(default_factory=set)
    pops: set[int] = field(default_factory=set)
    unread: int = 0


def look_at_wheel(taken: TakenOver, most: int) -> Wheel:
    """Look at so many records at most. Blocks."""
    files = TimerFiles(taken.root)
    hashes = {string_hash(topic) for topic in taken.revive_topics}
    wheel = Wheel()
    left = most
    for slot in files.slots():
        seen = 0
        for record in files.records(slot, min(slot.count, left)):
            kind = wheel.pops if record.topic_hash in hashes else wheel.timers
            kind.add(record.physical_offset)
            seen += 1
        left -= seen
        wheel.unread += slot.count - seen
    store = taken.store
    for queue_id in store.queues(TIMER_TOPIC):
        begin = max(files.queue_offset, store.min_offset(TIMER_TOPIC, queue_id))
        for stored in taken.records(TIMER_TOPIC, queue_id, begin, left):
            topic = find_property(stored.properties, b"REAL_TOPIC") or b""
            kind = wheel.pops if topic.startswith(_REVIVE) else wheel.timers
            kind.add(stored.physical_offset)
        waiting = max(0, store.max_offset(TIMER_TOPIC, queue_id) - begin)
        wheel.unread += max(0, waiting - left)
        left = max(0, left - waiting)
    return wheel
