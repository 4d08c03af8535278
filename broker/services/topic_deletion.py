"""Deleting a topic: its lite topics, queues and offsets, its POP retry topics, and what others have of it.

Its lite topics go first, the entry in the table comes last: until then what is left can be found and deleted. So a
kill in between loses nothing but time, and the request can be repeated.
"""

from typing import Final, Protocol

from trimq.broker.config import BrokerConfig
from trimq.broker.groups.offsets.committed import ConsumerOffsets
from trimq.broker.stats.traffic import Traffic
from trimq.broker.steps import DiskSteps, Steps
from trimq.broker.topics.table import Topics
from trimq.codec.names import pop_retry_topic, pop_retry_topic_v2

_GROUPS_PER_STEP: Final = 50


class TopicStore(Protocol):
    def write_others(self) -> None: ...

    def delete_in_steps(self, topic: str) -> DiskSteps[bool]: ...


class Timers(Protocol):
    def forget_topic(self, topic: str) -> None: ...


class Blocks(Protocol):
    def forget_topic(self, topic: str) -> Steps[None]: ...


class LiteTopics(Protocol):
    def delete_topic(self, topic: str) -> DiskSteps[None]: ...


class TopicDeletion:
    def __init__(
        self,
        config: BrokerConfig,
        topics: Topics,
        offsets: ConsumerOffsets,
        store: TopicStore,
        traffic: Traffic,
        timers: Timers | None,
        blocks: Blocks,
        lite: LiteTopics,
    ) -> None:
        self._config = config
        self._topics = topics
        self._offsets = offsets
        self._store = store
        self._traffic = traffic
        self._timers = timers
        self._blocks = blocks
        self._lite = lite

    def delete(self, topic: str) -> DiskSteps[None]:
        """The topic and its retry topics. StoreError, and then it can be repeated."""
        for name in (yield from self.delete_alone(topic)):
            yield from self._delete(name)

    def delete_alone(self, topic: str) -> DiskSteps[list[str]]:
        """Its retry topics are left, and returned. StoreError, and then it can be repeated."""
        # What was sent before it goes with the topic: written behind it, it would come back in the next one's queues.
        self._store.write_others()
        self._topics.leaving.add(topic)
        try:
            yield from self._lite.delete_topic(topic)
            retries = yield from self._pop_retry_topics(topic)
            yield from self._delete(topic)
        finally:
            self._topics.leaving.discard(topic)
        return retries

    def _delete(self, name: str) -> DiskSteps[None]:
        # First what can fail, as an elastic topic's record: then the request can be repeated.
        yield from self._store.delete_in_steps(name)
        self._topics.delete(name)
        if self._timers is not None:
            self._timers.forget_topic(name)
        yield from self._offsets.forget_topic(name)
        yield from self._traffic.forget_topic(name)
        yield from self._blocks.forget_topic(name)

    def _pop_retry_topics(self, topic: str) -> Steps[list[str]]:
        found: list[str] = []
        if not self._config.clear_retry_topic_when_delete_topic:
            return found
        for number, group in enumerate(self._offsets.each_group_of(topic), 1):
            names = pop_retry_topic_v2(topic, group), pop_retry_topic(topic, group)
            found += [name for name in names if name in self._topics]
            # Little enough that a topic with some groups is deleted at once.
            if number % _GROUPS_PER_STEP == 0:
                yield
        return found
