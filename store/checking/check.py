"""One check of a store directory: everything that is read, in the order that a running broker allows.

It first reads what moves (tables, checkpoint), then the log, with queues and index beside it; so
whatever refers to something is older than what it refers to.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from trimq.codec.names import is_light
from trimq.store.checking.batches import BatchChecks
from trimq.store.checking.findings import Findings
from trimq.store.checking.forecast import Forecast
from trimq.store.checking.index import IndexChecks
from trimq.store.checking.log import LogWalk, list_log, misfit, sound_record_at, without_unused
from trimq.store.checking.queues import QueueChecks, has_entry
from trimq.store.checking.rereads import Rereading, Rereads
from trimq.store.checking.state import State, StoreState
from trimq.store.checking.tables import Tables
from trimq.store.disk.directory import StoreDirectory
from trimq.store.errors import StoreError
from trimq.store.inspecting.sparse_file import SparseFile
from trimq.store.messages.delay_levels import DELAY_LEVELS
from trimq.store.messages.tags import TagCodes

PROGRESS_EVERY: Final = 2000
# Subtracted from a checkpoint's times, as the real broker does.
CHECKPOINT_SLACK_MILLIS: Final = 3000

Progress = Callable[[int, int], None]


class NotAStore(Exception):
    """The directory cannot be checked; the text says why."""


@dataclass(slots=True)
class CheckReport:
    """What a check has read and found, and what it says about the next start."""

    store: Path
    quick: bool
    state: State
    owner: int | None
    start: int
    end: int
    records: int
    queues: int
    index_files: int
    tables: int
    findings: Findings
    forecast: Forecast
    rereads: list[Rereading]

    @property
    def sound(self) -> bool:
        return self.findings.sound


class StoreCheck:
    """Made for one run."""

    def __init__(
        self,
        root: Path,
        *,
        quick: bool = False,
        commit_logs: Sequence[Path] = (),
        findings: Findings | None = None,
        progress: Progress | None = None,
    ) -> None:
        self._root = root
        self._quick = quick
        self._findings = findings or Findings()
        self._progress = progress or (lambda done, total: None)
        self._refuse()
        self._state = StoreState(root, self._findings)
        self._tables = Tables(root / "config", self._findings)
        files = list_log(*(commit_logs or (root / "commitlog",)))
        self._misfit = misfit(files, not self._state.closed)
        if self._misfit:
            self._findings.problem("commit-log file missing or of another length", self._misfit)
        self._files = without_unused(files)
        self._last_timestamp = 0
        self._records = 0

    def _refuse(self) -> None:
        root = self._root
        if not root.is_dir():
            raise NotAStore(f"{root} is not a folder")
        names = ("commitlog", "consumequeue", "checkpoint", "config")
        if not any((root / name).exists() for name in names):
            raise NotAStore(f"{root} is not a store: it has none of {', '.join(names)}")
        try:
            StoreDirectory(root).refuse_foreign()
        except StoreError as error:
            raise NotAStore(str(error)) from None

    def run(self) -> CheckReport:
        forecast = Forecast(self._files, self._state, _has_queues(self._root), self._misfit)
        start = self._start(forecast)
        walk = LogWalk(self._files, start, self._state, self._findings)
        walk.recovery_start = max(start, forecast.start)
        rereads = Rereads(self._root, self._tables, start, forecast.start)
        tags = TagCodes(DELAY_LEVELS)
        with ExitStack() as stack:
            queues = QueueChecks(self._root, walk, self._state, tags, self._findings)
            stack.callback(queues.close)
            declared = self._tables.batch_topics
            batches = BatchChecks(self._root, walk, self._state, tags, self._findings, declared)
            stack.callback(batches.close)
            index = IndexChecks(self._root, walk, self._state, self._findings, self._quick)
            stack.callback(index.close)
            self._go_through(walk, queues, batches, index, forecast, rereads)
            queues.finish(self._deleted(queues), self._quick)
            batches.finish()
            index.finish()
            log_start = self._files[0].base if self._files else 0
            self._tables.check_offsets(
                lambda topic, queue_id: (
                    batches.bounds(topic, queue_id) or queues.bounds(topic, queue_id, log_start)
                )
            )
            forecast.queues = queues.to_rebuild + batches.to_rebuild
            forecast.finish(walk)
            self._check_checkpoint(walk)
            self._note_state()
            return CheckReport(
                self._root,
                self._quick,
                self._state.state,
                self._state.owner,
                start,
                walk.end,
                self._records,
                queues.count,
                index.files,
                self._tables.count,
                self._findings,
                forecast,
                rereads.found(log_start, forecast.end),
            )

    def _go_through(
        self,
        walk: LogWalk,
        queues: QueueChecks,
        batches: BatchChecks,
        index: IndexChecks,
        forecast: Forecast,
        rereads: Rereads,
    ) -> None:
        total = self._bytes(walk)
        for record in walk:
            self._records += 1
            if self._records % PROGRESS_EVERY == 0:
                self._progress(record.physical_offset - walk.start, total)
            self._last_timestamp = record.store_timestamp
            forecast.record(record, walk)
            rereads.record(record)
            index.record(record)
            if not has_entry(record):
                continue
            if record.topic in batches.topics:
                batches.record(record)
            else:
                queues.record(record)
        self._progress(total, total)

    def _bytes(self, walk: LogWalk) -> int:
        if not self._files:
            return 0
        last = self._files[-1]
        with SparseFile(last.path) as file:
            return max(last.base + file.data_end() - walk.start, 0)

    def _start(self, forecast: Forecast) -> int:
        """Where to begin reading: with the log, or for a quick check where the checkpoint is."""
        if not self._files:
            return 0
        first = self._files[0].base
        if not self._quick:
            return first
        if forecast.start > first:
            return forecast.start
        return self._start_by_time() if self._state.durable < 0 else first

    def _start_by_time(self) -> int:
        """The last file that begins before the checkpoint's times, as the real broker searches."""
        checkpoint = self._state.checkpoint
        times = [time for time in (checkpoint.record_timestamp, checkpoint.queue_timestamp) if time]
        for file in reversed(self._files):
            record = sound_record_at(self._files, file.base)
            latest = min(times, default=0) - CHECKPOINT_SLACK_MILLIS
            if record is not None and record.store_timestamp <= latest:
                return file.base
        return self._files[0].base

    def _deleted(self, queues: QueueChecks) -> frozenset[str] | None:
        """Topics that have records but no configuration any more; None when nobody knows.

        Light queues never have one.
        """
        if self._tables.topics is None:
            return None
        gone = queues.topics() - self._tables.topics
        return frozenset(topic for topic in gone if not is_light(topic))

    def _check_checkpoint(self, walk: LogWalk) -> None:
        checkpoint, findings = self._state.checkpoint, self._findings
        if not self._files:
            return
        offset = checkpoint.queue_physical_offset
        for name, value in (
            ("logicsPhysicalOffset", offset),
            ("confirmPhyOffset", checkpoint.confirm_physical_offset),
        ):
            if value > walk.end or value < 0:
                text = f"{name} is {value}, the log ends at {walk.end}"
                findings.problem("checkpoint contradicts the log", text)
        inside = max(walk.start, self._files[0].base + 1) <= offset < walk.end
        if inside and sound_record_at(self._files, offset) is None:
            text = f"logicsPhysicalOffset is {offset}, where no record begins"
            findings.problem("checkpoint contradicts the log", text)
        if not self._last_timestamp:
            return
        for name, value in (
            ("physicMsgTimestamp", checkpoint.record_timestamp),
            ("logicsMsgTimestamp", checkpoint.queue_timestamp),
            ("indexMsgTimestamp", checkpoint.index_timestamp),
        ):
            if value < 0 or value > self._last_timestamp:
                text = f"{name} is {value}, the last record's time {self._last_timestamp}"
                findings.problem("checkpoint contradicts the log", text)

    def _note_state(self) -> None:
        if self._state.state is State.ABORTED:
            text = "`abort` exists and nobody holds the lock: the broker was killed"
            self._findings.note("not shut down cleanly", text)


def _has_queues(root: Path) -> bool:
    folder = root / "consumequeue"
    return folder.is_dir() and any(path.is_dir() for path in folder.iterdir())
