"""Which queues have entries that are not in their files, and the rounds in which these are written.

When a round is over, everything dispatched before it began is in the files; a checkpoint states that and syncs what
was written.

Hot: compiled by mypyc when a compiler is there.
"""

from __future__ import annotations

from typing import Final

from trimq.store.queues.files.writing import Writing
from trimq.store.queues.queue import Queue

# With more of them, a descriptor is opened for each write (`open_files`).
_MANY_QUEUES: Final = 1024


class WriteRounds:
    __slots__ = ("_buffer_bytes", "_dirty", "_round", "_taken", "_writing")

    def __init__(self, buffer_bytes: int) -> None:
        """A queue with so many bytes of entries does not wait for its round."""
        self._buffer_bytes = buffer_bytes
        self._dirty: list[Queue] = []
        self._round: list[Queue] = []
        # Of the round, what a thread writes, perhaps, and the queues that it is of.
        self._writing: Writing | None = None
        self._taken: list[Queue] = []

    def forget_all(self) -> None:
        """The queues are gone, or will be loaded anew."""
        self.stop()
        self._dirty = []
        self._round = []

    def appended(self, queue: Queue) -> None:
        """Call after every append: it remembers the queue for the next round."""
        if not queue.dirty:
            queue.dirty = True
            self._dirty.append(queue)
        elif queue.unwritten_bytes >= self._buffer_bytes:
            try:
                queue.write_out()
            except OSError:
                # The message itself is stored. The queue keeps its turn in `take_some`, which
                # tries again and reports.
                return

    @property
    def many_are_dirty(self) -> bool:
        """Whether thousands have entries for the next round."""
        return len(self._dirty) > _MANY_QUEUES

    @property
    def clean(self) -> bool:
        """Whether every entry is in the files."""
        return not self._dirty and self.is_over

    @property
    def is_over(self) -> bool:
        return not self._round and not self._taken

    def begin(self) -> None:
        """From now on: write the queues that have entries at this moment."""
        self._round += self._dirty
        self._dirty = []

    def take_some(self, count: int) -> Writing:
        """Of the round, the entries of so many queues as they are now. `settle` it before anything else is taken."""
        self._writing = Writing()
        self._taken = self._round[-count:]
        del self._round[-count:]
        for queue in self._taken:
            queue.begin_writing(self._writing)
        return self._writing

    def settle(self, writing: Writing) -> None:
        """It has run, whatever became of it: what is not in the files stays in the round."""
        if self._writing is not writing:
            # The queues were forgotten meanwhile.
            return
        self._writing = None
        for queue in self._taken:
            if not queue.end_writing():
                self._round.append(queue)
            elif queue.unwritten_bytes:
                self._dirty.append(queue)
            else:
                queue.dirty = False
        self._taken = []

    def stop(self) -> None:
        """What was taken is written, or will not be before it is taken again."""
        if self._writing is not None:
            self._writing.stop()
            self.settle(self._writing)
