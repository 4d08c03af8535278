"""A broker with a topic that becomes elastic, without sockets; it can be stopped and started again."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.processors.conftest import NOW, Broker
from trimq.broker.cluster.announcement import Announcement
from trimq.broker.config import BrokerConfig
from trimq.broker.elastic.model import Change, Move, new_topic
from trimq.broker.elastic.readers import ElasticReaders
from trimq.broker.elastic.retired_queues import RetiredQueues
from trimq.broker.groups.clients.record import Client
from trimq.codec.bodies.heartbeat import ConsumerData, SubscriptionData
from trimq.codec.bodies.topics import TopicConfig
from trimq.store.messages.message import Message

TOPIC, GROUP = "T", "CG"


class ElasticBroker:
    """T has 8 partitions in 2 queues, and 4 read queues."""

    def __init__(self, root: Path, **settings: Any) -> None:
        self._root = self.store_root = root
        self._settings = settings
        self.start()

    def start(self, now: int = NOW, config: BrokerConfig | None = None) -> None:
        """`now`: what the clock says, in milliseconds since 1970."""
        self.broker = Broker(self._root, config or BrokerConfig(), **self._settings)
        self.broker.clock.now = now
        self.broker.store.open()
        self.broker.parts.load()
        self.store = self.broker.store
        self.topics, self.offsets = self.broker.topics, self.broker.offsets
        self.announcement = Announcement(self.broker.config, self.broker.identity, self.topics)
        self.maps, self.groups = self.broker.elastic.maps, self.broker.elastic.groups

    def kill(self) -> None:
        """The process ends, and what is written stays; offsets and topics are in their files."""
        self.broker.parts.close()
        self.store.abandon()

    def create(self, queues: int = 2, read: int = 4) -> None:
        self.maps.create(TOPIC, new_topic(queues, 8))
        self.maps.resize(TOPIC, read, queues)

    def put(self, partition: int, count: int = 1) -> None:
        for _ in range(count):
            queue = self.maps.place(TOPIC, partition)
            self.store.put(Message(TOPIC, queue, f"{partition}".encode()))

    def move(self, **targets: int) -> Change:
        """`move(p2=3)`: partition 2 goes to queue 3."""
        return self.maps.change(TOPIC, Move({int(lp[1:]): to for lp, to in targets.items()}))

    def commit(self, queue: int, offset: int, group: str = GROUP) -> None:
        self.offsets.commit("client", group, TOPIC, queue, offset)

    def join(
        self, group: str = GROUP, where: str = "CONSUME_FROM_LAST_OFFSET", model: str = "CLUSTERING"
    ) -> Client:
        """A member that subscribes T."""
        data = ConsumerData(
            group_name=group,
            consume_type="CONSUME_PASSIVELY",
            message_model=model,
            consume_from_where=where,
            subscription_data_set=[SubscriptionData(topic=TOPIC, sub_string="*", sub_version=1)],
        )
        client = Client(self.broker.peer, "client", 0, 513, self.broker.clock.millis())
        self.broker.consumers.register(client, data, False)
        return client

    def tend(self) -> None:
        """What the broker does every few seconds with queues behind the last one in use."""
        broker = self.broker
        readers = ElasticReaders(self.groups, broker.consumers, self.offsets, self.store)
        RetiredQueues(self.maps, readers, self.topics).tend(TOPIC)

    def topic(self) -> TopicConfig:
        found = self.topics.get(TOPIC)
        assert found is not None
        return found


@pytest.fixture
def make_elastic(tmp_path: Path) -> Iterator[Callable[..., ElasticBroker]]:
    made: list[ElasticBroker] = []

    def make(**settings: Any) -> ElasticBroker:
        made.append(ElasticBroker(tmp_path / f"store{len(made)}", **settings))
        return made[-1]

    yield make
    for one in made:
        one.store.close()


@pytest.fixture
def elastic(make_elastic: Callable[..., ElasticBroker]) -> ElasticBroker:
    found = make_elastic()
    found.create()
    return found
