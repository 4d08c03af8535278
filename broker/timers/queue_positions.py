"""Where in the timer's queue a message of the commit log is: both are in the same order."""

from trimq.codec.names import TIMER_TOPIC
from trimq.store.message_store import MessageStore


def first_behind(store: MessageStore, physical_offset: int) -> int:
    """The queue offset of the first timer message at that physical offset or behind it."""
    low = store.min_offset(TIMER_TOPIC, 0)
    high = store.max_offset(TIMER_TOPIC, 0)
    while low < high:
        middle = (low + high) // 2
        entry = store.queue_entry(TIMER_TOPIC, 0, middle)
        if entry is None or entry.physical_offset < physical_offset:
            low = middle + 1
        else:
            high = middle
    return low


def queue_offset_of(store: MessageStore, physical_offset: int, size: int) -> int | None:
    """Of the timer message there; None when the queue has no such message."""
    offset = first_behind(store, physical_offset)
    entry = store.queue_entry(TIMER_TOPIC, 0, offset)
    if entry is None or (entry.physical_offset, entry.size) != (physical_offset, size):
        return None
    return offset
