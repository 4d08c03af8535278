"""A slave deletes what its master says that it has deleted, and nothing else (broker/topics/deleted_topics.py).

A topic that is in no table of the master's may be one whose table was lost: its queues stay. Of one that was deleted,
the queues go that end before the log did at that moment; others belong to a topic of that name that was made anew.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Container, Mapping
from typing import Final

from trimq.broker.topics.table import Topics
from trimq.store.errors import StoreError
from trimq.store.message_store import MessageStore

log: Final = logging.getLogger("trimq.broker")


class SlaveDeletions:
    def __init__(self, topics: Topics, store: MessageStore, derived: Callable[[], int]) -> None:
        """`derived`: how far queues follow the copied log."""
        self._topics = topics
        self._store = store
        self._derived = derived
        # Has the master's table asked for once more.
        self.ask_soon: Callable[[], object] = lambda: None

    def follow(self, deletions: Mapping[str, int], there: Container[str]) -> None:
        """What a master with the same log says; `there`: the topics that it has."""
        for topic, log_end in deletions.items():
            if log_end > self._derived():
                # What was deleted is not all here yet.
                self.ask_soon()
                continue
            if topic not in there:
                self._topics.follow_deletion(topic)
            self._delete_queues(topic, log_end)

    def _delete_queues(self, topic: str, log_end: int) -> None:
        queues = self._store.queues(topic)
        if not queues or any(self._end(topic, queue) >= log_end for queue in queues):
            return
        try:
            self._store.delete_topic(topic)
        except StoreError as error:
            log.error("queues of a deleted topic stay: topic=%s reason=%s", topic, error)
            return
        log.info("queues of a topic deleted that the master has deleted: topic=%s", topic)

    def _end(self, topic: str, queue_id: int) -> int:
        """Where the last record of the queue is; -1 without one."""
        last = self._store.max_offset(topic, queue_id) - 1
        entry = self._store.queue_entry(topic, queue_id, last)
        return -1 if entry is None else entry.physical_offset
