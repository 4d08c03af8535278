"""Queues on a slave of topics that its master does not have any more.

A topic that was deleted before the slave came is in no table of either, but its records are still in the log, and
queues follow them. Nobody may be taken for such a topic that is new and not in the table yet: only who was unknown
before the master was asked, for the log had its records then, and the master has a topic before its first record.
"""

import logging
from collections.abc import Callable
from typing import Final

from trimq.broker.topics.table import Topics
from trimq.codec.names import is_light
from trimq.store.errors import StoreError
from trimq.store.message_store import MessageStore

log: Final = logging.getLogger("trimq.broker")


class TopicsGone:
    def __init__(self, topics: Topics, store: MessageStore) -> None:
        self._topics = topics
        self._store = store
        # Has the master's table asked for once more.
        self.ask_soon: Callable[[], object] = lambda: None
        # Unknown when the last answer came.
        self._unknown: set[str] = set()

    def followed(self) -> None:
        """The master's table has come, and was asked for after the last one had."""
        unknown = {topic for topic in self._store.topics() if self._is_unknown(topic)}
        for topic in sorted(unknown & self._unknown):
            unknown.discard(topic)
            try:
                self._store.delete_topic(topic)
            except StoreError as error:
                log.error("queues of a deleted topic stay: topic=%s reason=%s", topic, error)
                continue
            log.info("queues of a topic deleted that the master does not have: topic=%s", topic)
        self._unknown = unknown
        if unknown:
            self.ask_soon()

    def _is_unknown(self, topic: str) -> bool:
        return not (topic in self._topics or is_light(topic) or self._topics.is_system_topic(topic))
