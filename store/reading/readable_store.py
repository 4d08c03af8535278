"""What can be read of a store: its queues, the bytes of its log, and its index.

Synchronous, for the store's thread; nothing here changes what is stored. What waits for the disk says so. The bytes
themselves come in steps: `read` finds where they are; `load`, `join` and `view` have those that need no waiting; `hold`
and `files` keep the others for a worker thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from trimq.codec.entries.queue import QueueEntry
from trimq.codec.frames.frame import FRAME_LIMIT
from trimq.store.config import StoreConfig
from trimq.store.disk.files import OpenFiles
from trimq.store.errors import MessagesGone
from trimq.store.index.message_index import Index
from trimq.store.index.search import IndexSearch
from trimq.store.log.commit_log import CommitLog
from trimq.store.log.held_files import HeldFiles
from trimq.store.log.held_read import ColdReads, HeldRead
from trimq.store.log.paths import LogPaths
from trimq.store.log.whole_records import LogScanner, file_at_time, record_at
from trimq.store.messages.effects import Effect
from trimq.store.messages.filter import MessageFilter
from trimq.store.messages.message import Dispatched
from trimq.store.messages.tags import TagCodes
from trimq.store.queues.plain.time_search import store_timestamp
from trimq.store.queues.queues import Queues
from trimq.store.queues.reading.pull import PullLimits
from trimq.store.reading.loading import Buffer, join_now, load_now, view_now
from trimq.store.reading.pulls import MAX_PULL_BYTES, QueueReader, ReadResult, Scan
from trimq.store.reading.replaying import replay

# Entries that are looked at to know about how large all are.
_SAMPLES: Final = 8


class ReadableStore:
    """The files of a store as they are read; who opens them and writes is `MessageStore`."""

    def __init__(self, config: StoreConfig, now_millis: Callable[[], int]) -> None:
        self._config = config
        # No frame can be larger, unless a setting allows it; topic and properties are below 64 KiB
        # each.
        self.largest_record = max(FRAME_LIMIT, config.max_message_size + 128 * 1024)
        self._open_files = OpenFiles(config.open_files)
        self._log = CommitLog(
            LogPaths(config.commit_logs, config.read_only_commit_logs),
            config.mapped_file_size_commit_log,
            self._open_files,
            config.hot_bytes,
        )
        self._queues = Queues(config, self._open_files)
        self.bit_maps = self._queues.bit_maps
        self._tags = TagCodes(config.delay_levels)
        self._index = Index(config, now_millis)
        self._reader = QueueReader(config, self._log)
        self._cold_reads = ColdReads()
        # First offsets of queues whose older messages are kept outside of the log.
        self._kept_from: dict[str, dict[int, int]] = {}

    # --- pulls

    def correct_if(self, corrects: Callable[[], bool]) -> None:
        """Whether a read at an offset that a queue does not have names one that it has (offsetCheckInSlave)."""
        self._reader.corrects = corrects

    def read(
        self,
        topic: str,
        queue_id: int,
        offset: int,
        max_messages: int,
        max_bytes: int,
        tag_codes: frozenset[int] | None,
        until: int | None = None,
    ) -> ReadResult:
        """What a pull at `offset` gets; `tag_codes` None takes every message. It looks at none from `until` on."""
        queue = self._queues.find(topic, queue_id)
        reader = self._reader
        return reader.read(queue, offset, max_messages, max_bytes, tag_codes, None, until).result

    @property
    def pull_limits(self) -> PullLimits:
        """How much one pull may return."""
        return self._reader.limits

    def scan(
        self,
        topic: str,
        queue_id: int,
        offset: int,
        max_messages: int,
        wanted: MessageFilter,
        until: int | None = None,
    ) -> Scan:
        """`read` with a filter over properties, in steps: it holds the loop no longer than they last."""
        queue = self._queues.find(topic, queue_id)
        return self._reader.read(queue, offset, max_messages, MAX_PULL_BYTES, None, wanted, until)

    # --- bytes and records of the log

    def load(self, extents: list[tuple[int, int]]) -> list[Buffer] | None:
        """The bytes of the extents if that needs no waiting; None: use `hold`."""
        return load_now(self._log, extents)

    def read_now(self, offset: int, size: int) -> bytes | bytearray | None:
        """These bytes of the log if they are there and that needs no waiting."""
        return self._log.read_now(offset, size)

    def join(self, found: ReadResult) -> bytes | None:
        """All that was found, in one piece, if that is the fastest; None: use `view` or `load`."""
        return join_now(self._log, found)

    def view(self, extents: list[tuple[int, int]]) -> Sequence[Buffer | memoryview] | None:
        """Like `load`, for bytes that are sent and not read: nothing is copied."""
        return view_now(self._log, extents)

    def hold(self, extents: list[tuple[int, int]]) -> HeldRead:
        """Keep the files of the extents until `release`; `read` may run in a worker thread.

        MessagesGone when they no longer exist.
        """
        return self._cold_reads.hold(self._log, extents)

    def files(self, extents: list[tuple[int, int]]) -> HeldFiles | None:
        """The extents as they lie in the log, for a thread that sends them; None when they no longer exist."""
        try:
            held = self._cold_reads.hold(self._log, extents)
        except MessagesGone:
            return None
        return HeldFiles(held, sum([size for _, size in extents]))

    def is_hot(self, offset: int) -> bool:
        """Appended by this process, and recent enough to be certainly in the page cache."""
        return self._log.is_hot(offset)

    def load_blocking(self, extents: list[tuple[int, int]]) -> list[Buffer]:
        """Read the extents from the disk and wait for it."""
        held = self.hold(extents)
        try:
            return held.read()
        finally:
            held.release()

    def record_at(self, physical_offset: int) -> bytes | None:
        """The record that begins exactly there, if it is no larger than a message can be."""
        return record_at(self._log, physical_offset, self.largest_record)

    def records_from(self, physical_offset: int, since: int = 0) -> Iterator[Dispatched]:
        """All records from a boundary on, or in the files that end after `since`. Blocks."""
        start = max(physical_offset, file_at_time(self._log, since))
        return iter(LogScanner(self._log, start, self._log.written, self._tags))

    @property
    def min_physical_offset(self) -> int:
        return self._log.min_offset

    @property
    def max_physical_offset(self) -> int:
        return self._log.written

    def next_log_file(self, offset: int) -> int:
        """First byte of the commit-log file after the one with `offset`."""
        return self._log.next_file(offset)

    # --- the index

    def plan_query(
        self, topic: str, key: str, max_count: int, begin: int, end: int, index_type: str = ""
    ) -> IndexSearch:
        """Looks for messages by key, or by tag with type T: `run` it in a worker thread.

        Store timestamps from `begin` to `end` count.
        """
        return self._index.search(topic, key, max_count, begin, end, index_type)

    @property
    def is_indexing(self) -> bool:
        """Whether the index learns of new messages (messageIndexEnable)."""
        return self._index.enabled

    # --- queues

    def min_offset(self, topic: str, queue_id: int) -> int:
        """Of the first message that can be read; -1 for an empty queue of type BatchCQ."""
        first = self.first_in_log(topic, queue_id)
        kept = self._kept_from.get(topic) if self._kept_from else None
        return first if kept is None else min(first, kept.get(queue_id, first))

    def bounds(self, topic: str, queue_id: int) -> tuple[int, int]:
        """`min_offset` and `max_offset`."""
        queue = self._queues.find(topic, queue_id)
        low = queue.min_offset
        if self._kept_from:
            low = self.min_offset(topic, queue_id)
        return low, queue.max_offset

    def first_in_log(self, topic: str, queue_id: int) -> int:
        """Of the first message that is in the commit log."""
        return self._queues.find(topic, queue_id).min_offset

    def kept_from(self, topic: str, queue_id: int, offset: int) -> None:
        """The queue's messages can be read from there on, even when the log has them no longer."""
        self._kept_from.setdefault(topic, {})[queue_id] = offset

    def _forget_kept(self, topic: str) -> None:
        """Of a topic that is deleted."""
        self._kept_from.pop(topic, None)

    def max_offset(self, topic: str, queue_id: int) -> int:
        return self._queues.find(topic, queue_id).max_offset

    def next_offset(self, topic: str, queue_id: int) -> int:
        """What the queue's next message gets: with SYNC_FLUSH, readers may not see the last ones yet."""
        return self._queues.find(topic, queue_id).next_offset

    def queue_entry(self, topic: str, queue_id: int, queue_offset: int) -> QueueEntry | None:
        """Where the message is; the tags code is never an address."""
        queue = self._queues.find(topic, queue_id)
        entry = queue.entry(queue_offset)
        if entry is not None:
            entry.tags_code = queue.tags_code(entry.tags_code)
        return entry

    def size_from(self, topic: str, queue_id: int, queue_offset: int) -> int:
        """About how many bytes of records the queue has from there on: some of them stand for all."""
        queue = self._queues.find(topic, queue_id)
        first, end = max(queue_offset, queue.min_offset), queue.max_offset
        entries = map(queue.entry, range(first, end, max((end - first) // _SAMPLES, 1)))
        sizes = [entry.size for entry in entries if entry is not None]
        return (end - first) * sum(sizes) // len(sizes) if sizes else 0

    def offset_by_time(self, topic: str, queue_id: int, timestamp: int, upper: bool = False) -> int:
        return self._queues.find(topic, queue_id).offset_by_time(timestamp, upper, self._log)

    def store_time(self, topic: str, queue_id: int, queue_offset: int) -> int:
        """-1 when there is no such message."""
        entry = self.queue_entry(topic, queue_id, queue_offset)
        if entry is None:
            return -1
        return store_timestamp(self._log, entry.physical_offset, entry.size)

    def earliest_store_time(self, topic: str, queue_id: int) -> int:
        """Of the queue's first message; -1 when it is empty."""
        return self.store_time(topic, queue_id, self.min_offset(topic, queue_id))

    def has_message(self, topic: str, queue_id: int, queue_offset: int) -> bool:
        """Whether the queue has this message and the log too (checkInMemByConsumeOffset).

        The real broker asks whether it is in the page cache, by a method of MappedByteBuffer that
        JDK 17 no longer has; every message counts as one in memory there.
        """
        entry = self.queue_entry(topic, queue_id, queue_offset)
        return entry is not None and self._log.contains(entry.physical_offset, entry.size)

    def topics(self) -> list[str]:
        """Topics that have a consume queue."""
        return self._queues.topics()

    def topic_names(self) -> list[str]:
        """The same in any order, for whoever goes through all of them."""
        return self._queues.topic_names()

    def lite_queues(self, topic: str, most: int | None = None) -> list[str]:
        """The light queues of a topic's lite topics."""
        return self._queues.light.of_parent(topic, most)

    def count_lite_queues(self, topic: str) -> int:
        return self._queues.light.count_of_parent(topic)

    def lite_parents(self) -> list[str]:
        """Topics that have lite topics."""
        return self._queues.light.parents()

    def has_queues(self, topic: str) -> bool:
        """Whether offsets of the topic have begun: it has a queue, or messages that are kept in files of their own."""
        return self._queues.exists(topic) or self._queues.is_compacted(topic)

    @property
    def light_queues(self) -> int:
        """How many light queues there are (getLmqNum)."""
        return len(self._queues.light)

    def queues(self, topic: str) -> list[int]:
        return self._queues.queue_ids(topic)

    def replay(
        self, topic: str, queue_id: int, begin: int, effect: Effect, bodies: bool = True
    ) -> int:
        """Apply an effect to what the queue has from an offset on; where the queue ends. Blocks.

        For records that were written before this process began.
        """
        return replay(self._log, self._queues.find(topic, queue_id), begin, effect, bodies)
