"""What is derived from the commit log follows it when its oldest files are gone.

Consume queues get a new `min_offset` and lose the files whose entries all point before the log
(CleanConsumeQueueService, ConsumeQueue.deleteExpiredFile); so do the other derived files. Done in
steps of a few queues each. `find_expired` and `find_idle` look at queues that nobody has used yet:
they only read, so they run in a worker thread.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from typing import Final, Protocol

from trimq.codec.batch_queue_entry import BATCH_ENTRY_SIZE, parse_batch_entries
from trimq.codec.queue_entry import ENTRY_SIZE, parse
from trimq.store.batch_consume_queue import BatchConsumeQueue
from trimq.store.commit_log import CommitLog
from trimq.store.consume_queue import ConsumeQueue
from trimq.store.consume_queues import ConsumeQueues
from trimq.store.files import store_error

log = logging.getLogger("trimq.store")

# Queues whose min_offset one step corrects: about 0.5 ms.
QUEUES_PER_STEP: Final = 16


class Derived(Protocol):
    """Other files that are made from the commit log, like the index."""

    def delete_before(self, min_physical_offset: int) -> object:
        """Delete the files that know nothing but records before that offset."""


class Trimming:
    def __init__(self, commit_log: CommitLog, queues: ConsumeQueues) -> None:
        self.derived: list[Derived] = []
        """Told of every new beginning of the commit log, after the consume queues."""
        self.deleted_files = 0
        self._log = commit_log
        self._queues = queues
        self._log_min = 0
        self._busy = False
        self._topics: list[str] = []
        self._todo: list[ConsumeQueue | BatchConsumeQueue] = []
        self._has_lost = False

    # --- consume queues follow the log

    def begin(self) -> bool:
        """Whether there is anything to do: the log begins elsewhere, or the last run was cut short."""
        if self._log.min_offset > self._log_min:
            self._log_min = self._log.min_offset
            self._queues.log_begins_at(self._log_min)
            self._topics = self._queues.loaded_topics()
            self._todo = []
            self._busy = True
        return self._busy

    def not_loaded(self) -> list[str]:
        return self._queues.not_loaded()

    def find_expired(self, topics: list[str]) -> list[str]:
        """Of these topics, those with a file that can go (worker thread)."""
        log_min = self._log_min
        return [
            topic
            for topic in topics
            if any(
                begins_before(files, log_min, self._entry_size(topic))
                for files in self._files(topic)
            )
        ]

    def take_up(self, topic: str) -> None:
        """Load a topic's queues, so that they have their turn."""
        self._queues.queue_ids(topic)
        self._topics.append(topic)

    def step(self) -> bool:
        """Correct some queues, up to the first file that is deleted.

        True when a queue is done that has lost files: then it is time for a pause.
        """
        for _ in range(QUEUES_PER_STEP):
            if not self._todo and self._topics:
                self._todo = self._queues.of_topic(self._topics.pop())
            if not self._todo:
                continue
            queue = self._todo.pop()
            if self._trim(queue):
                self._todo.append(queue)
                self._has_lost = True
                return False
            if self._has_lost:
                self._has_lost = False
                return True
        return False

    def _trim(self, queue: ConsumeQueue | BatchConsumeQueue) -> bool:
        """Delete one file at most."""
        try:
            queue.correct_min_offset(self._log_min)
            path = queue.delete_expired_file()
        except OSError as error:
            raise store_error(error, f"trimming {queue.topic} {queue.queue_id}") from error
        if not path:
            return False
        self.deleted_files += 1
        log.info(
            "consume-queue file deleted path=%s min_offset=%d log_begins_at=%d",
            path,
            queue.min_offset,
            self._log_min,
        )
        return True

    @property
    def has_more(self) -> bool:
        return bool(self._todo or self._topics)

    def trim_derived(self) -> None:
        """The other derived files, once the queues are done; ends what `begin` began."""
        for one in self.derived:
            one.delete_before(self._log_min)
        self._busy = False

    # --- queues without any record left (CLEAN_EXPIRED_CONSUMEQUEUE)

    def find_idle(self, topics: list[str], log_min: int) -> list[str]:
        """Of these topics, those that may have a queue without any record (worker thread)."""
        return [
            topic
            for topic in topics
            if any(
                last_file_begins_before(files, log_min, self._entry_size(topic))
                for files in self._files(topic)
            )
        ]

    def delete_if_idle(self, topic: str, queue_id: int) -> bool:
        """Delete the queue if its last record is gone (ConsumeQueueStore.cleanExpired).

        One that never had a message stays.
        """
        if topic in self._queues.batches.topics:
            return self._queues.batches.delete_if_idle(topic, queue_id, self._log.min_offset)
        queue = self._queues.find(topic, queue_id)
        if queue is None or not self._is_idle(queue):
            return False
        self._queues.delete_queue(queue)
        return True

    def _is_idle(self, queue: ConsumeQueue) -> bool:
        if queue.max_offset == 0 or queue.next_offset != queue.max_offset:
            return False
        queue.correct_min_offset(self._log.min_offset)
        return queue.min_offset == queue.max_offset

    # --- looking at files (worker thread)

    def _files(self, topic: str) -> Iterator[list[str]]:
        """The files of each of the topic's queues, the oldest first (worker thread)."""
        directory = self._queues.directory_of(topic)
        for name in numbered(directory):
            files = numbered(f"{directory}/{name}")
            if files:
                yield [f"{directory}/{name}/{file}" for file in files]

    def _entry_size(self, topic: str) -> int:
        return BATCH_ENTRY_SIZE if topic in self._queues.batches.topics else ENTRY_SIZE


def begins_before(files: list[str], log_min: int, entry_size: int) -> bool:
    """Whether the first of several files has only entries of records that are gone."""
    if len(files) < 2:
        return False
    last = physical_offset_in(files[0], -1, entry_size)
    return last is not None and last < log_min


def last_file_begins_before(files: list[str], log_min: int, entry_size: int) -> bool:
    first = physical_offset_in(files[-1], 0, entry_size)
    return first is not None and first < log_min


def numbered(directory: str) -> list[str]:
    """Nothing when the directory is no longer there: topics are deleted at any time."""
    try:
        return sorted(name for name in os.listdir(directory) if name.isdigit())
    except (FileNotFoundError, NotADirectoryError):
        return []


def physical_offset_in(path: str, index: int, entry_size: int) -> int | None:
    """Of the first (0) or the last (-1) entry of a file; None when there is no such file."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        position = 0 if index == 0 else os.fstat(fd).st_size - entry_size
        data = os.pread(fd, entry_size, max(position, 0))
    finally:
        os.close(fd)
    if len(data) < entry_size:
        return None
    if entry_size == ENTRY_SIZE:
        return parse(data).physical_offset
    return parse_batch_entries(data)[0].physical_offset
