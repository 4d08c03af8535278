"""What goes in and out, counted as it passes: the raw figures of broker/figures/stats.py.

Counted are messages in the commit log per topic, messages handed out per topic and group, and
messages sent back. This runs for every message, so it only adds; everything else (rates, hours,
days) is computed from samples.

Hot: compiled by mypyc when a compiler is there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from trimq.broker.steps import Steps
from trimq.broker.tables.pairs import Pairs
from trimq.codec.flags import SysFlag
from trimq.codec.names import LMQ_PREFIX
from trimq.store.messages.inner_batch import count_of
from trimq.store.messages.message import Dispatched

_INNER_BATCH: Final = int(SysFlag.INNER_BATCH)


class Flow:
    """Messages, their bytes, and in how many calls they came."""

    __slots__ = ("bytes", "goes", "is_system", "messages")

    def __init__(self, is_system: bool = False) -> None:
        self.messages = 0
        self.bytes = 0
        self.goes = 0
        self.is_system = is_system

    def values(self) -> tuple[int, int, int]:
        return self.messages, self.bytes, self.goes


class Traffic:
    """All flows of one broker; keys are topics, or `topic@group`.

    `own_*` leave out the system topics (BrokerStatsManager's ..._WITHOUT_SYSTEM_TOPIC).
    """

    __slots__ = (
        "_folds_light",
        "_is_system",
        "_pairs",
        "found",
        "missed",
        "own_pulled",
        "own_written",
        "pulled",
        "pulled_bytes",
        "pulls",
        "sent_back",
        "topics",
        "written",
        "written_bytes",
    )

    def __init__(self, is_system: Callable[[str], bool], folds_light: bool = False) -> None:
        """`is_system` tells the broker's own topics from its users'; asked once per flow.

        `folds_light`: what is handed out and sent back counts for all light queues together, and for all
        groups that are named so (LmqBrokerStatsManager): there may be very many.
        """
        self._is_system = is_system
        self._folds_light = folds_light
        # The keys of `pulls` and `sent_back`.
        self._pairs = Pairs()
        self.topics: dict[str, Flow] = {}
        self.pulls: dict[str, Flow] = {}
        self.sent_back: dict[str, Flow] = {}
        self.written = 0
        self.written_bytes = 0
        self.own_written = 0
        self.pulled = 0
        self.pulled_bytes = 0
        self.own_pulled = 0
        self.found = 0
        self.missed = 0

    def stored(self, messages: list[Dispatched]) -> None:
        """A listener of the store: the records of one write, usually of few topics."""
        start = 0
        end = len(messages)
        while start < end:
            start = self._count_run(messages, start, end)

    def _count_run(self, messages: list[Dispatched], start: int, end: int) -> int:
        """Count the records up to the next topic; returns where that begins."""
        topic = messages[start].topic
        count = 0
        size = 0
        at = start
        while at < end:
            message = messages[at]
            if message.topic != topic:
                break
            size += message.size
            count += count_of(message.properties) if message.sys_flag & _INNER_BATCH else 1
            at += 1
        flow = self.topics.get(topic)
        if flow is None:
            flow = self.topics[topic] = Flow(self._is_system(topic))
        flow.messages += count
        flow.bytes += size
        flow.goes += at - start
        self.written += count
        self.written_bytes += size
        if not flow.is_system:
            self.own_written += count
        return at

    def handed_out(self, group: str, topic: str, count: int, size: int) -> None:
        """A pull that found messages."""
        if self._folds_light:
            group, topic = folded(group), folded(topic)
        key = f"{topic}@{group}"
        flow = self.pulls.get(key)
        if flow is None:
            flow = self.pulls[key] = Flow(self._is_system(topic))
            self._pairs.add(key)
        flow.messages += count
        flow.bytes += size
        flow.goes += 1
        self.found += 1
        self.pulled += count
        self.pulled_bytes += size
        if not flow.is_system:
            self.own_pulled += count

    def came_back(self, group: str, topic: str) -> None:
        """A consumer could not process a message of the topic."""
        if self._folds_light:
            group, topic = folded(group), folded(topic)
        key = f"{topic}@{group}"
        flow = self.sent_back.get(key)
        if flow is None:
            flow = self.sent_back[key] = Flow()
            self._pairs.add(key)
        flow.messages += 1
        flow.goes += 1

    def forget_topic(self, topic: str) -> Steps[None]:
        """A deleted topic's flows (BrokerStatsManager.onTopicDeleted)."""
        self.topics.pop(topic, None)
        return self._forget(self._pairs.of_topic(topic))

    def forget_group(self, group: str) -> Steps[None]:
        """A deleted group's flows (BrokerStatsManager.onGroupDeleted)."""
        return self._forget(self._pairs.of_group(group))

    def _forget(self, keys: list[str]) -> Steps[None]:
        for key in keys:
            self.pulls.pop(key, None)
            self.sent_back.pop(key, None)
            self._pairs.remove(key)
            yield


def folded(name: str) -> str:
    """A topic's or group's name in figures: light queues have one together."""
    return LMQ_PREFIX if name.startswith(LMQ_PREFIX) else name
