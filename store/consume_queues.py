"""All consume queues of the store: found on disk lazily, written behind in batches.

A queue's files are looked at when the queue is first used, so that a store with ten thousands of
queues opens at once. Writing behind goes in rounds: when a round is over, everything dispatched
before it began is in the files; a checkpoint states that and syncs what was written.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from trimq.codec.queue_entry import ENTRY_SIZE
from trimq.store.batch_consume_queue import BatchConsumeQueue
from trimq.store.batch_queues import BatchQueues, refuse_two_types
from trimq.store.config import StoreConfig
from trimq.store.consume_queue import ConsumeQueue
from trimq.store.errors import StoreError
from trimq.store.files import OpenFiles, remove_directory, store_error
from trimq.store.queue_bounds import Bounds
from trimq.store.queue_extension import QueueExtension

# First offset, packed entries, and their store timestamps if the queue has an extension.
Row = tuple[int, bytes, Sequence[int]]


class ConsumeQueues:
    def __init__(self, config: StoreConfig, open_files: OpenFiles) -> None:
        self._directory = str(config.consume_queue)
        self._per_file = config.mapped_file_size_consume_queue // ENTRY_SIZE
        self._buffer_bytes = config.queue_buffer_bytes
        self._open_files = open_files
        self._topics: dict[str, dict[int, ConsumeQueue]] = {}
        self._unlisted: set[str] = set()
        self.batches = BatchQueues(config, open_files)
        # Whether entries are written with an extension; ones that have it are read in any case.
        self.extended = config.enable_consume_queue_ext
        self._extension_directory = str(config.consume_queue_ext)
        self._extension_file_size = config.mapped_file_size_consume_queue_ext
        self._dirty: list[ConsumeQueue | BatchConsumeQueue] = []
        self._round: list[ConsumeQueue | BatchConsumeQueue] = []
        self._bounds = Bounds()
        self._unchecked: list[str] = []

    # --- finding

    def open(self, batch_topics: frozenset[str] = frozenset()) -> None:
        """List the topics there are. `batch_topics` have batch queues, as have those found so."""
        self.batches.open(batch_topics)
        refuse_two_types(self.batches.topics, self._directory)
        try:
            with os.scandir(self._directory) as found:
                self._unlisted.update(entry.name for entry in found if entry.is_dir())
        except FileNotFoundError:
            return

    def believe(self, bounds: Bounds, unchecked: bool) -> None:
        """Load queues by these bounds. `unchecked`: all must be looked at before a checkpoint."""
        self._bounds = bounds
        self._unchecked = list(self._unlisted) if unchecked else []
        self.batches.believe(bounds, unchecked)

    def log_begins_at(self, log_min: int) -> None:
        """Files of the commit log were deleted; queues loaded from now on heed it."""
        self._bounds.log_min = log_min

    def find(self, topic: str, queue_id: int) -> ConsumeQueue | None:
        """A queue that has, or had, messages."""
        queues = self._topics.get(topic)
        if queues is None:
            if topic not in self._unlisted:
                return None
            queues = self._load_topic(topic)
        return queues.get(queue_id)

    def get(self, topic: str, queue_id: int) -> ConsumeQueue:
        """The queue, made when it does not exist; no file is made before it has an entry."""
        queues = self._topics.get(topic)
        if queues is None:
            queues = self._load_topic(topic)
        queue = queues.get(queue_id)
        if queue is None:
            queue = queues[queue_id] = self._new(topic, queue_id)
            self._prepare(queue)
        return queue

    def _load_topic(
        self, topic: str, expected: Mapping[int, int] | None = None
    ) -> dict[int, ConsumeQueue]:
        if not topic or "/" in topic or "\0" in topic or topic in (".", ".."):
            raise StoreError(f"{topic!r} cannot be a topic's name")
        if topic in self.batches.topics:
            raise StoreError(f"{topic} has queues of type BatchCQ")
        queues: dict[int, ConsumeQueue] = {}
        if topic in self._unlisted:
            for name in os.listdir(self.directory_of(topic)):
                if name.isdigit():
                    queue = queues[int(name)] = self._new(topic, int(name))
                    at = expected.get(int(name), -1) if expected else -1
                    queue.load(self._bounds, at)
                    if at < 0:
                        queue.clear_behind()
                    self._prepare(queue)
            self._unlisted.discard(topic)
        self._topics[topic] = queues
        return queues

    def _new(self, topic: str, queue_id: int) -> ConsumeQueue:
        directory = f"{self._directory}/{topic}/{queue_id}"
        queue = ConsumeQueue(topic, queue_id, directory, self._per_file, self._open_files)
        directory = f"{self._extension_directory}/{topic}/{queue_id}"
        if self.extended or os.path.isdir(directory):
            queue.extension = QueueExtension(directory, self._extension_file_size, self._open_files)
        return queue

    def _prepare(self, queue: ConsumeQueue) -> None:
        """Before its first append: once a record is in the log, nothing may fail any more."""
        if self.extended:
            queue.place_extension()

    def not_loaded(self) -> list[str]:
        """Topics whose queues nobody has used yet, of either type."""
        return sorted({*self._unlisted, *self.batches.not_loaded()})

    def directory_of(self, topic: str) -> str:
        if topic in self.batches.topics:
            return self.batches.directory_of(topic)
        return f"{self._directory}/{topic}"

    def topics(self) -> list[str]:
        return sorted({*self._topics, *self._unlisted, *self.batches.with_queues()})

    def queue_ids(self, topic: str) -> list[int]:
        if topic in self.batches.topics:
            return self.batches.queue_ids(topic)
        queues = self._topics.get(topic)
        if queues is None:
            queues = self._load_topic(topic) if topic in self._unlisted else {}
        return sorted(queues)

    def restore(
        self, topic: str, rows: Mapping[int, Row], complete: bool
    ) -> tuple[int, dict[int, int]]:
        """Give queues of a topic their newest entries.

        Returns how many were new, and the queues that end before their row begins, with their end.
        `complete`: nothing lies before the rows, so an empty queue may begin anywhere. Otherwise
        one that has lost its folder is behind, unless its topic's folder is gone too: then the
        topic was deleted.
        """
        known = not complete and (topic in self._topics or topic in self._unlisted)
        if topic not in self._topics:
            self._load_topic(topic, {number: row[0] for number, row in rows.items()})
        added = 0
        behind: dict[int, int] = {}
        for queue_id, (first, entries, times) in rows.items():
            queue = self.get(topic, queue_id)
            if complete and first != queue.max_offset == queue.min_offset and not queue.is_new:
                # All that was known of it is gone from the log, or was never vouched for.
                queue.delete()
            lost = known and first > 0 and queue.first_file < 0 and not queue.unwritten_bytes
            if lost or (first > queue.max_offset and not queue.is_new):
                behind[queue_id] = queue.max_offset
                continue
            before = queue.max_offset if first else 0
            queue.restore(first, entries, self._bounds, times)
            added += queue.max_offset - max(before, first)
            if queue.unwritten_bytes:
                self.appended(queue)
        return added, behind

    def check_some(self, limit: int) -> bool:
        """Look at some queues that were not used since a crash; True when no more are left.

        A queue may hold entries that point behind the log's old end. They have to go before a
        checkpoint vouches for the records that lie there now.
        """
        while self._unchecked and limit > 0:
            topic = self._unchecked.pop()
            if topic in self._unlisted:
                limit -= max(len(self._load_topic(topic)), 1)
        return not self._unchecked and self.batches.check_some(limit)

    def loaded_topics(self) -> list[str]:
        return [*self._topics, *self.batches.loaded_topics()]

    def of_topic(self, topic: str) -> list[ConsumeQueue | BatchConsumeQueue]:
        """The topic's queues that are loaded."""
        return [*self._topics.get(topic, {}).values(), *self.batches.of_topic(topic)]

    # --- writing behind

    def append_extended(
        self,
        queue: ConsumeQueue,
        physical_offset: int,
        size: int,
        tags_code: int,
        store_timestamp: int,
    ) -> None:
        """Put an entry whose tags code is in a unit (ConsumeQueue.putMessagePositionInfoWrapper)."""
        if queue.extension is not None:
            tags_code = queue.extension.put(tags_code, store_timestamp)
        queue.append(physical_offset, size, tags_code)

    def appended(self, queue: ConsumeQueue | BatchConsumeQueue) -> None:
        """Call after every append: it remembers the queue for the next round."""
        if not queue.dirty:
            queue.dirty = True
            self._dirty.append(queue)
        elif queue.unwritten_bytes >= self._buffer_bytes:
            try:
                queue.write_out()
            except OSError:
                # The message itself is stored. The queue keeps its turn in `write_some`, which
                # tries again and reports.
                return

    @property
    def clean(self) -> bool:
        """Whether every entry is in the files."""
        return not self._dirty and not self._round

    @property
    def round_over(self) -> bool:
        return not self._round

    def begin_round(self) -> None:
        """From now on: write the queues that have entries at this moment."""
        self._round += self._dirty
        self._dirty = []

    def write_some(self, limit: int) -> None:
        """Write up to `limit` queues of the round. On StoreError the rest stays for later."""
        try:
            for _ in range(min(limit, len(self._round))):
                queue = self._round[-1]
                queue.write_out()
                queue.dirty = False
                self._round.pop()
        except OSError as error:
            raise store_error(error, "writing consume queues") from error

    # --- deleting

    def delete_queue(self, queue: ConsumeQueue) -> None:
        """Remove one queue; its offsets begin anew with its next message."""
        try:
            queue.delete()
            del self._topics[queue.topic][queue.queue_id]
            if not self._topics[queue.topic]:
                del self._topics[queue.topic]
                self._remove_empty_directories(queue.topic)
        except OSError as error:
            raise store_error(error, f"deleting queue {queue.queue_id} of {queue.topic}") from error

    def _remove_empty_directories(self, topic: str) -> None:
        for parent in (self._directory, self._extension_directory):
            directory = Path(parent, topic)
            if directory.is_dir() and not any(directory.iterdir()):
                remove_directory(directory)
                self._open_files.unsynced.add_directories([parent])

    def delete_topic(self, topic: str) -> bool:
        """Remove a topic's queues; False when there are none (ConsumeQueueStore.deleteTopic)."""
        try:
            is_batch = topic in self.batches.topics
            return (self.batches.delete_topic if is_batch else self._delete_topic)(topic)
        except OSError as error:
            raise store_error(error, f"deleting the queues of {topic}") from error

    def _delete_topic(self, topic: str) -> bool:
        queue_ids = self.queue_ids(topic)
        if topic not in self._topics:
            return False
        for queue_id in queue_ids:
            self._topics[topic][queue_id].delete()
        self._remove_empty_directories(topic)
        # Queues that wait for their turn have nothing to write any more, and a checkpoint knows
        # that files may be gone: with ten thousands of them, looking for these would take long.
        del self._topics[topic]
        return True
