"""Deleting old commit-log files, and refusing messages on a full disk (CleanCommitLogService).

A round begins every `cleanResourceInterval`: within the hours of `deleteWhen`, when the disk is
fuller than `diskMaxUsedSpaceRatio`, or because an operator asked. It deletes the files whose last
change is `fileReservedTime` ago, the oldest first and never the last one; above
`diskSpaceCleanForciblyRatio` it deletes whatever their age. Above `diskSpaceWarningLevelRatio` the
store accepts no more messages until the disk is back at `diskSpaceCleanForciblyRatio` (that gap is
the real broker's).

`measure`, `modified` and `unlink` wait for the disk: they run in a worker thread and change
nothing here. Everything else runs on the event loop.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from trimq.store.config import StoreConfig
from trimq.store.disk.files import remove, store_error, sync_directory
from trimq.store.log.commit_log import CommitLog
from trimq.store.log.segment import Segment

log = logging.getLogger("trimq.store")

MILLIS_PER_HOUR: Final = 3_600_000
# How many rounds one DELETE_EXPIRED_COMMITLOG lasts (MAX_MANUAL_DELETE_FILE_TIMES).
MANUAL_ROUNDS: Final = 20
ADVICE: Final = "make room on the disk, lower fileReservedTime, or send to another broker"


class DiskUse:
    """Shares of the two file systems, 0.0 to 1.0; negative where the path does not exist.

    Of several commit-log folders the emptiest counts; `full` are those that get no new files.
    """

    __slots__ = ("commit_log", "consume_queue", "full")

    def __init__(
        self, commit_log: float, consume_queue: float, full: frozenset[Path] = frozenset()
    ) -> None:
        self.commit_log = commit_log
        self.consume_queue = consume_queue
        self.full = full

    def __str__(self) -> str:
        return f"commit log {self.commit_log:.2f}, consume queues {self.consume_queue:.2f}"


class Round:
    """Why files are deleted now, whether their age counts, and how many may still go."""

    __slots__ = ("deleted", "forced", "left", "reason")

    def __init__(self, reason: str, forced: bool, left: int) -> None:
        self.reason = reason
        self.forced = forced
        self.left = left
        self.deleted = 0


class LogCleaning:
    def __init__(
        self,
        config: StoreConfig,
        commit_log: CommitLog,
        now_millis: Callable[[], int],
        used_share: Callable[[Path], float],
    ) -> None:
        self._config = config
        self._log = commit_log
        self._now_millis = now_millis
        self._used_share = used_share
        self._manual_rounds = 0
        self._retried_at = 0
        self._warned = False
        # While old files are being deleted, of queues as well.
        self.is_at_work = False
        # When the last round began, and whether it deleted as much as it may.
        self._looked_at = 0
        self._left_some = False
        # Files that are no longer in the log but still on the disk, in the order of their deletion.
        self._removed: list[Segment] = []
        self.use = DiskUse(0, 0)
        self.disk_full = False
        self.deleted_files = 0
        self._listeners: list[Callable[[int], object]] = []

    def add_listener(self, tell: Callable[[int], object]) -> None:
        """Called before a file goes with the offset at which it ends. StoreError: it stays for now."""
        self._listeners.append(tell)

    def order(self) -> None:
        """In the next rounds, delete what is old enough, whatever the hour (executeDeleteFilesManually)."""
        self._manual_rounds = MANUAL_ROUNDS

    @property
    def _warning(self) -> float:
        """Above this share of the disk no messages are accepted."""
        return clamped(self._config.disk_space_warning_level_ratio, 35, 90)

    @property
    def _forcibly(self) -> float:
        """Above this share files are deleted whatever their age."""
        return clamped(self._config.disk_space_clean_forcibly_ratio, 30, 85)

    @property
    def _limit(self) -> float:
        """Above this share old files are deleted at any hour."""
        return clamped(self._config.disk_max_used_space_ratio, 10, 95)

    # --- when

    def measure(self) -> DiskUse:
        """Asks the file systems (worker thread)."""
        shares = {path: self._used_share(path) for path in self._config.commit_logs}
        full = frozenset(path for path, share in shares.items() if share > self._forcibly)
        return DiskUse(min(shares.values()), self._used_share(self._config.consume_queue), full)

    def look_first(self) -> None:
        """Blocks: for the metrics before the first round. A folder that does not exist yet counts as its parent."""
        logs = [self._used_share(_existing(path)) for path in self._config.commit_logs]
        queues = self._used_share(_existing(self._config.consume_queue))
        self.use = DiskUse(min(logs), queues)

    def begin_round(self, use: DiskUse) -> Round | None:
        """What to delete at this moment; also whether the store may accept messages (isSpaceToDelete)."""
        self._looked_at = self._now_millis()
        fullest = self.heed(use)
        too_full = fullest > self._limit or use.commit_log < 0 or use.consume_queue < 0
        reasons = []
        if self.is_hour():
            reasons.append("deleteWhen")
        if too_full or fullest > self._forcibly:
            reasons.append(f"disk use: {use}")
        if self._manual_rounds > 0:
            self._manual_rounds -= 1
            reasons.append("an operator asked")
        if not reasons:
            return None
        forced = fullest > self._forcibly and self._config.clean_file_forcibly_enable
        return Round("; ".join(reasons), forced, self._config.delete_file_batch_max)

    def heed(self, use: DiskUse) -> float:
        """Whether the store may accept messages, with disks that are so full; what counts of that."""
        self.use = use
        self._log.files.paths.full = use.full
        fullest = self._fullest(use)
        self._mark(use, fullest)
        return fullest

    def _fullest(self, use: DiskUse) -> float:
        """The consume queues' disk counts while the commit log's is not too full."""
        if use.commit_log > self._forcibly:
            return use.commit_log
        return max(use.commit_log, use.consume_queue)

    def _mark(self, use: DiskUse, fullest: float) -> None:
        if fullest > self._warning:
            if not self.disk_full:
                self.disk_full = True
                log.error(
                    "the disk is %d %% full, above diskSpaceWarningLevelRatio: messages are refused"
                    " until it is at most %d %% full; %s",
                    round(fullest * 100),
                    round(self._forcibly * 100),
                    ADVICE,
                )
        elif self.disk_full and use.commit_log <= self._forcibly:
            self.disk_full = False
            log.warning("the disk is %d %% full: messages are accepted again", round(fullest * 100))

    def is_hour(self) -> bool:
        """In local time, as RocketMQ's Calendar has it."""
        return self._is_hour(self._now_millis())

    def _is_hour(self, millis: int) -> bool:
        return time.localtime(millis / 1000).tm_hour in self._config.delete_when

    def next_due(self, until: int) -> int | None:
        """When files may be deleted by the clock, in ms since 1970; 0: now. None while there are no old ones."""
        if self.is_at_work:
            return 0
        if self._log.oldest_removable() is None:
            return None
        now = self._now_millis()
        if self.is_hour():
            if self._looked_at // MILLIS_PER_HOUR < now // MILLIS_PER_HOUR:
                return 0
            if self._left_some:
                return self._looked_at + self._config.clean_resource_interval
        hour = now // MILLIS_PER_HOUR + 1
        while not self._is_hour(hour * MILLIS_PER_HOUR) and hour * MILLIS_PER_HOUR <= until:
            hour += 1
        return hour * MILLIS_PER_HOUR

    # --- what

    def next_file(self, one: Round | None) -> Segment | None:
        """The file to check next: one whose deletion has begun, or the log's oldest."""
        if one is None:
            return self._removed[0] if self._removed and self._is_time_to_retry() else None
        if one.left <= 0:
            return None
        return self._removed[0] if self._removed else self._log.oldest_removable()

    def _is_time_to_retry(self) -> bool:
        """CleanCommitLogService.reDeleteHangedFile."""
        now = self._now_millis()
        # Below 0 the clock was set back.
        if 0 <= now - self._retried_at <= self._config.redelete_hanged_file_interval:
            return False
        self._retried_at = now
        return True

    def modified(self, segment: Segment) -> int:
        """When the file was last changed, in milliseconds (worker thread)."""
        try:
            return os.stat(segment.path).st_mtime_ns // 1_000_000
        except FileNotFoundError:
            # Somebody else deleted it.
            return 0
        except OSError as error:
            raise store_error(error, f"looking at {segment.path}") from error

    def take_out(self, segment: Segment, modified: int, one: Round | None) -> bool:
        """Take the file out of the log if it may go; True when it is out."""
        if segment.removed_at >= 0:
            return True
        if one is None or segment is not self._log.oldest_removable():
            return False
        now = self._now_millis()
        if not one.forced and now < modified + self._config.file_reserved_time * MILLIS_PER_HOUR:
            return False
        for tell in self._listeners:
            tell(segment.base + self._log.file_size)
        self._removed.append(self._log.remove_oldest(now))
        return True

    def is_held(self, segment: Segment) -> bool:
        """Whether a worker thread reads it; after `destroyMapedFileIntervalForcibly` that is ignored."""
        if segment.readers <= 0:
            return False
        waited = self._now_millis() - segment.removed_at
        if waited < 0:
            # The clock was set back: it waits anew.
            segment.removed_at, waited = self._now_millis(), 0
        if waited >= self._config.destroy_maped_file_interval_forcibly:
            log.warning("a file is deleted although it is still being read: path=%s", segment.path)
            return False
        return True

    def unlink(self, segment: Segment) -> None:
        """Delete the file (worker thread): 0.2 s for 1 GiB on ext4.

        The directory is synced so that a power loss cannot leave a hole in the log, with this file
        and without a later one.
        """
        try:
            with suppress(FileNotFoundError):
                remove(segment.path)
            sync_directory(os.path.dirname(segment.path))
        except OSError as error:
            raise store_error(error, f"deleting {segment.path}") from error

    def deleted(self, segment: Segment, one: Round | None) -> None:
        """Call when `unlink` has succeeded."""
        self._removed.remove(segment)
        self.deleted_files += 1
        reason = "it was held before"
        if one is not None:
            one.left -= 1
            one.deleted += 1
            reason = one.reason + ("; its age does not count" if one.forced else "")
        log.info(
            "commit-log file deleted path=%s begins_at=%d log_begins_at=%d reason=%s",
            segment.path,
            segment.base,
            self._log.min_offset,
            reason,
        )

    def end_round(self, one: Round | None) -> None:
        """Logs, once, that the disk is filling up and nothing can be deleted."""
        self._left_some = one is not None and one.left <= 0
        if self._fullest(self.use) <= self._limit:
            self._warned = False
        elif one is not None and one.deleted == 0 and not self._warned:
            self._warned = True
            log.warning(
                f"the disk will be full soon, but no file can be deleted; {ADVICE}: use=%s",
                self.use,
            )


def _existing(path: Path) -> Path:
    return next(one for one in (path, *path.absolute().parents) if one.exists())


def clamped(percent: int, low: int, high: int) -> float:
    return min(max(percent, low), high) / 100
