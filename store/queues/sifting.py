"""Asking a filter about the messages of a pull, in steps that hold nobody up.

A step ends when it has cost enough, or at a record that is not in memory: what follows is collected
then, for a worker thread to read and judge, and the next step knows its verdicts.

Hot: compiled by mypyc when a compiler is there.
"""

from __future__ import annotations

from typing import Final

from trimq.store.log.commit_log import CommitLog
from trimq.store.log.window import RecordWindow
from trimq.store.messages.filter import MessageFilter

# A step's cost in bytes looked at: about a millisecond at most.
_STEP: Final = 200_000
_MESSAGE: Final = 700
# What a worker thread judges at a time: it holds the interpreter, too.
_MOST_COLD: Final = 128
_MOST_COLD_BYTES: Final = 1024 * 1024


# Verdicts about a message. LATER: not in this step.
UNWANTED: Final = 0
WANTED: Final = 1
LATER: Final = 2


class Sieve:
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

    def collect(self, physical_offset: int, size: int) -> None:
        """For the worker thread."""
        self.cold.append((physical_offset, size))
        self._cold_bytes += size
