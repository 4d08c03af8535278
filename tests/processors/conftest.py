"""A broker's managers over a real store in a temporary folder, without sockets."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from trimq.broker.clock import Clock
from trimq.broker.config import BrokerConfig
from trimq.broker.consumers import Consumers
from trimq.broker.identity import BrokerIdentity
from trimq.broker.offsets import ConsumerOffsets
from trimq.broker.queue_locks import QueueLocks
from trimq.broker.static_queues import StaticQueues
from trimq.broker.stats import BrokerStats
from trimq.broker.subscription_groups import SubscriptionGroups
from trimq.broker.topics import Topics
from trimq.broker.traffic import Traffic
from trimq.codec.addresses import pack_host
from trimq.codec.command import RemotingCommand
from trimq.codec.headers.base import Header, encode_header
from trimq.codec.record import Record, parse_record
from trimq.remoting.contract import Peer, RemotingError, Request
from trimq.store.config import StoreConfig
from trimq.store.message_store import MessageStore

NOW = 1_700_000_000_000


class HandClock(Clock):
    """Stands still until it is moved."""

    def __init__(self) -> None:
        self.now = NOW

    def millis(self) -> int:
        return self.now


class OtherBrokers:
    """Stand for brokers of the same cluster: what they are asked, and what they answer."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, int, dict[str, str]]] = []
        self.answers: dict[int, RemotingCommand] = {}

    def will_answer(self, code: int, reply: int = 0, body: bytes = b"", **fields: object) -> None:
        texts = {key: str(value) for key, value in fields.items()}
        self.answers[code] = RemotingCommand(reply, 0, ext_fields=texts, body=body)

    async def ask(self, name: str, code: int, header: Header) -> RemotingCommand:
        self.asked.append((name, int(code), encode_header(header)))
        if code not in self.answers:
            raise RemotingError(1, f"broker {name} was asked in vain")
        return self.answers[code]


class Broker:
    """Everything the processors may ask for."""

    def __init__(self, root: Path, config: BrokerConfig, **store_settings: Any) -> None:
        self.config = config
        self.clock = HandClock()
        self.identity = BrokerIdentity(
            "DefaultCluster", "broker-a", 0, "127.0.0.1:10911", "127.0.0.1:10912"
        )
        small = {"mapped_file_size_commit_log": 1 << 24}
        self.store_config = StoreConfig(root=root, **(small | store_settings))
        self.disk_use = 0.1
        self.store = MessageStore(self.store_config, self.clock.millis, lambda path: self.disk_use)
        self.topics = Topics(config, root / "config", self.clock)
        self.others = OtherBrokers()
        self.static = StaticQueues(self.topics.mappings, self.others)
        self.groups = SubscriptionGroups(config, root / "config", self.clock)
        self.consumers = Consumers(config, self.clock)
        self.offsets = ConsumerOffsets(config, root / "config", self.clock)
        self.locks = QueueLocks(self.clock)
        self.traffic = Traffic(self.topics.is_system_topic)
        self.store.add_listener(self.traffic.stored)
        self.stats = BrokerStats("DefaultCluster", self.traffic, self.clock)
        self.peer = Peer("10.0.0.7:4711", pack_host("10.0.0.7:4711"), 1)
        self.peer.takes_views = True

    def request(self, code: int, header: Any, body: bytes = b"", version: int = 513) -> Request:
        return Request(code, header, self.peer, body, version)

    def records(self, topic: str, queue_id: int = 0, offset: int = 0) -> list[Record]:
        """What a consumer of the queue would read."""
        self.store.write_staged()
        found = self.store.read(topic, queue_id, offset, 32, 1 << 24, None)
        data = b"".join(self.store.load_blocking(found.extents))
        records = []
        at = 0
        while at < len(data):
            records.append(parse_record(data, at))
            at += records[-1].total_size
        return records


@pytest.fixture
def make_broker(tmp_path: Path) -> Iterator[Callable[..., Broker]]:
    """Builds a broker; settings of the store are those that StoreConfig knows."""
    made: list[Broker] = []

    def make(**settings: Any) -> Broker:
        known = StoreConfig.__dataclass_fields__
        store_settings = {key: settings.pop(key) for key in list(settings) if key in known}
        broker = Broker(tmp_path / "store", BrokerConfig(**settings), **store_settings)
        broker.store.open()
        made.append(broker)
        return broker

    yield make
    for broker in made:
        broker.store.close()


@pytest.fixture
def broker(make_broker: Callable[..., Broker]) -> Broker:
    return make_broker()
