"""The store's settings under RocketMQ's keys, with the defaults of MessageStoreConfig 5.5.0."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from trimq.base.memory import physical_memory
from trimq.base.setting_fields import limit, setting
from trimq.codec.java.numbers import parse_int
from trimq.store.log.paths import parse_paths
from trimq.store.messages.delay_levels import (
    DEFAULT_DELAY_LEVELS,
    DELAY_LEVELS,
    parse_delay_levels,
)

# Milliseconds that a slot of the timer wheel may have.
PRECISIONS: Final = (100, 200, 500, 1000)
FLUSH_TYPES: Final = ("ASYNC_FLUSH", "SYNC_FLUSH")


def parse_hours(text: str) -> tuple[int, ...]:
    """``deleteWhen``: hours of the day, separated by semicolons (UtilAll.isItTimeToDo)."""
    hours = []
    for word in text.split(";"):
        if not word.strip().isdigit() or int(word) > 23:
            raise ValueError(
                f"'{word}' is not an hour: write 00 to 23, several with semicolons: 04;16"
            )
        hours.append(int(word))
    return tuple(hours)


def parse_precision(text: str) -> int:
    """``timerPrecisionMs``: the nearest possible one below (MessageStoreConfig.setTimerPrecisionMs)."""
    number = parse_int(text.strip())
    if number is None:
        raise ValueError("a whole number of milliseconds is needed: 100, 200, 500 or 1000")
    return max((one for one in PRECISIONS if one <= number), default=PRECISIONS[0])


def _own(default: Any, doc: str, **declared: Any) -> Any:
    """A setting that RocketMQ does not have."""
    return setting(default, doc, own=True, at_least=1, **declared)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreConfig:
    """One store's settings. Sizes in bytes, times in milliseconds.

    While it is open only trimq/settings/running.py changes some.
    """

    root: Path = setting(
        Path("data"),
        "The store directory.",
        key="storePathRootDir",
        rocketmq_default="$HOME/store",
        why="a start finds the data of the folder that it is started in, and nobody else's",
    )
    commit_log_directories: tuple[Path, ...] = setting(
        (),
        "Directory of the commit log; default: commitlog below the root. Several, separated by "
        "commas, get new files in turn.",
        key="storePathCommitLog",
        guarded=True,
        parse=parse_paths,
        shown="",
    )
    read_only_commit_logs: tuple[Path, ...] = setting(
        (),
        "Those of several storePathCommitLog that get no new files.",
        key="readOnlyCommitLogStorePaths",
        guarded=True,
        parse=parse_paths,
        shown="",
    )
    mapped_file_size_commit_log: int = setting(
        1 << 30, "Bytes in one commit-log file.", at_least=4096
    )
    mapped_file_size_consume_queue: int = setting(
        300_000 * 20, "Bytes in one consume-queue file.", at_least=20
    )
    enable_consume_queue_ext: bool = setting(
        False,
        "Whether each consume-queue entry gets a unit in the queue's extension. Existing units are "
        "read in any case.",
    )
    mapped_file_size_consume_queue_ext: int = setting(
        48 * 1024 * 1024, "Bytes in one file of a queue's extension.", at_least=64
    )
    bit_map_length_consume_queue_ext: int = setting(
        64,
        "No effect, as in RocketMQ: maxErrorRateOfBloomFilter and expectConsumerNumUseFilter give the bits of a map.",
        at_least=0,
    )
    mapper_file_size_batch_consume_queue: int = setting(
        300_000 * 46, "Bytes in one file of a queue of type BatchCQ.", at_least=46
    )
    enable_lmq: bool = setting(
        False,
        "Light message queues: topics and groups `%LMQ%...` exist without being created, and offsets are kept in "
        "lmqConsumerOffset.json.",
    )
    enable_multi_dispatch: bool = setting(
        False,
        "With enableLmq: a message is in the light queues that its INNER_MULTI_DISPATCH names as well.",
    )
    enable_lmq_quota: bool = setting(False, "Whether maxLmqConsumeQueueNum is a limit.", live=True)
    max_lmq_consume_queue_num: int = setting(
        20_000,
        "Light queues; with enableLmqQuota, a message that would make one more is refused.",
        live=True,
    )
    flush_disk_type: str = setting(
        "ASYNC_FLUSH", "Whether a send waits for the disk.", choices=FLUSH_TYPES
    )
    flush_interval_commit_log: int = setting(
        500, "Milliseconds between two flushes of the commit log.", at_least=1, live=True
    )
    flush_commit_log_least_pages: int = setting(
        4,
        "Pages of 4 KiB that must be unflushed for a flush by interval (ASYNC_FLUSH).",
        at_least=0,
        live=True,
    )
    flush_commit_log_thorough_interval: int = setting(
        10_000,
        "Milliseconds after which fewer pages are flushed too (ASYNC_FLUSH).",
        at_least=1,
        live=True,
    )
    flush_interval_consume_queue: int = setting(
        1000,
        "Milliseconds between two writes of consume-queue entries; those of more than 1024 queues are written for"
        " a checkpoint only.",
        at_least=1,
        live=True,
    )
    flush_consume_queue_thorough_interval: int = setting(
        5000,
        "Milliseconds between checkpoints.",
        at_least=1,
        rocketmq_default="60000",
        why="what came after the last checkpoint is scanned again after a crash",
    )
    sync_flush_timeout: int = setting(
        5000,
        "Milliseconds until a send that waits for the disk is answered FLUSH_DISK_TIMEOUT.",
        at_least=1,
    )
    max_message_size: int = setting(
        4 * 1024 * 1024, "Bytes of the largest body.", at_least=1, live=True
    )
    max_index_steps: int = limit(
        1_000_000, "Entries of the index that one search by key looks at; keys may share a hash."
    )
    max_transfer_bytes_on_message_in_memory: int = setting(
        256 * 1024, "Bytes of one pull from memory.", at_least=1, live=True
    )
    max_transfer_count_on_message_in_memory: int = setting(
        32, "Messages of one pull from memory.", at_least=1, live=True
    )
    max_transfer_bytes_on_message_in_disk: int = setting(
        64 * 1024, "Bytes of one pull from disk.", at_least=1, live=True
    )
    max_transfer_count_on_message_in_disk: int = setting(
        8, "Messages of one pull from disk.", at_least=1, live=True
    )
    access_message_in_memory_max_ratio: int = setting(
        40,
        "How far behind the log's end counts as memory, as a percentage of RAM.",
        at_least=1,
        at_most=100,
        live=True,
    )
    message_index_enable: bool = setting(
        True, "Whether the index takes the keys of messages, so that queries find them.", live=True
    )
    message_index_safe: bool = setting(
        False,
        "Whether recovery goes back to where the index on the disk ended. TriMQ always does, so "
        "this changes nothing.",
    )
    max_hash_slot_num: int = setting(
        5_000_000,
        "Hash slots of one index file. Fixed once there is one.",
        at_least=1,
        at_most=100_000_000,
    )
    max_index_num: int = setting(
        20_000_000,
        "Entries of one index file, less one. Fixed once there is one.",
        at_least=2,
        # With as many slots as are allowed, the file is just below 2 GiB, which is RocketMQ's own bound.
        at_most=87_000_000,
    )
    max_msgs_num_batch: int = setting(
        64, "Messages that one query by key finds.", at_least=1, live=True
    )
    default_query_max_num: int = setting(
        32, "Messages that one query by unique key finds.", at_least=1, live=True
    )
    max_filter_message_size: int = setting(
        16_000,
        "Bytes of consume-queue entries that one filtered pull looks at.",
        at_least=20,
        at_most=1024 * 1024,
        live=True,
    )
    travel_cq_file_num_when_get_message: int = setting(
        1,
        "Consume-queue files that one filtered pull looks at.",
        at_least=1,
        at_most=1000,
        live=True,
    )
    delay_levels: tuple[int, ...] = setting(
        DELAY_LEVELS,
        "Delays of the levels 1, 2, ...: numbers with a unit (s, m, h, d).",
        key="messageDelayLevel",
        parse=parse_delay_levels,
        shown=DEFAULT_DELAY_LEVELS,
    )
    timer_wheel_enable: bool = setting(
        True,
        "Accept timer messages. Where it is false at the start, those that wait are not delivered either.",
        live=True,
    )
    timer_precision_ms: int = setting(
        1000,
        "Milliseconds of a slot of the timer wheel: 100, 200, 500 or 1000; what is between two of "
        "them counts as the smaller one. Fixed once there is a wheel.",
        parse=parse_precision,
        shown="1000",
    )
    timer_max_delay_sec: int = setting(
        3 * 24 * 3600, "Seconds that a timer message may wait at most.", at_least=0, live=True
    )
    timer_roll_window_slot: int = setting(
        2 * 24 * 3600,
        "Slots of the timer wheel that a message may be ahead; one that waits longer is put again.",
    )
    timer_congest_num_each_slot: int = setting(
        2**31 - 1,
        "Timer messages of one slot; above it some are refused, and above twice as many all.",
        at_least=0,
        live=True,
    )
    timer_stop_enqueue: bool = setting(
        False, "Timer messages are stored, but not put on the wheel.", live=True
    )
    timer_stop_dequeue: bool = setting(
        False,
        "Timer messages stay on the wheel when their time has come. RocketMQ 5.5.0 has it, but cannot "
        "set it.",
        own=True,
        live=True,
    )
    timer_flush_interval_ms: int = setting(
        1000, "Milliseconds between two checkpoints of the timer wheel.", at_least=1, live=True
    )
    mapped_file_size_timer_log: int = setting(
        100 * 1024 * 1024, "Bytes in one file of the timer log.", at_least=68
    )
    append_topic_for_timer_delete_key: bool = setting(
        False,
        "A recall names its message by topic and UNIQ_KEY, not by UNIQ_KEY alone.",
        live=True,
    )
    enable_compaction: bool = setting(
        True, "Keep the newest message of each key of topics with cleanup.policy=COMPACTION."
    )
    compaction_mapped_file_size: int = setting(
        100 * 1024 * 1024,
        "Bytes in one file of a compacted log; rounded to a multiple of compactionCqMappedFileSize, five at least.",
        at_least=1,
    )
    compaction_cq_mapped_file_size: int = setting(
        10 * 1024 * 1024, "Bytes in one file of entries of a compacted log.", at_least=92
    )
    compaction_schedule_internal: int = setting(
        15 * 60 * 1000,
        "Milliseconds between two rewritings of a compacted log; up to as much again is added at random.",
        at_least=1,
        live=True,
    )
    max_offset_map_size: int = setting(
        100 * 1024 * 1024,
        "140 bytes of it are one key (RocketMQ: 24) that a rewriting of a compacted log looks at; with more, it takes"
        " more turns.",
        at_least=1,
    )
    file_reserved_time: int = setting(
        72, "Hours that a commit-log file is kept after its last change.", at_least=0, live=True
    )
    delete_when: tuple[int, ...] = setting(
        (4,),
        "Hours of the day, local time, in which old files are deleted: 04, or 04;16.",
        parse=parse_hours,
        shown="04",
        live=True,
    )
    disk_max_used_space_ratio: int = setting(
        75,
        "Above this percentage of the disk, old files are deleted at any hour; limited to 10 "
        "to 95.",
        live=True,
    )
    disk_space_clean_forcibly_ratio: int = setting(
        85,
        "Above this percentage, files are deleted whatever their age; limited to 30 to 85.",
        live=True,
    )
    disk_space_warning_level_ratio: int = setting(
        90, "Above this percentage, no messages are accepted; limited to 35 to 90.", live=True
    )
    clean_file_forcibly_enable: bool = setting(
        True, "Whether files are deleted before their time when the disk is nearly full.", live=True
    )
    clean_resource_interval: int = setting(
        10_000, "Milliseconds between two looks at what may be deleted.", at_least=1, live=True
    )
    delete_file_batch_max: int = setting(
        10, "Commit-log files deleted in one go.", at_least=1, live=True
    )
    delete_commit_log_files_interval: int = setting(
        100, "Milliseconds between two deleted commit-log files.", at_least=0, live=True
    )
    delete_consume_queue_files_interval: int = setting(
        100,
        "Milliseconds between two consume queues whose files are deleted.",
        at_least=0,
        live=True,
    )
    destroy_maped_file_interval_forcibly: int = setting(
        120_000,
        "Milliseconds that a deletion waits for readers of the file.",
        at_least=0,
        live=True,
    )
    redelete_hanged_file_interval: int = setting(
        120_000,
        "Milliseconds after which such a deletion is tried again at other hours.",
        at_least=0,
        live=True,
    )
    recovery_bytes: int = _own(
        16 * 1024 * 1024,
        "Bytes of the commit log that a start after a kill reads again at most: what would need more is written at"
        " once, whatever the intervals are. Records that timers, pops and elastic topics read count four times.",
        live=True,
    )
    hot_bytes: int = _own(
        32 * 1024 * 1024,
        "How far behind its end the commit log is certain to be in the page cache.",
    )
    open_files: int = _own(
        256,
        "How many files are kept open for reading and for writing consume queues.",
        at_most=65_536,
    )
    queue_buffer_bytes: int = _own(
        64 * 1024,
        "A consume queue with more unwritten bytes is written without waiting its turn.",
        at_most=16 * 1024 * 1024,
    )
    physical_memory: int = field(default_factory=physical_memory)

    @property
    def commit_log(self) -> Path:
        """The one directory of the commit log, or the first of several."""
        return self.commit_logs[0]

    @property
    def commit_logs(self) -> tuple[Path, ...]:
        return self.commit_log_directories or (self.root / "commitlog",)

    @property
    def consume_queue(self) -> Path:
        return self.root / "consumequeue"

    @property
    def consume_queue_ext(self) -> Path:
        return self.root / "consumequeue_ext"

    @property
    def batch_consume_queue(self) -> Path:
        return self.root / "batchconsumequeue"

    @property
    def index(self) -> Path:
        return self.root / "index"

    @property
    def memory_bytes(self) -> int:
        """How far behind the end of the commit log a message counts as being in memory."""
        return self.physical_memory * self.access_message_in_memory_max_ratio // 100
