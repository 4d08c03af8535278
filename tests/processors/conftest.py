"""A broker's managers over a real store in a temporary folder, without sockets."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import pytest

from trimq.base.clock import Clock
from trimq.broker.config import BrokerConfig
from trimq.broker.identity import BrokerIdentity
from trimq.codec.bodies.topics import TopicConfig
from trimq.codec.frames.command import RemotingCommand
from trimq.codec.headers.base import Header, encode_header
from trimq.codec.records.addresses import pack_host
from trimq.codec.records.record import Record, parse_record
from trimq.remoting.contract import Peer, RemotingError, Request
from trimq.settings.options import ServerOptions, server_plan
from trimq.store.config import StoreConfig
from trimq.store.message_store import MessageStore
from trimq.wiring.broker import broker_parts
from trimq.wiring.common import common_to_parts
from trimq.wiring.context import Context
from trimq.wiring.part import Parts
from trimq.wiring.parts.brokers.cluster import NameServers

T = TypeVar("T")
NOW = 1_700_000_000_000
# What no test here sets: ports, TLS and the like.
PLAN = server_plan(ServerOptions(store=Path("unused")))


class HandClock(Clock):
    """Stands still until it is moved; `jumped`: by how much its wall time was set."""

    def __init__(self) -> None:
        self.now = NOW
        self.jumped = 0

    def millis(self) -> int:
        return self.now + self.jumped

    def steady_millis(self) -> int:
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
            raise RemotingError(1, f"broker {name} could not be asked")
        return self.answers[code]

    async def run(self) -> None:
        """They need no connections."""


class Broker:
    """The parts of a broker as it is built, and what they have in common, under short names."""

    def __init__(
        self, root: Path, config: BrokerConfig, clock: Clock | None = None, **store_settings: Any
    ) -> None:
        """`clock`: for services that wait; one that is moved by hand if there is none."""
        self.config = config
        self.clock: Any = clock or HandClock()
        self.identity = BrokerIdentity(
            "DefaultCluster", "broker-a", 0, "127.0.0.1:10911", "127.0.0.1:10912"
        )
        small = {"mapped_file_size_commit_log": 1 << 24}
        self.store_config = StoreConfig(root=root, **(small | store_settings))
        self.disk_use = 0.1
        self.store = MessageStore(self.store_config, self.clock.millis, lambda path: self.disk_use)
        self.others = OtherBrokers()
        plan = replace(PLAN, broker=config, store=self.store_config)
        context = Context(plan, self.identity, self.store, self.clock)
        common = common_to_parts(context, NameServers(), self.others)
        self.parts = Parts(broker_parts(context, common))
        self.parts.listen_to(self.store)
        self.topics, self.static = common.messaging.topics.table, common.messaging.topics.static
        self.groups = common.readers.groups
        self.consumers = common.readers.clients.consumers
        self.producers, self.locks = common.readers.clients.producers, common.readers.clients.locks
        self.filters = common.features.filters
        self.offsets = common.readers.offsets
        self.lite, self.modes, self.in_flight = (
            common.features.lite,
            common.readers.modes,
            common.features.in_flight,
        )
        self.arrivals = common.messaging.arrivals
        self.elastic = common.features.elastic
        self.traffic, self.stats = common.operation.figures.traffic, common.operation.figures.stats
        self.sending, self.back = common.messaging.sends.sending, common.messaging.sends.back
        self.peer = Peer("10.0.0.7:4711", pack_host("10.0.0.7:4711"), 1)
        self.peer.takes_views = True

    def keep_batches(self, topic: str) -> None:
        """A topic whose batches stay in one record."""
        self.topics.update(TopicConfig(topic_name=topic, attributes={"+queue.type": "BatchCQ"}))
        self.store.declare_queue_type(topic, "BatchCQ")

    def processor(self, kind: type[T]) -> T:
        """The one of that class, which some part has."""
        (found,) = [one for one in self.parts.processors if type(one) is kind]
        return found

    def request(self, code: int, header: Any, body: bytes = b"", version: int = 513) -> Request:
        return Request(code, header, self.peer, body, version)

    def records(self, topic: str, queue_id: int = 0, offset: int = 0) -> list[Record]:
        """What a consumer of the queue would read, with everything on the disk."""
        self.store.write_staged()
        self.store.show(self.store.flush())
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
