"""Which messages were put off and lie still where they were before, too: nobody takes them from there again.

That is so until their slot is done, or the queue was read past them, and a kill may come before that is written.
So recovery is to see their records: the checkpoint's place in the log is not behind the first of them.
"""

from __future__ import annotations


class Postponed:
    def __init__(self) -> None:
        # By slot, in milliseconds, and physical offset: where in the timer log its record is.
        self._of_slots: dict[tuple[int, int], int] = {}
        # By physical offset: the same, and up to which queue offset it may be met.
        self._of_queue: dict[int, tuple[int, int]] = {}

    def add_of_slot(self, time: int, physical_offset: int, position: int) -> None:
        self._of_slots.setdefault((time, physical_offset), position)

    def add_of_queue(self, physical_offset: int, position: int, queue_offset: int) -> None:
        """Forgotten when the queue was read past `queue_offset`."""
        self._of_queue.setdefault(physical_offset, (position, queue_offset))

    def is_of_slot(self, time: int, physical_offset: int) -> bool:
        return bool(self._of_slots) and (time, physical_offset) in self._of_slots

    def is_of_queue(self, physical_offset: int) -> bool:
        return physical_offset in self._of_queue

    def slot_is_done(self, time: int) -> None:
        if self._of_slots:
            self._of_slots = {one: at for one, at in self._of_slots.items() if one[0] != time}

    def first(self, end: int, queue_offset: int) -> int:
        """Where the first record is that recovery has to see; `end` without any. The queue was read up to there."""
        if self._of_queue:
            self._of_queue = {
                one: found for one, found in self._of_queue.items() if found[1] >= queue_offset
            }
        places = [*self._of_slots.values(), *(at for at, _ in self._of_queue.values())]
        return min(places, default=end)
