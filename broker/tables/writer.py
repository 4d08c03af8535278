"""When the tables that peers can make grow are written: once a receive, and at most a tenth of the
time (if a write takes less than 28 ms; longer ones, which run in a thread, are 250 ms apart).

Whoever creates a topic or a group is answered when the table that has it is in the page cache: a
kill -9 right after the answer must not lose it. A small table is written on the loop before the
replies of the receive are sent. A large one, or one that was written a moment ago, is encoded
between other work and written by a thread; until then the replies of that receive wait, and nobody
else's.
"""

from collections.abc import Callable
from time import perf_counter
from typing import Final

import trio

from trimq.base.waits import Wakeup
from trimq.broker.tables.file import TableFile
from trimq.remoting.contract import HeldReplies

# After a write, no other for this many times as long as it took; but a disk that was slow once must
# not hold up clients that wait for an answer.
_REST: Final = 9
_LONGEST_REST: Final = 0.25
# What takes well under a millisecond on the loop.
_SMALL_BYTES: Final = 128 * 1024
_FEW_CHANGES: Final = 64


class TableWriter:
    """Writes the tables of one broker. `loop_writes` and `thread_writes` count what it did."""

    def __init__(self, now: Callable[[], float] = perf_counter) -> None:
        self._now = now
        self._dirty: dict[TableFile, None] = {}
        self._due = 0.0
        # How many changes there were, and up to which of them all are in their files.
        self._changes = 0
        self._saved = 0
        # A thread writes tables that are not in `_dirty` any more and not in their files yet.
        self._writing = False
        self._wake = Wakeup()
        self._parked = trio.lowlevel.ParkingLot()
        self._held_replies: HeldReplies | None = None
        self.loop_writes = 0
        self.thread_writes = 0

    def hold_replies_with(self, held_replies: HeldReplies) -> None:
        """What makes the replies of a receive wait."""
        self._held_replies = held_replies
        held_replies.also(self.written, lambda: self._saved < self._changes)

    def changed(self, file: TableFile) -> None:
        """The table has a change that is not in its file yet."""
        self._dirty[file] = None
        self._changes += 1
        self._wake.give()
        if self._held_replies is not None:
            self._held_replies.wanted = True

    def end_of_receive(self) -> None:
        """Write what changed, now if that is quick; else the replies of this receive wait."""
        if not self._dirty:
            return
        for file in tuple(self._dirty):
            if self._now() >= self._due and _is_quick(file):
                began = self._now()
                del self._dirty[file]
                file.write()
                self.loop_writes += 1
                self._rest(began)
        if not self._dirty and not self._writing:
            self._is_saved(self._changes)

    async def written(self) -> None:
        """Wait until everything that has changed so far is in its file."""
        changes = self._changes
        while self._saved < changes:
            await self._parked.park()

    async def run(self) -> None:
        """Background service: writes what nobody wrote at the end of a receive."""
        while True:
            await self._wake.wait()
            while self._dirty:
                await trio.sleep(max(0.0, self._due - self._now()))
                await self._write_all()

    async def _write_all(self) -> None:
        changes = self._changes
        self._writing = True
        try:
            for file in tuple(self._dirty):
                # It may have been written at the end of a receive while another one was.
                if file not in self._dirty:
                    continue
                del self._dirty[file]
                began = self._now()
                await file.write_beside_the_loop()
                self.thread_writes += 1
                self._rest(began)
        finally:
            self._writing = False
        # What came in the meantime is saved as well if it was written at the end of its receive.
        self._is_saved(changes if self._dirty else self._changes)

    def _rest(self, began: float) -> None:
        now = self._now()
        self._due = now + min(_LONGEST_REST, _REST * (now - began))

    def _is_saved(self, changes: int) -> None:
        self._saved = max(self._saved, changes)
        self._parked.unpark_all()


def _is_quick(file: TableFile) -> bool:
    return not file.busy and file.size <= _SMALL_BYTES and file.changes <= _FEW_CHANGES
