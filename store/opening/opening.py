"""From a folder to a store that can be used: locked, recovered, and marked as open.

The order matters: nothing is changed before it is certain that the folder is free, a store's, and not damaged.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from trimq.store.disk.directory import StoreDirectory
from trimq.store.index.message_index import Index
from trimq.store.log.commit_log import CommitLog
from trimq.store.messages.tags import TagCodes
from trimq.store.opening.derived_points import DerivedPoints
from trimq.store.opening.index_recovery import IndexRecovery
from trimq.store.opening.recovery import Recovery
from trimq.store.opening.report import RecoveryReport
from trimq.store.queues.queues import Queues
from trimq.store.upkeep.checkpoint_file import raise_index_timestamp
from trimq.store.upkeep.write_behind import WriteBehind


class Opening:
    def __init__(
        self,
        directory: StoreDirectory,
        log: CommitLog,
        queues: Queues,
        index: Index,
        behind: WriteBehind,
        tags: TagCodes,
        has_light: bool,
        points: DerivedPoints,
    ) -> None:
        """`has_light`: see Recovery."""
        self._directory = directory
        self._points = points
        self._log = log
        self._queues = queues
        self._index = index
        self._behind = behind
        self._tags = tags
        self._has_light = has_light

    def run(self, queue_types: Mapping[str, str]) -> RecoveryReport:
        """Blocks. StoreInUse, StoreDamaged: nothing was changed; OSError: what is open has to be closed.

        `queue_types`: the `queue.type` of topics that have one.
        """
        self._directory.lock()
        self._directory.refuse_foreign()
        clean = not self._directory.was_aborted()
        checkpoint = self._behind.load_checkpoint()
        self._log.load(None if clean else checkpoint.queue_physical_offset)
        vouch = partial(raise_index_timestamp, self._directory.checkpoint_file)
        index = IndexRecovery(self._index, self._log, checkpoint, vouch)
        recovery = Recovery(
            self._log, self._queues, index, checkpoint, self._tags, self._points, self._has_light
        )
        report = recovery.run(clean, queue_types, self.begin)
        # Recovery may have changed it.
        self._behind.load_checkpoint()
        return report

    def begin(self, checkpoint_is_wrong: bool) -> None:
        """Before anything changes: from now on this is not a clean stop until it ends like one."""
        if checkpoint_is_wrong:
            self._behind.take_back_checkpoint()
        self._directory.mark_open()
