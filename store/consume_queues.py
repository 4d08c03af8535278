"""All consume queues of the store: found on disk lazily, written behind in batches.

A queue's files are looked at when the queue is first used, so that a store with ten thousands of
queues opens at once. Writing behind goes in rounds: when a round is over, everything dispatched
before it began is in the files; a checkpoint states that and syncs what was written.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from codec.queue_entry import ENTRY_SIZE
from store.config import StoreConfig
from store.consume_queue import ConsumeQueue
from store.errors import StoreError
from store.files import OpenFiles, remove_directory, store_error
from store.queue_bounds import Bounds


class ConsumeQueues:
    def __init__(self, config: StoreConfig, open_files: OpenFiles) -> None:
        self._directory = str(config.consume_queue)
        self._per_file = config.mapped_file_size_consume_queue // ENTRY_SIZE
        self._buffer_bytes = config.queue_buffer_bytes
        self._open_files = open_files
        self._topics: dict[str, dict[int, ConsumeQueue]] = {}
        self._unlisted: set[str] = set()
        self.foreign: frozenset[str] = frozenset()
        self._dirty: list[ConsumeQueue] = []
        self._round: list[ConsumeQueue] = []
        self._bounds = Bounds()
        self._unchecked: list[str] = []

    # --- finding

    def open(self, foreign: frozenset[str] = frozenset()) -> None:
        """List the topics there are. `foreign` ones have queues of another kind: left alone."""
        self.foreign = foreign
        try:
            with os.scandir(self._directory) as found:
                self._unlisted.update(entry.name for entry in found if entry.is_dir())
        except FileNotFoundError:
            return

    def believe(self, bounds: Bounds, unchecked: bool) -> None:
        """Load queues by these bounds. `unchecked`: all must be looked at before a checkpoint."""
        self._bounds = bounds
        self._unchecked = list(self._unlisted) if unchecked else []

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
        return queue

    def _load_topic(
        self, topic: str, expected: Mapping[int, int] | None = None
    ) -> dict[int, ConsumeQueue]:
        if not topic or "/" in topic or "\0" in topic or topic in (".", ".."):
            raise StoreError(f"{topic!r} cannot be a topic's name")
        if topic in self.foreign:
            raise StoreError(f"{topic} has queues of type BatchCQ; TriMQ cannot write them")
        queues: dict[int, ConsumeQueue] = {}
        if topic in self._unlisted:
            for name in os.listdir(f"{self._directory}/{topic}"):
                if name.isdigit():
                    queue = queues[int(name)] = self._new(topic, int(name))
                    at = expected.get(int(name), -1) if expected else -1
                    queue.load(self._bounds, at)
                    if at < 0:
                        queue.clear_behind()
            self._unlisted.discard(topic)
        self._topics[topic] = queues
        return queues

    def _new(self, topic: str, queue_id: int) -> ConsumeQueue:
        directory = f"{self._directory}/{topic}/{queue_id}"
        return ConsumeQueue(topic, queue_id, directory, self._per_file, self._open_files)

    def topics(self) -> list[str]:
        return sorted(self._topics.keys() | self._unlisted)

    def queue_ids(self, topic: str) -> list[int]:
        queues = self._topics.get(topic)
        if queues is None:
            queues = self._load_topic(topic) if topic in self._unlisted else {}
        return sorted(queues)

    def restore(
        self, topic: str, rows: Mapping[int, tuple[int, bytes]], complete: bool
    ) -> tuple[int, dict[int, int]]:
        """Give queues of a topic their newest entries: by queue id the first offset and entries.

        Returns how many were new, and the queues that end before their row begins, with their end.
        `complete`: nothing lies before the rows, so an empty queue may begin anywhere. Otherwise
        one that has lost its folder is behind, unless its topic's folder is gone too: then the
        topic was deleted.
        """
        known = not complete and (topic in self._topics or topic in self._unlisted)
        if topic not in self._topics:
            self._load_topic(topic, {number: first for number, (first, _) in rows.items()})
        added = 0
        behind: dict[int, int] = {}
        for queue_id, (first, entries) in rows.items():
            queue = self.get(topic, queue_id)
            lost = known and first > 0 and queue.first_file < 0 and not queue.unwritten_bytes
            if lost or (first > queue.max_offset and not queue.is_new):
                behind[queue_id] = queue.max_offset
                continue
            before = queue.max_offset if first else 0
            queue.restore(first, entries, self._bounds)
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
        return not self._unchecked

    def loaded(self) -> list[ConsumeQueue]:
        return [queue for queues in self._topics.values() for queue in queues.values()]

    # --- writing behind

    def appended(self, queue: ConsumeQueue) -> None:
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

    def delete_topic(self, topic: str) -> bool:
        """Remove a topic's queues; False when there are none (ConsumeQueueStore.deleteTopic)."""
        queue_ids = self.queue_ids(topic)
        if topic not in self._topics:
            return False
        try:
            for queue_id in queue_ids:
                self._topics[topic][queue_id].delete()
            directory = Path(self._directory, topic)
            if directory.is_dir() and not any(directory.iterdir()):
                remove_directory(directory)
                self._open_files.unsynced.add_directories([self._directory])
        except OSError as error:
            raise store_error(error, f"deleting the queues of {topic}") from error
        # Queues that wait for their turn have nothing to write any more, and a checkpoint knows
        # that files may be gone: with ten thousands of them, looking for these would take long.
        del self._topics[topic]
        return True
