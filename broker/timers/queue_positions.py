"""Where in the timer's queue a message of the commit log is: both are in the same order."""

from bisect import bisect_left

from trimq.codec.names import TIMER_TOPIC
from trimq.store.message_store import MessageStore


def first_behind(store: MessageStore, physical_offset: int) -> int:
    """The queue offset of the first timer message at that physical offset or behind it."""
    low = store.min_offset(TIMER_TOPIC, 0)
    offsets = range(low, store.max_offset(TIMER_TOPIC, 0))

    def is_behind(offset: int) -> bool:
        entry = store.queue_entry(TIMER_TOPIC, 0, offset)
        return entry is not None and entry.physical_offset >= physical_offset

    return low + bisect_left(offsets, True, key=is_behind)


def queue_offset_of(store: MessageStore, physical_offset: int, size: int) -> int | None:
    """Of the timer message there; None when the queue has no such message."""
    offset = first_behind(store, physical_offset)
    entry = store.queue_entry(TIMER_TOPIC, 0, offset)
    if entry is None or (entry.physical_offset, entry.size) != (physical_offset, size):
        return None
    return offset
