"""The recovery points of the store itself: consume queues and index are as far on the disk as the checkpoint says."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

from trimq.store.appending.dispatch import Dispatch
from trimq.store.index.message_index import Index
from trimq.store.log.commit_log import CommitLog
from trimq.store.messages.tags import TagCodes
from trimq.store.opening.index_recovery import IndexRecovery
from trimq.store.opening.recovery_points import (
    CONSUME_QUEUES,
    MESSAGE_INDEX,
    RecoveryPoint,
    RecoveryPoints,
    Unit,
)
from trimq.store.upkeep.write_behind import WriteBehind


class DerivedPoints:
    """Declared where it is made. A recovery says what it has found by `begin` and `end`."""

    def __init__(
        self,
        points: RecoveryPoints,
        log: CommitLog,
        index: Index,
        behind: WriteBehind,
        dispatch: Dispatch,
    ) -> None:
        self._dispatch = dispatch
        self._points = points
        self._log = log
        self._index = index
        self._behind = behind
        self._began = 0.0
        self._of_queues = RecoveryPoint(
            CONSUME_QUEUES,
            "messages stored since the last checkpoint may lack their entries",
            Unit.RECOVERY,
            self._queues_from,
        )
        self._of_index = RecoveryPoint(
            MESSAGE_INDEX,
            "keys of messages stored since the last checkpoint may not be in it",
            Unit.RECOVERY,
            self._index_from,
        )
        points.declare(self._of_queues)
        points.declare(self._of_index)

    def hurry_by(self, hurry: Callable[[], object]) -> None:
        """How to say that both have to be written now, with a checkpoint."""

        def hurry_if_shown() -> None:
            # What readers may not see yet, no checkpoint vouches for.
            if self._dispatch.last_offset > self._behind.vouched.queues:
                hurry()

        self._of_queues.hurry = self._of_index.hurry = hurry_if_shown

    def _queues_from(self) -> int:
        """The record that the checkpoint names is looked at, if it is still there."""
        return max(self._behind.vouched.queues, self._log.min_offset)

    def _index_from(self) -> int:
        if not self._index.enabled:
            return self._log.written
        return max(self._behind.vouched.index, self._log.min_offset)

    # --- while a store is recovered

    def begin(
        self,
        start: int,
        index: IndexRecovery,
        tags: TagCodes,
        before_change: Callable[[], None],
    ) -> None:
        """The queues need the log from `start` on, and will get it. Whoever needs more of it gets that now."""
        vouched = self._behind.vouched
        vouched.queues, vouched.index = start, index.position(start)
        first, began = min(self._points.begin(), start), perf_counter()
        index.begin(first, start, tags, before_change)
        self._began = perf_counter()
        if first < start:
            self._of_index.has_read(first, start - first, self._began - began)

    def end(self, start: int, end: int) -> None:
        """All from `start` on has been read, and what lacked it has it."""
        seconds = perf_counter() - self._began
        self._of_queues.has_read(start, end - start, seconds)
