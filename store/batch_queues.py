"""The batch consume queues of the store: those of topics with `queue.type=BatchCQ`.

Which topics those are the broker knows from its topic table; queues that are found on disk count too.
A queue's type never changes, but a topic may be deleted and made again with another one.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from trimq.codec.batch_queue_entry import BATCH_ENTRY_SIZE
from trimq.store.batch_consume_queue import BatchConsumeQueue
from trimq.store.config import StoreConfig
from trimq.store.errors import StoreError
from trimq.store.files import OpenFiles, remove_directory, store_error
from trimq.store.queue_bounds import Bounds


class BatchQueues:
    """`topics` is for others to look into: most stores have none."""

    def __init__(self, config: StoreConfig, open_files: OpenFiles) -> None:
        self.topics: set[str] = set()
        self._directory = str(config.batch_consume_queue)
        self._file_size = (
            config.mapper_file_size_batch_consume_queue // BATCH_ENTRY_SIZE * BATCH_ENTRY_SIZE
        )
        self._open_files = open_files
        self._queues: dict[str, dict[int, BatchConsumeQueue]] = {}
        self._unlisted: set[str] = set()
        self._bounds = Bounds()
        self._unchecked: list[str] = []

    # --- finding

    def open(self, declared: Iterable[str]) -> None:
        """List the topics there are."""
        self.topics.update(declared)
        try:
            with os.scandir(self._directory) as found:
                self._unlisted.update(
                    entry.name for entry in found if entry.is_dir() and queue_ids_in(entry.path)
                )
        except FileNotFoundError:
            return
        self.topics.update(self._unlisted)

    def believe(self, bounds: Bounds, unchecked: bool) -> None:
        """Load queues by these bounds. `unchecked`: all must be looked at before a checkpoint."""
        self._bounds = bounds
        self._unchecked = list(self._unlisted) if unchecked else []

    def check_some(self, limit: int) -> bool:
        """Look at some queues that were not used since a crash; True when no more are left."""
        while self._unchecked and limit > 0:
            limit -= max(len(self._of(self._unchecked.pop())), 1)
        return not self._unchecked

    def declare(self, topic: str) -> None:
        """From now on the topic's queues are of this type."""
        self.topics.add(topic)

    def find(self, topic: str, queue_id: int) -> BatchConsumeQueue | None:
        """A queue that has, or had, messages."""
        return self._of(topic).get(queue_id)

    def get(self, topic: str, queue_id: int) -> BatchConsumeQueue:
        """The queue, made when it does not exist; no file is made before it has an entry."""
        queues = self._of(topic)
        queue = queues.get(queue_id)
        if queue is None:
            queue = queues[queue_id] = self._new(topic, queue_id)
        return queue

    def _of(self, topic: str) -> dict[int, BatchConsumeQueue]:
        queues = self._queues.get(topic)
        if queues is None:
            queues = {}
            for queue_id in queue_ids_in(self.directory_of(topic)):
                queue = queues[queue_id] = self._new(topic, queue_id)
                queue.load(self._bounds)
            self._queues[topic] = queues
            self._unlisted.discard(topic)
        return queues

    def _new(self, topic: str, queue_id: int) -> BatchConsumeQueue:
        directory = f"{self.directory_of(topic)}/{queue_id}"
        return BatchConsumeQueue(topic, queue_id, directory, self._file_size, self._open_files)

    def with_queues(self) -> list[str]:
        """The topics that have a queue, or files of one."""
        return sorted(self._unlisted | {topic for topic, queues in self._queues.items() if queues})

    def queue_ids(self, topic: str) -> list[int]:
        return sorted(self._of(topic))

    def not_loaded(self) -> list[str]:
        """Topics whose queues nobody has used yet."""
        return list(self._unlisted)

    def loaded_topics(self) -> list[str]:
        return list(self._queues)

    def of_topic(self, topic: str) -> list[BatchConsumeQueue]:
        """The topic's queues that are loaded."""
        return list(self._queues.get(topic, {}).values())

    def directory_of(self, topic: str) -> str:
        return f"{self._directory}/{topic}"

    # --- deleting

    def delete_if_idle(self, topic: str, queue_id: int, log_min: int) -> bool:
        """Remove the queue if its last record has expired; its offsets begin anew."""
        queue = self._of(topic).get(queue_id)
        last = queue.last() if queue is not None else None
        if queue is None or last is None or last.physical_offset >= log_min:
            return False
        if queue.next_offset != queue.max_offset:
            return False
        try:
            queue.delete()
            del self._queues[topic][queue_id]
            if not self._queues[topic]:
                self._remove_empty_directory(topic)
        except OSError as error:
            raise store_error(error, f"deleting queue {queue_id} of {topic}") from error
        return True

    def delete_topic(self, topic: str) -> bool:
        """Remove the topic's queues, and what is known of its type; False when there are none."""
        queues = self._of(topic)
        for queue in queues.values():
            queue.delete()
        del self._queues[topic]
        self.topics.discard(topic)
        self._remove_empty_directory(topic)
        return bool(queues)

    def _remove_empty_directory(self, topic: str) -> None:
        directory = self.directory_of(topic)
        if os.path.isdir(directory) and not os.listdir(directory):
            remove_directory(directory)
            self._open_files.unsynced.add_directories([self._directory])


def queue_ids_in(directory: str) -> list[int]:
    """Folders named by a number."""
    try:
        return [int(name) for name in os.listdir(directory) if name.isdigit()]
    except FileNotFoundError:
        return []


def refuse_two_types(topics: Iterable[str], consume_queue_directory: str) -> None:
    """A topic of this type must not have consume queues of the ordinary one (queueTypeShouldBe)."""
    for topic in topics:
        directory = f"{consume_queue_directory}/{topic}"
        if queue_ids_in(directory):
            raise StoreError(
                f"{directory} has consume queues, but the queue.type of {topic} is BatchCQ. "
                "Remove that folder: the queues are then rebuilt from the commit log"
            )
