"""Asking a filter about the messages of a pull, in steps that hold nobody up.

A step ends when it has cost enough, or at a record that is not in memory: what follows is collected
then, for a worker thread to read and judge, and the next step knows its verdicts.

Hot: compiled by mypyc when a compiler is there.
"""

from __future__ import annotations

from typing import Final

from trimq.store import native
from trimq.store.log.commit_log import CommitLog
from trimq.store.log.window import RecordWindow
from trimq.store.messages.filter import MessageFilter
from trimq.store.native.picks import LATER, UNWANTED, WANTED

# A step's cost in bytes looked at: about a millisecond at most.
_STEP: Final = 200_000
_MESSAGE: Final = 700
# Of one that store.native looks at in C, beside its properties; its twin is not faster than asking.
_PICKED: Final = 40
# What a worker thread judges at a time: it holds the interpreter, too.
_MOST_COLD: Final = 128
_MOST_COLD_BYTES: Final = 1024 * 1024


class FilterSteps:
    """One pull's filter. `cold`: (physical offset, bytes) of what has to be read before it can go on."""

    __slots__ = ("_cold_bytes", "_left", "_verdicts", "_window", "cold", "filter", "is_tired")

    def __init__(self, message_filter: MessageFilter, log: CommitLog) -> None:
        self.filter = message_filter
        self._window = RecordWindow(log)
        self._verdicts: dict[int, bool] = {}
        self.cold: list[tuple[int, int]] = []
        self._cold_bytes = 0
        self._left = _STEP
        self.is_tired = False

    @property
    def pauses(self) -> bool:
        return self.is_tired or len(self.cold) > 0

    @property
    def goes_on(self) -> bool:
        """Whether there is room for more that a worker thread is to judge."""
        return (
            not self.is_tired
            and len(self.cold) < _MOST_COLD
            and self._cold_bytes < _MOST_COLD_BYTES
        )

    def begin_step(self) -> None:
        self._left = _STEP
        self.is_tired = False
        self.cold = []
        self._cold_bytes = 0

    def know(self, verdicts: dict[int, bool]) -> None:
        """What a worker thread found out, by physical offset; in place of what it found before."""
        self._verdicts = verdicts

    def judge(self, physical_offset: int, size: int, wanted: bool) -> int:
        """A verdict; `wanted`: as far as the queue's entry tells."""
        if self._left <= 0:
            self.is_tired = True
            return LATER
        self._left -= _MESSAGE
        if not wanted:
            return UNWANTED
        if self._verdicts:
            known = self._verdicts.get(physical_offset)
            if known is not None:
                return WANTED if known else UNWANTED
        properties = self._window.properties(physical_offset, size)
        if properties is None:
            self.collect(physical_offset, size)
            return LATER
        matches = self.filter.matches(properties)
        self._left -= self.filter.spent
        return WANTED if matches else UNWANTED

    def ask(self, properties: bytes) -> int:
        """A verdict that store.native does not know."""
        if self._left <= 0:
            self.is_tired = True
            return LATER
        matches = self.filter.matches(properties)
        self._left -= _MESSAGE + self.filter.spent
        return WANTED if matches else UNWANTED

    def piece(self, physical_offset: int, size: int) -> memoryview | None:
        """What store.native may look at of the log, from this record on, which the log has; None: nothing."""
        if self.cold or self._verdicts or self._left <= 0:
            return None
        return self._window.piece(physical_offset, size)

    def picked(self, count: int, spent: int) -> None:
        """So many messages were looked at by store.native, and bytes of their properties."""
        self._left -= count * (_PICKED if native.IN_C else _MESSAGE) + spent

    def collect(self, physical_offset: int, size: int) -> None:
        """For the worker thread."""
        self.cold.append((physical_offset, size))
        self._cold_bytes += size
