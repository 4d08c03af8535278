"""What is written becomes visible: queue entries, and listeners who hear of it.

Mostly that is one step with the write. With SYNC_FLUSH readers see no more than what is on the disk
(CommitLog.getConfirmOffset): entries and listeners wait until `show` says how far that is. Entries of the broker's
own queues (`Queue.at_once`) do not wait: what it has decided it must find there.

Hot: compiled by mypyc when a compiler is there.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from trimq.store.messages.message import Dispatched
from trimq.store.queues.light_queue import LightQueue
from trimq.store.queues.queue import Queue
from trimq.store.queues.queues import Queues

# Gets the records of one write, in order; it must not change the list.
Listener = Callable[[list[Dispatched]], None]
# Is told that something was written.
WriteListener = Callable[[], object]
# A record with entries in these light queues too.
Entered = tuple[Dispatched, list[LightQueue]]


class _Unseen:
    """Records of one write that readers may not see yet, with the queues that get entries; `end`: of the log."""

    __slots__ = ("end", "entered", "queues", "records")

    def __init__(
        self,
        end: int,
        records: list[Dispatched],
        queues: list[Queue | None],
        entered: list[Entered],
    ) -> None:
        self.end = end
        self.records = records
        self.queues = queues
        self.entered = entered

    def drop(self, topic: str) -> None:
        """The topic is deleted: its queues get nothing more."""
        for index, queue in enumerate(self.queues):
            if queue is not None and queue.topic == topic:
                self.queues[index] = None
        self.entered = [
            (record, [light for light in entered if light.topic != topic])
            for record, entered in self.entered
        ]


class Showing:
    __slots__ = (
        "_listeners",
        "_queues",
        "_unseen",
        "_when_flushed",
        "_write_listeners",
        "last_offset",
        "last_timestamp",
    )

    def __init__(self, queues: Queues, *, when_flushed: bool = False) -> None:
        self._queues = queues
        self._when_flushed = when_flushed
        self._unseen: deque[_Unseen] = deque()
        self._listeners: list[Listener] = []
        self._write_listeners: list[WriteListener] = []
        # The last record that queues, index and listeners have, for the checkpoint.
        self.last_offset = -1
        self.last_timestamp = 0

    def add_listener(self, listener: Listener) -> None:
        self._listeners.append(listener)

    def add_write_listener(self, listener: WriteListener) -> None:
        self._write_listeners.append(listener)

    # --- a write: `enter`, what the appender does besides, `tell`

    def enter(
        self,
        end: int,
        records: list[Dispatched],
        queues: list[Queue | None],
        entered: list[Entered],
    ) -> None:
        """These are in the log, which ends there now; None: a record without an entry. The lists are kept."""
        if self._when_flushed:
            self._append_at_once(records, queues)
            self._unseen.append(_Unseen(end, records, queues, entered))
        elif entered:
            self._append_and_enter(records, queues, entered)
        else:
            self._append(records, queues)

    def tell(self, records: list[Dispatched]) -> None:
        """Write listeners hear of it now; the others when readers see it."""
        for listener in self._write_listeners:
            listener()
        if not self._when_flushed:
            self._tell_seen(records)

    def show(self, flushed: int) -> None:
        """Readers may see what is written before this offset of the log."""
        unseen = self._unseen
        while unseen and unseen[0].end <= flushed:
            write = unseen.popleft()
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
        for listener in self._write_listeners:
            listener()
        self._tell_seen(records)

    # --- steps

    def _tell_seen(self, records: list[Dispatched]) -> None:
        last = records[-1]
        self.last_offset = last.physical_offset
        self.last_timestamp = last.store_timestamp
        for listener in self._listeners:
            listener(records)

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
                self._queues.appended(queue)
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
                self._queues.appended(queue)
            if next_entered < len(entered) and entered[next_entered][0] is record:
                for light in entered[next_entered][1]:
                    light.append(records, index, index + 1)
                    self._queues.appended(light)
                next_entered += 1

    def _append_at_once(self, records: list[Dispatched], queues: list[Queue | None]) -> None:
        """Only the entries of the broker's own queues, which are done with then."""
        for index, queue in enumerate(queues):
            if queue is not None and queue.at_once:
                queue.append(records, index, index + 1)
                self._queues.appended(queue)
                queues[index] = None
