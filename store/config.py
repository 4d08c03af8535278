"""The store's settings, with the defaults of MessageStoreConfig 5.5.0."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

SECOND = 1000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE

# messageDelayLevel: 1s 5s 10s 30s 1m 2m 3m 4m 5m 6m 7m 8m 9m 10m 20m 30m 1h 2h
DELAY_LEVELS = (
    *(SECOND, 5 * SECOND, 10 * SECOND, 30 * SECOND),
    *(minutes * MINUTE for minutes in range(1, 11)),
    *(20 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR),
)
UNITS = {"s": SECOND, "m": MINUTE, "h": HOUR, "d": 24 * HOUR}


def parse_delay_levels(text: str) -> tuple[int, ...]:
    """`messageDelayLevel` as milliseconds: numbers with one of the units s, m, h, d."""
    return tuple(int(word[:-1]) * UNITS[word[-1]] for word in text.split())


def physical_memory() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreConfig:
    """Attributes are the snake_case of RocketMQ's keys; what is ours alone says so."""

    root: Path
    """storePathRootDir."""
    commit_log_directory: Path | None = None
    """storePathCommitLog; None means `commitlog` below the root."""
    mapped_file_size_commit_log: int = 1 << 30
    mapped_file_size_consume_queue: int = 300_000 * 20
    flush_disk_type: str = "ASYNC_FLUSH"
    flush_interval_commit_log: int = 500
    flush_interval_consume_queue: int = 1000
    flush_consume_queue_thorough_interval: int = 5 * SECOND
    """Milliseconds between checkpoints. RocketMQ waits 60 s; what came after the last one is
    scanned again after a crash, so a shorter time makes recovery quicker."""
    sync_flush_timeout: int = 5 * SECOND
    max_message_size: int = 4 * 1024 * 1024
    max_transfer_bytes_on_message_in_memory: int = 256 * 1024
    max_transfer_count_on_message_in_memory: int = 32
    max_transfer_bytes_on_message_in_disk: int = 64 * 1024
    max_transfer_count_on_message_in_disk: int = 8
    access_message_in_memory_max_ratio: int = 40
    max_filter_message_size: int = 16_000
    travel_cq_file_num_when_get_message: int = 1
    delay_levels: tuple[int, ...] = DELAY_LEVELS
    """messageDelayLevel in milliseconds, level 1 first."""
    physical_memory: int = field(default_factory=physical_memory)
    """Ours: what accessMessageInMemoryMaxRatio is a percentage of."""
    hot_bytes: int = 32 * 1024 * 1024
    """Ours: how far behind its end the commit log is taken to be in the page cache for sure."""
    open_files: int = 256
    """Ours: how many files are kept open for reading and for writing consume queues."""
    queue_buffer_bytes: int = 64 * 1024
    """Ours: a consume queue with more unwritten bytes is written without waiting its turn."""

    @property
    def commit_log(self) -> Path:
        return self.commit_log_directory or self.root / "commitlog"

    @property
    def consume_queue(self) -> Path:
        return self.root / "consumequeue"

    @property
    def memory_bytes(self) -> int:
        """How far behind the end of the commit log a message counts as being in memory."""
        return self.physical_memory * self.access_message_in_memory_max_ratio // 100
