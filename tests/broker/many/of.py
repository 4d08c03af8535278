"""Some of everything that clients can have many of, or ten times as much."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from trimq.base.clock import Clock
from trimq.broker.config import BrokerConfig
from trimq.broker.groups.clients.record import Client
from trimq.broker.groups.consumers.online import Consumers
from trimq.broker.groups.offsets.committed import ConsumerOffsets
from trimq.broker.lite.registry import LiteSubscriptions
from trimq.broker.pop.order.rules import OrderedBlocks, OrderedQueue
from trimq.broker.stats.traffic import Traffic
from trimq.codec.bodies.heartbeat import ConsumerData, SubscriptionData
from trimq.remoting.testing import RecordingPeer

SOME, MANY = 30, 300
NOW = 1_700_000_000_000
T, G = "T0", "g0"


class HandClock(Clock):
    def __init__(self) -> None:
        self.now = NOW

    def millis(self) -> int:
        return self.now

    steady_millis = millis


class Of:
    """One table of each kind in which there are so many topics, groups and clients."""

    def __init__(self, directory: Path, count: int) -> None:
        self.directory = directory
        self.directory.mkdir()
        self.count = count
        self.clock = HandClock()
        self.topics = [f"T{number}" for number in range(count)]
        self.groups = [f"g{number}" for number in range(count)]
        self.lite_queues = [lite_queue(number) for number in range(count)]

    def offsets(self, pairs: Iterable[tuple[str, str]], has_light: bool = False) -> ConsumerOffsets:
        offsets = ConsumerOffsets(BrokerConfig(), self.directory, self.clock, has_light)
        for group, topic in pairs:
            offsets.commit("c", group, topic, 0, 1)
            offsets.commit_pull(group, topic, 0, 1)
        return offsets

    def batches(self, pairs: Iterable[tuple[str, str]]) -> OrderedBlocks:
        batches = OrderedBlocks(self.clock)
        for group, topic in pairs:
            batches.begin(OrderedQueue(topic, group, 0), None, NOW, 1000, [0])
        return batches

    def traffic(self, pairs: Iterable[tuple[str, str]]) -> Traffic:
        traffic = Traffic(lambda topic: False)
        for group, topic in pairs:
            traffic.handed_out(group, topic, 1, 1)
            traffic.came_back(group, topic)
        return traffic

    @property
    def alone(self) -> list[tuple[str, str]]:
        """Each group reads a topic of its own."""
        return list(zip(self.groups, self.topics, strict=True))

    def one_group(self) -> Iterator[bytes]:
        return self.offsets(self.of_group).encoded()

    @property
    def of_topic(self) -> list[tuple[str, str]]:
        return [(group, T) for group in self.groups]

    @property
    def of_group(self) -> list[tuple[str, str]]:
        return [(G, topic) for topic in self.topics]

    def lite(self, **groups: bool) -> LiteSubscriptions:
        config = BrokerConfig(max_lite_subscription_count=10 * MANY)
        metadata: Any = Metadata(groups)
        return LiteSubscriptions(config, metadata, self.clock)

    def members(self, group: str, count: int, **settings: Any) -> Consumers:
        """So many that are in one group, on a connection each."""
        consumers = Consumers(BrokerConfig(**settings), self.clock)
        for number in range(count):
            consumers.register(self.client(number), data_of(group, ["T"]), False)
        return consumers

    def client(self, number: int) -> Client:
        peer = RecordingPeer(f"10.0.0.1:{number + 1}", number + 1)
        return Client(peer, f"c{number}", 0, 0, self.clock.now)


class Metadata:
    """Groups by name, and whether they read all lite topics."""

    def __init__(self, groups: dict[str, bool]) -> None:
        self.groups = groups

    def is_wildcard(self, group: str) -> bool:
        return self.groups.get(group, False)

    def is_exclusive(self, group: str) -> bool:
        return False

    def begins_anew_when_left(self, group: str) -> bool:
        return False


def data_of(group: str, topics: Iterable[str]) -> ConsumerData:
    return ConsumerData(
        group_name=group,
        consume_type="CONSUME_PASSIVELY",
        message_model="CLUSTERING",
        consume_from_where="CONSUME_FROM_LAST_OFFSET",
        subscription_data_set=[SubscriptionData(topic=topic, sub_string="*") for topic in topics],
    )


def lite_queue(number: int) -> str:
    return f"%LMQ%$P${number}"
