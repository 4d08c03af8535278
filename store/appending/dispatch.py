"""What is written becomes visible: queue entries, and listeners who hear of it.

Mostly that is one step with the write. A bound keeps readers from what is behind it (CommitLog.getConfirmOffset):
with SYNC_FLUSH the end of what is on the disk, and in a term what its slaves have confirmed, whichever is less.
Entries and listeners of a record wait until it lies whole before the bound. Entries of the broker's own queues
(`Queue.at_once`) do not wait: what it has decided it must find there.

A listener that fails is logged, and the others hear of the write all the same (`messages/failures.py`).

Hot: compiled by mypyc when a compiler is there.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final

from trimq.store.messages.failures import Failures
from trimq.store.messages.message import Dispatched
from trimq.store.queues.light.queue import LightQueue
from trimq.store.queues.queue import Queue
from trimq.store.queues.queues import Queues

# Gets the records of one write, in order; it must not change the list.
Listener = Callable[[list[Dispatched]], None]
# Is told that something was written.
WriteListener = Callable[[], object]
# A record with entries in these light queues too.
Entered = tuple[Dispatched, list[LightQueue]]
NO_BOUND: Final = 1 << 62


class _Unseen:
    """Records of one write that readers may not see yet, with the queues that get entries."""

    __slots__ = ("entered", "queues", "records")

    def __init__(
        self, records: list[Dispatched], queues: list[Queue | None], entered: list[Entered]
    ) -> None:
        self.records = records
        self.queues = queues
        self.entered = entered

    def take(self, bound: int) -> _Unseen | None:
        """Those that lie before the bound: they are taken out; None without any."""
        count = len(self.records)
        while count and _end_of(self.records[count - 1]) > bound:
            count -= 1
        if not count:
            return None
        first = self.records[0].physical_offset
        end = _end_of(self.records[count - 1])
        taken = _Unseen(
            self.records[:count],
            self.queues[:count],
            [one for one in self.entered if first <= one[0].physical_offset < end],
        )
        self.entered = self.entered[len(taken.entered) :]
        self.records = self.records[count:]
        self.queues = self.queues[count:]
        return taken

    def drop(self, topic: str) -> None:
        """The topic is deleted: its queues get nothing more."""
        for index, queue in enumerate(self.queues):
            if queue is not None and queue.topic == topic:
                self.queues[index] = None
        self.entered = [
            (record, [light for light in entered if light.topic != topic])
            for record, entered in self.entered
        ]


def _end_of(record: Dispatched) -> int:
    return record.physical_offset + record.size


class Dispatch:
    """`is_bound`: whether there is a bound at all. Without one it costs a write nothing but the question."""

    __slots__ = (
        "_confirmed",
        "_flushed",
        "_listeners",
        "_rounds",
        "_unseen",
        "_when_flushed",
        "_write_listeners",
        "failures",
        "is_bound",
        "last_offset",
        "last_timestamp",
    )

    def __init__(self, queues: Queues, *, when_flushed: bool = False) -> None:
        self._rounds = queues.rounds
        self._when_flushed = when_flushed
        # How far the disk has it, and a term's slaves; NO_BOUND where that does not matter.
        self._flushed = 0 if when_flushed else NO_BOUND
        self._confirmed = NO_BOUND
        self.is_bound = when_flushed
        self._unseen: deque[_Unseen] = deque()
        self._listeners: list[Listener] = []
        self._write_listeners: list[WriteListener] = []
        self.failures = Failures()
        # The last record that queues, index and listeners have, for the checkpoint.
        self.last_offset = -1
        self.last_timestamp = 0

    def restart(self, end: int, last_offset: int, last_timestamp: int) -> None:
        """Recovery has shown all that there is, up to the log's end, which may be an earlier one now."""
        self._unseen.clear()
        if self._when_flushed:
            self._flushed = min(self._flushed, end)
        if self._confirmed < NO_BOUND:
            self._confirmed = min(self._confirmed, end)
        self.last_offset = last_offset
        self.last_timestamp = last_timestamp

    def add_listener(self, listener: Listener) -> None:
        self._listeners.append(listener)

    def add_write_listener(self, listener: WriteListener) -> None:
        self._write_listeners.append(listener)

    # --- a write: `enter`, what the appender does besides, `tell`

    def enter(
        self, records: list[Dispatched], queues: list[Queue | None], entered: list[Entered]
    ) -> None:
        """These are in the log; None: a record without an entry. The lists are kept."""
        if self.is_bound:
            self._append_at_once(records, queues)
            self._unseen.append(_Unseen(records, queues, entered))
        elif entered:
            self._append_and_enter(records, queues, entered)
        else:
            self._append(records, queues)

    def tell(self, records: list[Dispatched]) -> None:
        """Write listeners hear of it now; the others when readers see it."""
        self.tell_written()
        if self.is_bound:
            self.show_whatever(self.bound)
        else:
            self._tell_seen(records)

    def tell_written(self) -> None:
        """The log has grown."""
        for listener in self._write_listeners:
            try:
                listener()
            except Exception as error:
                self.failures.of_listener(listener, "a write", error)

    # --- the bound

    @property
    def bound(self) -> int:
        """Where readers have to stop, be it within a record; NO_BOUND: nowhere."""
        return min(self._flushed, self._confirmed)

    @property
    def confirmed(self) -> int:
        """What a term's slaves have; NO_BOUND without a term."""
        return self._confirmed

    def flushed(self, offset: int) -> None:
        """Everything before this offset is on the disk."""
        if self._when_flushed:
            self._flushed = offset
            self.show_whatever(self.bound)

    def confirm(self, offset: int) -> None:
        """A term's slaves have everything before this offset; NO_BOUND: there is no such term."""
        self._confirmed = offset
        self.is_bound = self._when_flushed or offset < NO_BOUND
        self.show_whatever(self.bound)

    def show_whatever(self, bound: int) -> None:
        """Readers see the records before it, whatever it is."""
        unseen = self._unseen
        while unseen:
            write = unseen[0].take(bound)
            if write is None:
                return
            if not unseen[0].records:
                unseen.popleft()
            if write.entered:
                self._append_and_enter(write.records, write.queues, write.entered)
            else:
                self._append(write.records, write.queues)
            self._tell_seen(write.records)

    def drop(self, topic: str) -> None:
        """The topic is deleted: what nobody has seen of it stays unseen."""
        for write in self._unseen:
            write.drop(topic)

    def followed(self, records: list[Dispatched]) -> None:
        """These were copied from another broker's log, and their queues have them."""
        self._tell_seen(records)

    # --- steps

    def _tell_seen(self, records: list[Dispatched]) -> None:
        last = records[-1]
        self.last_offset = last.physical_offset
        self.last_timestamp = last.store_timestamp
        for listener in self._listeners:
            try:
                listener(records)
            except Exception as error:
                self.failures.of_listener(listener, "records that are seen", error)

    def _append(self, records: list[Dispatched], queues: list[Queue | None]) -> None:
        """Their queue entries; those of a batch, which are consecutive, all at once."""
        count = len(records)
        start = 0
        while start < count:
            queue = queues[start]
            end = start + 1
            while end < count and queues[end] is queue:
                end += 1
            if queue is not None:
                queue.append(records, start, end)
                self._rounds.appended(queue)
            start = end

    def _append_and_enter(
        self, records: list[Dispatched], queues: list[Queue | None], entered: list[Entered]
    ) -> None:
        """The same with entries in light queues: one record after the other, for a light queue may be one's own."""
        next_entered = 0
        for index, record in enumerate(records):
            queue = queues[index]
            if queue is not None:
                queue.append(records, index, index + 1)
                self._rounds.appended(queue)
            if next_entered < len(entered) and entered[next_entered][0] is record:
                for light in entered[next_entered][1]:
                    light.append(records, index, index + 1)
                    self._rounds.appended(light)
                next_entered += 1

    def _append_at_once(self, records: list[Dispatched], queues: list[Queue | None]) -> None:
        """Only the entries of the broker's own queues, which are done with then."""
        for index, queue in enumerate(queues):
            if queue is not None and queue.at_once:
                queue.append(records, index, index + 1)
                self._rounds.appended(queue)
                queues[index] = None
