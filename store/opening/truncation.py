"""Cutting the log of an open store: what a broker does that finds its log to differ from its master's.

The log is made to end there, and then the store recovers as after a kill: the scan, the queues' and the index's
leftovers are recovery's own. Two things come before that. The checkpoint is taken back to a record that stays, on the
disk, so that a power loss at any moment leaves a log that is recovered, long or short. And so that
the scan begins there and not with the log's first file, that record is looked for in the files around the cut.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

from trimq.store.disk.files import store_error
from trimq.store.errors import StoreDamaged, StoreError
from trimq.store.index.message_index import Index
from trimq.store.log.commit_log import CommitLog
from trimq.store.log.whole_records import LogScanner, record_behind
from trimq.store.messages.message import Dispatched
from trimq.store.messages.tags import TagCodes
from trimq.store.opening.derived_points import DerivedPoints
from trimq.store.opening.index_recovery import IndexRecovery
from trimq.store.opening.recovery import Recovery
from trimq.store.opening.report import RecoveryReport
from trimq.store.queues.queues import Queues
from trimq.store.upkeep.checkpoint_file import raise_index_timestamp
from trimq.store.upkeep.write_behind import WriteBehind

_AT_ONCE: Final = 512


class Truncation:
    def __init__(
        self,
        log: CommitLog,
        queues: Queues,
        index: Index,
        behind: WriteBehind,
        tags: TagCodes,
        has_light: bool,
        points: DerivedPoints,
    ) -> None:
        """`has_light`: see Recovery."""
        self._points = points
        self._log = log
        self._queues = queues
        self._index = index
        self._behind = behind
        self._tags = tags
        self._has_light = has_light

    def cut(self, offset: int, begin: Callable[[bool], None]) -> RecoveryReport:
        """The log ends with the last whole record that ends at or before `offset`. `begin`: see Recovery.run.

        Blocks on the disk. StoreError: nothing was changed, or the log takes nothing more until the store is
        opened again.
        """
        log = self._log
        if not 0 <= log.min_offset <= offset <= log.written:
            raise StoreError(
                f"the log has {log.min_offset} to {log.written} and cannot be cut at {offset}"
            )
        try:
            return self._cut(offset, begin)
        except OSError as error:
            raise store_error(error, "cutting the commit log") from error

    def _cut(self, offset: int, begin: Callable[[bool], None]) -> RecoveryReport:
        log = self._log
        self._behind.restart()
        known = self._behind.checkpoint.queue_physical_offset
        last = last_before(log, offset, known, self._tags)
        if last is None:
            self._behind.vouch_only_for(0, 0)
        else:
            self._behind.vouch_only_for(last.physical_offset, last.store_timestamp)
        reports: list[RecoveryReport] = []
        log.cut(offset, lambda: reports.append(self._recover(begin)))
        # Recovery may have changed it.
        self._behind.load_checkpoint()
        return reports[0]

    def _recover(self, begin: Callable[[bool], None]) -> RecoveryReport:
        checkpoint = self._behind.checkpoint
        kinds = self._queues.forget_all()
        self._index.forget_all()
        vouch = partial(raise_index_timestamp, self._behind.file)
        index = IndexRecovery(self._index, self._log, checkpoint, vouch)
        recovery = Recovery(
            self._log, self._queues, index, checkpoint, self._tags, self._points, self._has_light
        )
        return recovery.run(False, kinds, begin)


def last_before(log: CommitLog, end: int, known: int, tags: TagCodes) -> Dispatched | None:
    """The last whole record that ends at or before `end`, None without one. StoreDamaged.

    `known`: where a record begins, that of the checkpoint, or 0.
    """
    start = known if log.min_offset <= known < end else _file_before(log, end)
    while start >= log.min_offset:
        last: Dispatched | None = None
        scanner = LogScanner(log, start, end, tags)
        while found := scanner.take(_AT_ONCE, end):
            last = found[-1]
        _refuse_damage(log, scanner.position, end, tags)
        if last is not None:
            return last
        start = _file_before(log, start)
    return None


def _file_before(log: CommitLog, end: int) -> int:
    """Where the file begins that has the byte before `end`."""
    return log.next_file(end - 1) - log.file_size if end > 0 else -1


def _refuse_damage(log: CommitLog, position: int, end: int, tags: TagCodes) -> None:
    """Whole records behind something else: a cut must not hide that."""
    if position >= end or next(iter(LogScanner(log, position, log.written, tags)), None):
        return
    if record_behind(log, position, end, tags) >= 0:
        path, at = log.path_of(position)
        raise StoreDamaged(
            Path(path), at, "there is no whole record here, but there are some after it"
        )
