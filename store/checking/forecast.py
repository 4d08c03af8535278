"""What opening the store would do now (store/opening/recovery.py), worked out from what a check has read."""

from __future__ import annotations

from trimq.codec.records.record import Record
from trimq.store.checking.log import NOWHERE, LogFile, LogWalk, sound_record_at
from trimq.store.checking.state import StoreState


class Forecast:
    def __init__(
        self, files: list[LogFile], state: StoreState, has_queues: bool, misfit: str
    ) -> None:
        self._files = files
        self._state = state
        self.start = self._find_start(has_queues)
        """Where the scan begins."""
        self.records = 0
        """How many records it goes through."""
        self.complete = True
        """Whether the check has seen all of them."""
        self.end = self.start
        """Where the log ends afterwards."""
        self.lost_bytes = 0
        """What is cut off, up to the end of what was found."""
        self.queues = 0
        """How many consume queues get entries that they lack."""
        self.refusal = misfit
        """Why the store would not open, empty when it would."""

    def _find_start(self, has_queues: bool) -> int:
        if not self._files:
            return 0
        first, durable = self._files[0].base, self._state.durable
        believed = has_queues and durable > first
        return durable if believed and sound_record_at(self._files, durable) is not None else first

    def record(self, record: Record, walk: LogWalk) -> None:
        if record.physical_offset >= self.start and walk.unsound == NOWHERE:
            self.records += 1

    def finish(self, walk: LogWalk) -> None:
        self.complete = walk.start <= self.start
        self.end = min(walk.end, walk.unsound)
        self.lost_bytes = walk.end - self.end
        promised = self._state.closed or self.end <= self._state.durable
        if walk.records_behind and promised and not self.refusal:
            self.refusal = f"no whole record at {self.end}, but there are some after it"
