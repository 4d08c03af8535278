"""When the oldest files of the commit log are gone, what is derived from it is trimmed.

Consume queues get a new `min_offset` and lose the files whose entries all point before the log
(CleanConsumeQueueService, ConsumeQueue.deleteExpiredFile); so do the other derived files. Done in
steps of a few queues each. `find_expired` and `find_idle` examine queues that nobody has used yet:
they only read, so they run in a worker thread.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from typing import Final, Protocol

from trimq.codec.entries.queue import place_at
from trimq.store.disk.files import store_error
from trimq.store.log.commit_log import CommitLog
from trimq.store.queues.queue import Queue, QueueKind
from trimq.store.queues.queues import Queues

log = logging.getLogger("trimq.store")

# Queues whose min_offset one step corrects: about 0.5 ms.
QUEUES_PER_STEP: Final = 16


class Derived(Protocol):
    """Other files that are made from the commit log, like the index."""

    def delete_before(self, min_physical_offset: int) -> object:
        """Delete the files that refer only to records before that offset."""


class Trimming:
    def __init__(self, commit_log: CommitLog, queues: Queues) -> None:
        self.derived: list[Derived] = []
        """Told of every new beginning of the commit log, after the consume queues."""
        self.deleted_files = 0
        self._log = commit_log
        self._queues = queues
        self._log_min = 0
        self._busy = False
        self._topics: list[str] = []
        self._todo: list[Queue] = []
        self._has_lost = False

    def restart(self) -> None:
        """The queues were loaded anew: look at all of them again."""
        self._log_min = 0
        self._busy = False
        self._topics = []
        self._todo = []

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
                begins_before(files, log_min, self._queues.kind_of(topic))
                for files in self._files(topic)
            )
        ]

    def take_up(self, topic: str) -> None:
        """Load a topic's queues, so that they get their turn."""
        self._queues.queue_ids(topic)
        self._topics.append(topic)

    def step(self) -> bool:
        """Correct some queues, up to the first file that is deleted.

        True when a queue that lost files is done: then it is time for a pause.
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

    def _trim(self, queue: Queue) -> bool:
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
                last_file_begins_before(files, log_min, self._queues.kind_of(topic))
                for files in self._files(topic)
            )
        ]

    def delete_if_idle(self, topic: str, queue_id: int) -> bool:
        """Delete the queue if its last record is gone (ConsumeQueueStore.cleanExpired).

        One that never had a message stays; so does one of a compacted topic, whose messages outlive their records.
        """
        queue = self._queues.find(topic, queue_id)
        if not self._is_idle(queue) or self._queues.is_compacted(topic):
            return False
        self._queues.delete_queue(queue)
        return True

    def _is_idle(self, queue: Queue) -> bool:
        if queue.max_offset == 0 or queue.next_offset != queue.max_offset:
            return False
        queue.correct_min_offset(self._log.min_offset)
        return queue.min_offset == queue.max_offset

    # --- examining files (worker thread)

    def _files(self, topic: str) -> Iterator[list[str]]:
        """The files of each of the topic's queues, the oldest first (worker thread)."""
        directory = self._queues.kind_of(topic).directory_of(topic)
        for name in numbered(directory):
            files = numbered(f"{directory}/{name}")
            if files:
                yield [f"{directory}/{name}/{file}" for file in files]


def begins_before(files: list[str], log_min: int, kind: QueueKind) -> bool:
    """Whether the first of several files has only entries of records that are gone."""
    if len(files) < 2:
        return False
    last = physical_offset_in(files[0], -1, kind)
    return last is not None and last < log_min


def last_file_begins_before(files: list[str], log_min: int, kind: QueueKind) -> bool:
    first = physical_offset_in(files[-1], 0, kind)
    return first is not None and first < log_min


def numbered(directory: str) -> list[str]:
    """Nothing when the directory no longer exists: topics may be deleted at any time."""
    try:
        return sorted(name for name in os.listdir(directory) if name.isdigit())
    except (FileNotFoundError, NotADirectoryError):
        return []


def physical_offset_in(path: str, index: int, kind: QueueKind) -> int | None:
    """Of the first (0) or the last (-1) entry of a file; None when there is no such file."""
    size = kind.entry_size
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        position = 0 if index == 0 else os.fstat(fd).st_size - size
        data = os.pread(fd, size, max(position, 0))
    finally:
        os.close(fd)
    return place_at(data)[0] if len(data) == size else None
