"""What goes in and out, counted as it passes: the raw figures of broker/stats/broker_stats.py.

Counted are messages in the commit log per topic, messages handed out, popped and acknowledged per topic and
group, and messages sent back. This runs for every message, so it only adds; everything else (rates, hours,
days) is computed from samples.

What the broker writes for itself is not put by anybody: POP's checkpoints and acknowledgements, ops of
transactions, half messages that were given up, dead letters, the map of elastic topics. What was sent back counts
for SCHEDULE_TOPIC_XXXX, but not for the broker (AbstractSendMessageProcessor.consumerSendMsgBack).

Hot: compiled by mypyc when a compiler is there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from trimq.broker.steps import Steps
from trimq.broker.tables.pairs import Pairs
from trimq.codec.flags import SysFlag
from trimq.codec.names import (
    DLQ_PREFIX,
    ELASTIC_MAP_TOPIC,
    LMQ_PREFIX,
    RETRY_PREFIX,
    REVIVE_TOPIC_PREFIX,
    SCHEDULE_CONSUMER_GROUP,
    SCHEDULE_TOPIC,
    TIMER_TOPIC,
    TRANS_CHECK_MAX_TIME_TOPIC,
    TRANS_OP_HALF_TOPIC,
)
from trimq.codec.records.properties import find_property
from trimq.codec.records.property_keys import REAL_TOPIC
from trimq.store.messages.inner_batch import stored_count
from trimq.store.messages.message import Dispatched

_INNER_BATCH: Final = int(SysFlag.INNER_BATCH)
_REAL_TOPIC: Final = REAL_TOPIC.encode()
_RETRY: Final = RETRY_PREFIX.encode()
_REVIVE: Final = REVIVE_TOPIC_PREFIX.encode()
_OWN: Final = (TRANS_OP_HALF_TOPIC, TRANS_CHECK_MAX_TIME_TOPIC, ELASTIC_MAP_TOPIC)
_SCHEDULED: Final = f"{SCHEDULE_TOPIC}@{SCHEDULE_CONSUMER_GROUP}"
_OWN_PREFIXES: Final = (REVIVE_TOPIC_PREFIX, DLQ_PREFIX)


class Flow:
    """Messages, their bytes, and in how many calls they came."""

    __slots__ = ("bytes", "goes", "is_system", "messages", "own", "own_prefix")

    def __init__(self, is_system: bool = False, own: bool = False, own_prefix: bytes = b"") -> None:
        """`own`: the broker writes it for itself; or only those records whose real topic begins with `own_prefix`."""
        self.messages = 0
        self.bytes = 0
        self.goes = 0
        self.is_system = is_system
        self.own = own
        self.own_prefix = own_prefix

    def values(self) -> tuple[int, int, int]:
        return self.messages, self.bytes, self.goes


class Traffic:
    """All flows of one broker; keys are topics, or `topic@group`.

    `own_*` leave out the system topics (BrokerStatsManager's ..._WITHOUT_SYSTEM_TOPIC).
    """

    __slots__ = (
        "_folds_light",
        "_is_system",
        "_own",
        "_pairs",
        "acks",
        "acks_of_group",
        "checkpoints",
        "checkpoints_of_group",
        "found",
        "missed",
        "own_pulled",
        "own_written",
        "pulled",
        "pulled_bytes",
        "pulls",
        "put",
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
        # The keys of what is counted by topic and group.
        self._pairs = Pairs()
        # Of users and of the broker's own topics, as far as anybody puts something there.
        self.topics: dict[str, Flow] = {}
        self._own: dict[str, Flow] = {}
        self.checkpoints_of_group: dict[str, Flow] = {}
        self.acks_of_group: dict[str, Flow] = {}
        self.checkpoints = 0
        self.acks = 0
        self.pulls: dict[str, Flow] = {}
        self.sent_back: dict[str, Flow] = {}
        self.written = 0
        self.written_bytes = 0
        self.put = 0
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
        flow = self.topics.get(topic)
        if flow is None:
            flow = self._flow_of(topic)
        prefix = flow.own_prefix
        count = 0
        left_out = 0
        size = 0
        at = start
        while at < end:
            message = messages[at]
            if message.topic != topic:
                break
            size += message.size
            count += stored_count(message.properties) if message.sys_flag & _INNER_BATCH else 1
            if prefix and (find_property(message.properties, _REAL_TOPIC) or b"").startswith(
                prefix
            ):
                left_out += 1
            at += 1
        self.written += count
        self.written_bytes += size
        if flow.own:
            return at
        self.put += count - left_out
        if topic == TIMER_TOPIC:
            # Checkpoints on the wheel; what was sent back does count for the topic of delays.
            count -= left_out
        if count:
            self.topics[topic] = flow
            flow.messages += count
            flow.bytes += size
            flow.goes += at - start
        if not flow.is_system:
            self.own_written += count
        return at

    def _flow_of(self, topic: str) -> Flow:
        """Of a topic that has none, or of one of the broker's own."""
        flow = self._own.get(topic)
        if flow is not None:
            return flow
        is_system = self._is_system(topic)
        if topic in _OWN or topic.startswith(_OWN_PREFIXES):
            flow = self._own[topic] = Flow(is_system, own=True)
        elif topic == TIMER_TOPIC:
            flow = self._own[topic] = Flow(is_system, own_prefix=_REVIVE)
        elif topic == SCHEDULE_TOPIC:
            flow = Flow(is_system, own_prefix=_RETRY)
        else:
            flow = Flow(is_system)
        return flow

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

    def scheduled(self, count: int) -> None:
        """Delayed messages that were delivered: the level queues' own reader has got them (ScheduleMessageService)."""
        flow = self.pulls.get(_SCHEDULED)
        if flow is None:
            self._pairs.add(_SCHEDULED)
            flow = self.pulls[_SCHEDULED] = Flow(True)
        flow.messages += count
        flow.goes += count

    def popped(self, group: str, topic: str) -> None:
        """A pop that made a checkpoint (PopMessageProcessor.appendCheckPoint)."""
        self.checkpoints += 1
        self._add_of_group(self.checkpoints_of_group, group, topic, 1)

    def acknowledged(self, group: str, topic: str, count: int) -> None:
        """Popped messages that somebody has acknowledged, or whose invisible time he has changed."""
        self.acks += count
        self._add_of_group(self.acks_of_group, group, topic, count)

    def _add_of_group(self, table: dict[str, Flow], group: str, topic: str, count: int) -> None:
        if self._folds_light:
            group, topic = folded(group), folded(topic)
        key = f"{topic}@{group}"
        flow = table.get(key)
        if flow is None:
            self._pairs.add(key)
            flow = table[key] = Flow()
        flow.messages += count
        flow.goes += 1

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
            for table in self._of_groups():
                table.pop(key, None)
            self._pairs.remove(key)
            yield

    def _of_groups(self) -> list[dict[str, Flow]]:
        return [self.pulls, self.sent_back, self.checkpoints_of_group, self.acks_of_group]


def folded(name: str) -> str:
    """A topic's or group's name in figures: light queues have one together."""
    return LMQ_PREFIX if name.startswith(LMQ_PREFIX) else name
