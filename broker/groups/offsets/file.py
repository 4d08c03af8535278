"""The file of committed offsets: `config/consumerOffset.json`, and when it is written.

With light queues it is `lmqConsumerOffset.json`; as long as there is none, it begins with what
`consumerOffset.json` has. (In RocketMQ every group begins anew then.)

What POP hands out moves offsets by records of the log, so the file also says where the log ended when it was
written (a key that RocketMQ does not know, and drops): records from there on move offsets once more at start. An
offset that was moved back must not be moved on again by older records: after that the file is written soon.

Hot: compiled by mypyc when a compiler is there.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

import trio

from trimq.base.waits import Wakeup
from trimq.broker.tables.file import TableFile
from trimq.codec.bodies.offsets import LmqConsumerOffsetSerializeWrapper


class FileListener(Protocol):
    """Wants to know what the file on the disk has."""

    def noting(self) -> None:
        """It is being encoded: what it has of later changes, nobody knows."""

    def noted(self) -> None:
        """That one is on the disk now."""


class OffsetFile:
    """Follows the offsets; whoever changes one says so by `has_changed`."""

    def __init__(
        self, directory: Path, has_light: bool, pieces: Callable[[int | None], Iterator[bytes]]
    ) -> None:
        """`directory` is the store's `config` folder. `pieces`: the text, with where the log ends if that is known."""
        self._pieces = pieces
        self._file = TableFile(directory / "consumerOffset.json", self._pieces_now)
        self._older: TableFile | None = None
        if has_light:
            self._older = self._file
            self._file = TableFile(directory / "lmqConsumerOffset.json", self._pieces_now)
        self.has_changed = False
        # Where the commit log ends: noted in the file, what the loaded one says, and the one on the disk.
        self.log_end: Callable[[], int] | None = None
        self.noted_log_end: int | None = None
        self.written_log_end: int | None = None
        self.was_slave = False
        """The file is of a store that followed another broker's log, until now at least."""
        self._being_noted: int | None = None
        self._is_late = False
        self._listeners: list[FileListener] = []
        self._turned = Wakeup()
        self._late = Wakeup()
        self._writing = trio.Lock()

    def add_listener(self, listener: FileListener) -> None:
        self._listeners.append(listener)

    def load(self) -> LmqConsumerOffsetSerializeWrapper | None:
        """What it says, if there is one. Blocks: before the loop runs."""
        loaded = self._file.load_as(LmqConsumerOffsetSerializeWrapper)
        if loaded is None and self._older is not None:
            loaded = self._older.load_as(LmqConsumerOffsetSerializeWrapper)
            self.has_changed = loaded is not None
        if loaded is not None:
            self.noted_log_end = self._being_noted = loaded.trimq_log_end
        return loaded

    def begin(self) -> None:
        """After `load`: a file that is new, or RocketMQ's, says where the log ends from now on. What pops move until it
        is written the next time would be forgotten with a crash otherwise. Blocks: before the loop runs.
        """
        noted, log_end = self.noted_log_end, self.log_end
        # A power loss may have taken the end of the log: what comes in its place is not known to the file.
        if noted is None or (log_end is not None and noted > log_end()):
            self._file.begin()
            self.written_log_end = self._being_noted if self._file.saved else None
        else:
            self.written_log_end = self.noted_log_end

    def turn(self) -> None:
        """What is in the file must not be taken for newer than this change: it is written soon."""
        self._turned.give()

    def hurry(self) -> None:
        """A start would have to read too much again: the file is written now, if only for where the log ends."""
        self._is_late = True
        self._turned.give()
        self._late.give()

    async def keep_written(self, seconds: float, soon: float = 0.1) -> None:
        """Until cancelled: the file follows every so often, and soon after a turn."""
        while True:
            await self._turned.wait(seconds, soon, self._late)
            await self.persist_in_steps()

    async def persist_in_steps(self) -> None:
        """Write what has changed since the last time; no step holds the loop for long.

        What was changed before the call is on the disk after it; a failure is logged, and the next call tries again.
        """
        async with self._writing:
            if not self.has_changed and not self._is_late:
                return
            self.has_changed, self._is_late, saved = False, False, False
            try:
                await self._file.write_in_steps()
                saved = self._file.saved
            finally:
                if saved:
                    self.written_log_end = self._being_noted
                    for listener in self._listeners:
                        listener.noted()
                else:
                    self.has_changed = True

    def persist(self) -> None:
        """Write everything at once and make it durable. Blocks: for the shutdown."""
        self.has_changed = False
        self._file.close()

    # --- inside

    def _pieces_now(self) -> Iterator[bytes]:
        """What comes while it is encoded may be in it as well: moving on to the same offset changes nothing."""
        if self.log_end is None:
            return self._pieces(None)
        self._being_noted = self.log_end()
        for listener in self._listeners:
            listener.noting()
        return self._pieces(self._being_noted)
