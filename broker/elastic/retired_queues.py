"""Queues behind the last one in use: what a topic with fewer queues has left over.

They leave the route when every group has read them, as fewer queues share out better, and come back as soon as
a group is online that has to read them: one that begins at the first message, or was set back. What is
deleted is read by nobody, and keeps none of them.
"""

import logging
from collections.abc import Sequence
from typing import Protocol

from trimq.broker.elastic.model import TopicMap
from trimq.broker.topics.table import Topics

log = logging.getLogger("trimq.elastic")


class Maps(Protocol):
    """What of ElasticMaps is needed here."""

    def state(self, topic: str) -> TopicMap | None: ...

    def resize(self, topic: str, read: int, write: int) -> None: ...

    def left_queues(self, topic: str) -> Sequence[int]:
        """Queues that are not in the route and have messages."""


class Readers(Protocol):
    """Who has read a queue."""

    def behind(self, topic: str, queue: int) -> Sequence[str]:
        """The groups that have not read a queue to its end."""

    def wanting(self, topic: str, queue: int) -> Sequence[str]:
        """The groups that are online and would read more of a queue, if it was in the route."""

    def is_unseen(self, topic: str, queue: int) -> bool:
        """Whether a queue has messages, and no group has read the topic yet."""


class RetiredQueues:
    """Looks at one topic at a time; whoever plans its changes says when."""

    def __init__(self, maps: Maps, readers: Readers, topics: Topics) -> None:
        self._maps = maps
        self._readers = readers
        self._topics = topics

    def tend(self, topic: str) -> None:
        """Let them go, or have them back."""
        state, reads = self._maps.state(topic), self._reads(topic)
        if state is None or not reads:
            return
        wanted = self._wanted(topic)
        if wanted:
            log.info(
                "queues are in the route again: topic=%s up_to=%d group=%s",
                topic,
                wanted[-1][0],
                wanted[-1][1],
            )
            reads = wanted[-1][0] + 1
        elif self._needed(topic, state, reads) is None:
            reads = state.in_use
        self.tell(topic, state.in_use, reads)

    def tell(self, topic: str, writes: int, reads: int) -> None:
        """Change the topic's own numbers; NameServers hear of it at once."""
        config = self._topics.get(topic)
        if config is not None and (config.write_queue_nums, config.read_queue_nums) != (
            writes,
            reads,
        ):
            self._maps.resize(topic, reads, writes)

    def check(self, topic: str, queues: int) -> None:
        """LimitReached when the topic may not get so many. Those that it has left over do not count."""
        if self._topics.get(topic) is not None:
            self._topics.check_queues(topic, queues)

    def stage(self, topic: str) -> str | None:
        """What becomes of them, in a sentence; None without any."""
        state, reads = self._maps.state(topic), self._reads(topic)
        if state is None:
            return None
        if reads > state.in_use:
            why = self._needed(topic, state, reads) or "all groups have read them"
            return f"{_named(range(state.in_use, reads))} to leave the route: {why}"
        left = self._maps.left_queues(topic)
        if not left:
            return None
        return f"{_named(left)} not in the route, and will be for a group that has to read what is there"

    def reads(self, topic: str, at_least: int) -> int:
        """How many queues stay in the route when so many are to be there."""
        return max(self._reads(topic), at_least)

    # --- inside

    def _wanted(self, topic: str) -> list[tuple[int, str]]:
        """Queues, ascending, each with a group that is waiting for it."""
        found = []
        for queue in self._maps.left_queues(topic):
            groups = self._readers.wanting(topic, queue)
            if groups:
                found.append((queue, groups[0]))
        return found

    def _needed(self, topic: str, state: TopicMap, reads: int) -> str | None:
        """Why they stay; None: nothing keeps them."""
        for queue in range(state.in_use, reads):
            behind = self._readers.behind(topic, queue)
            if behind:
                return f"group {behind[0]} has not read queue {queue} yet"
            if self._readers.is_unseen(topic, queue):
                return f"no group has read the topic yet, and queue {queue} has messages"
        return None

    def _reads(self, topic: str) -> int:
        config = self._topics.get(topic)
        return 0 if config is None else config.read_queue_nums


def _named(queues: Sequence[int]) -> str:
    if len(queues) == 1:
        return f"queue {queues[0]} is"
    return f"queues {queues[0]} to {queues[-1]} are"
