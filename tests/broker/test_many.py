"""What clients can have many of costs each of them what is its own, and nobody else a long step.

Each thing is done with some of everything there, and with ten times as much.
"""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
import trio

from tests.broker.work import longest_of, work_of
from trimq.base.clock import Clock
from trimq.broker.config import BrokerConfig
from trimq.broker.figures.traffic import Traffic
from trimq.broker.filters.consumer_filters import ConsumerFilters
from trimq.broker.filters.expressions import Expressions
from trimq.broker.groups.client_record import Client
from trimq.broker.groups.consumers import Consumers
from trimq.broker.groups.offsets import ConsumerOffsets
from trimq.broker.groups.producers import Producers
from trimq.broker.groups.queue_locks import QueueLocks
from trimq.broker.groups.request_modes import RequestModes
from trimq.broker.groups.subscription_groups import SubscriptionGroups
from trimq.broker.lite.readers import Subscriber
from trimq.broker.lite.registry import LiteSubscriptions
from trimq.broker.lite.sharding import LiteSharding
from trimq.broker.pop.batches import OrderedBatches, OrderedQueue
from trimq.broker.pop.openings import Openings
from trimq.broker.steps import Pace, at_once
from trimq.broker.tables.pairs import parts_of
from trimq.broker.timers.metrics import TimerMetrics
from trimq.broker.topics.mappings import TopicMappings
from trimq.codec.bodies.heartbeat import ConsumerData, SubscriptionData
from trimq.codec.bodies.locks import MessageQueue
from trimq.codec.bodies.request_modes import SetMessageRequestModeRequestBody
from trimq.codec.bodies.static_topics import LogicQueueMappingItem, TopicQueueMappingDetail
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

    def batches(self, pairs: Iterable[tuple[str, str]]) -> OrderedBatches:
        batches = OrderedBatches(self.clock)
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


# --- among many, what is one's own


def a_topic_of_offsets(of: Of) -> Callable[[], object]:
    offsets = of.offsets(of.alone)
    return lambda: at_once(offsets.forget_topic(T))


def a_group_of_offsets(of: Of) -> Callable[[], object]:
    offsets = of.offsets(of.alone)
    return lambda: at_once(offsets.forget_group(G))


def the_groups_of_a_topic(of: Of) -> Callable[[], object]:
    offsets = of.offsets(of.alone)
    return lambda: offsets.groups_of(T)


def a_topic_of_light_offsets(of: Of) -> Callable[[], object]:
    offsets = of.offsets([(f"%LMQ%{group}", topic) for group, topic in of.alone], has_light=True)
    return lambda: at_once(offsets.forget_topic(T))


def a_group_of_light_offsets(of: Of) -> Callable[[], object]:
    offsets = of.offsets([(f"%LMQ%{group}", topic) for group, topic in of.alone], has_light=True)
    return lambda: at_once(offsets.forget_group(f"%LMQ%{G}"))


def a_topic_of_blocks(of: Of) -> Callable[[], object]:
    batches = of.batches(of.alone)
    return lambda: at_once(batches.forget_topic(T))


def a_group_of_blocks(of: Of) -> Callable[[], object]:
    batches = of.batches(of.alone)
    return lambda: at_once(batches.forget_group(G))


def a_topic_of_figures(of: Of) -> Callable[[], object]:
    traffic = of.traffic(of.alone)
    return lambda: at_once(traffic.forget_topic(T))


def a_group_of_figures(of: Of) -> Callable[[], object]:
    traffic = of.traffic(of.alone)
    return lambda: at_once(traffic.forget_group(G))


def the_groups_that_lock_a_topic(of: Of) -> Callable[[], object]:
    locks = QueueLocks(of.clock)
    for group, topic in of.alone:
        locks.lock(group, [MessageQueue(broker_name="b", topic=topic, queue_id=0)], "c")
    return lambda: locks.groups_of(T)


def the_clients_of_a_lite_group(of: Of) -> Callable[[], object]:
    lite = of.lite()
    for number, group in enumerate(of.groups):
        at_once(lite.add(f"c{number}", group, "P", [lite_queue(number)]))
    return lambda: at_once(lite.forget_group(G))


def the_readers_of_a_lite_topic(of: Of) -> Callable[[], object]:
    """One group has one reader, another one all others."""
    lite = of.lite()
    for number in range(of.count):
        at_once(lite.add(f"c{number}", "g" if number else G, "P", [lite_queue(0)]))
    return lambda: list(lite.readers(lite_queue(0), G))


def one_of_a_wildcard_group(of: Of) -> Callable[[], object]:
    lite = of.lite(W=True)
    for number in range(of.count):
        at_once(lite.replace(f"c{number}", "W", "P", []))

    def first() -> Subscriber:
        return next(iter(lite.all_readers(lite_queue(0))["W"].from_anywhere(1000)))

    return first


def one_that_joins_a_group(of: Of) -> Callable[[], object]:
    consumers, newcomer = of.members(G, of.count), of.client(of.count)
    return lambda: consumers.register(newcomer, data_of(G, ["T"]), True)


def one_that_leaves_a_group(of: Of) -> Callable[[], object]:
    consumers = of.members(G, of.count)
    peer = next(iter(consumers.groups()[G].members))
    return lambda: consumers.closed(peer)


def a_filter_when_there_is_no_room(of: Of) -> Callable[[], object]:
    filters = ConsumerFilters(
        BrokerConfig(max_filter_characters=of.count * 505), of.directory, of.clock, Expressions()
    )
    filters._expressions.read_now("SQL92", "a = 5")

    def beat(group: str) -> None:
        wanted = SubscriptionData(topic=T, sub_string="a = 5", expression_type="SQL92")
        filters.register(group, [wanted])

    for group in of.groups:
        beat(group)
    assert filters.count == of.count
    return lambda: beat("another")


OWN = [
    a_topic_of_offsets,
    a_group_of_offsets,
    the_groups_of_a_topic,
    a_topic_of_light_offsets,
    a_group_of_light_offsets,
    a_topic_of_blocks,
    a_group_of_blocks,
    a_topic_of_figures,
    a_group_of_figures,
    the_groups_that_lock_a_topic,
    the_clients_of_a_lite_group,
    the_readers_of_a_lite_topic,
    one_of_a_wildcard_group,
    one_that_joins_a_group,
    one_that_leaves_a_group,
    a_filter_when_there_is_no_room,
]


@pytest.mark.parametrize("thing", OWN, ids=lambda thing: thing.__name__)
def test_nobody_searches_among_all_others(
    thing: Callable[[Of], Callable[[], object]], tmp_path: Path
) -> None:
    some = work_of(thing(Of(tmp_path / "some", SOME)))
    assert work_of(thing(Of(tmp_path / "many", MANY))) < 2 * some + 100


# --- of many, a little at a time


def offsets_of_a_topic(of: Of) -> Iterable[object]:
    return of.offsets(of.of_topic).forget_topic(T)


def offsets_of_a_group(of: Of) -> Iterable[object]:
    return of.offsets(of.of_group).forget_group(G)


def light_offsets_of_a_topic(of: Of) -> Iterable[object]:
    pairs = [(f"%LMQ%{group}", topic) for group, topic in of.of_topic]
    return of.offsets(pairs, has_light=True).forget_topic(T)


def offsets_of_the_master(of: Of) -> Iterable[object]:
    master: Any = type("Master", (), {})()
    master.offset_table = {f"{topic}@{group}": {0: 9} for group, topic in of.alone}
    master.lmq_offset_table, master.data_version = {}, None
    return of.offsets(of.alone).merge(master)


def blocks_of_a_topic(of: Of) -> Iterable[object]:
    return of.batches(of.of_topic).forget_topic(T)


def blocks_that_nobody_uses(of: Of) -> Iterable[object]:
    return of.batches(of.alone).forget_unused(NOW + 1)


def figures_of_a_topic(of: Of) -> Iterable[object]:
    return of.traffic(of.of_topic).forget_topic(T)


def lite_topics_that_a_client_adds(of: Of) -> Iterable[object]:
    return of.lite().add("c", G, "P", of.lite_queues)


def all_lite_topics_of_a_client(of: Of) -> Iterable[object]:
    return of.lite().replace("c", G, "P", of.lite_queues)


def lite_topics_that_a_client_removes(of: Of) -> Iterable[object]:
    lite = of.lite()
    at_once(lite.add("c", G, "P", of.lite_queues))
    return lite.remove("c", G, "P", of.lite_queues)


def a_client_of_lite_topics_that_leaves(of: Of) -> Iterable[object]:
    lite = of.lite()
    at_once(lite.add("c", G, "P", of.lite_queues))
    return lite.remove_client("c")


def silent_clients_of_lite_topics(of: Of) -> Iterable[object]:
    lite = of.lite()
    for number in range(of.count):
        at_once(lite.add(f"c{number}", G, "P", [lite_queue(0)]))
    of.clock.now += 1_000_000
    return lite.remove_silent()


def the_readers_of_a_lite_topic_that_is_deleted(of: Of) -> Iterable[object]:
    lite = of.lite()
    for number in range(of.count):
        at_once(lite.add(f"c{number}", G, "P", [lite_queue(0)]))
    return lite.remove_queue(lite_queue(0))


def a_group_of_lite_clients(of: Of) -> Iterable[object]:
    lite = of.lite()
    for number in range(of.count):
        at_once(lite.add(f"c{number}", G, "P", [lite_queue(0)]))
    return lite.forget_group(G)


def groups_of_a_connection_that_ends(of: Of) -> Iterable[object]:
    consumers = Consumers(BrokerConfig(), of.clock)
    client = of.client(0)
    for group in of.groups:
        consumers.register(client, data_of(group, ["T"]), False)
    return consumers._closed(client.peer)


def producers_of_a_connection_that_ends(of: Of) -> Iterable[object]:
    producers = Producers(BrokerConfig(), of.clock)
    client = of.client(0)
    for group in of.groups:
        producers.register(group, client)
    return producers._closed(client.peer)


def members_that_fall_silent(of: Of) -> Iterable[object]:
    consumers = of.members(G, of.count)
    of.clock.now += 1_000_000
    return consumers.scan_expired()


def producers_that_fall_silent(of: Of) -> Iterable[object]:
    producers = Producers(BrokerConfig(), of.clock)
    for number in range(of.count):
        producers.register(G, of.client(number))
    of.clock.now += 1_000_000
    return producers.scan_expired()


def members_that_are_told(of: Of) -> Iterable[object]:
    consumers = of.members(G, of.count, real_time_notify_consumer_change=False)
    consumers.notices.changed(G, consumers.groups()[G].members)
    return consumers.notices.send_waiting()


def filters_that_nobody_uses(of: Of) -> Iterable[object]:
    filters = ConsumerFilters(BrokerConfig(), of.directory, of.clock, Expressions())
    filters._expressions.read_now("SQL92", "a = 5")
    for group in of.groups:
        wanted = SubscriptionData(topic=T, sub_string="a = 5", expression_type="SQL92")
        filters.register(group, [wanted])
        filters.group_gone(group)
    of.clock.now += 10**12
    return filters.clean()


STEPPED = [
    offsets_of_a_topic,
    offsets_of_a_group,
    light_offsets_of_a_topic,
    offsets_of_the_master,
    blocks_of_a_topic,
    blocks_that_nobody_uses,
    figures_of_a_topic,
    lite_topics_that_a_client_adds,
    all_lite_topics_of_a_client,
    lite_topics_that_a_client_removes,
    a_client_of_lite_topics_that_leaves,
    silent_clients_of_lite_topics,
    the_readers_of_a_lite_topic_that_is_deleted,
    a_group_of_lite_clients,
    groups_of_a_connection_that_ends,
    producers_of_a_connection_that_ends,
    members_that_fall_silent,
    producers_that_fall_silent,
    members_that_are_told,
    filters_that_nobody_uses,
]


@pytest.mark.parametrize("thing", STEPPED, ids=lambda thing: thing.__name__)
def test_no_step_grows_with_how_many_there_are(
    thing: Callable[[Of], Iterable[object]], tmp_path: Path
) -> None:
    some = longest_of(thing(Of(tmp_path / "some", SOME)))
    assert longest_of(thing(Of(tmp_path / "many", MANY))) < 2 * some + 100


# --- written entry by entry


def topics_of_one_group(of: Of) -> Iterator[bytes]:
    return Of(of.directory / "wide", 5 * of.count).one_group()


def bans(of: Of) -> Iterator[bytes]:
    groups = SubscriptionGroups(BrokerConfig(), of.directory, of.clock)
    groups.write_by(Unwritten())
    for group in of.groups:
        groups.set_forbidden(group, "T", 1, True)
    return groups._pieces()


def modes(of: Of) -> Iterator[bytes]:
    table = RequestModes(of.directory)
    table.write_by(Unwritten())
    for topic in of.topics:
        table.put(SetMessageRequestModeRequestBody(topic=topic, consumer_group=G))
    return table._pieces()


def mappings(of: Of) -> Iterator[bytes]:
    table = TopicMappings(of.directory, "b", of.clock)
    table.write_by(Unwritten())
    for topic in of.topics:
        part = LogicQueueMappingItem(bname="b", logic_offset=0)
        table.update(
            TopicQueueMappingDetail(topic=topic, bname="b", hosted_queues={0: [part]}), force=True
        )
    return table._pieces()


def counts_of_timers(of: Of) -> Iterator[bytes]:
    metrics = TimerMetrics(of.directory, of.clock)
    for number in range(10 * of.count):
        metrics.add(f"T{number}", 1)
    return metrics._pieces()


class Unwritten:
    def changed(self, file: object) -> None:
        """Nobody reads it."""


@pytest.mark.parametrize(
    "table",
    [topics_of_one_group, bans, modes, mappings, counts_of_timers],
    ids=lambda table: table.__name__,
)
def test_no_piece_of_a_table_grows_with_it(
    table: Callable[[Of], Iterator[bytes]], tmp_path: Path
) -> None:
    some = max(map(len, table(Of(tmp_path / "some", MANY))))
    many = list(table(Of(tmp_path / "many", 3 * MANY)))
    assert max(map(len, many)) < 1.5 * some
    assert sum(map(len, many)) > 4 * some


def test_names_that_come_and_go_leave_nothing_in_a_table(tmp_path: Path) -> None:
    """Lite topics of sessions, one after the other."""
    of = Of(tmp_path / "some", 1)
    offsets = of.offsets([])
    for number in range(5000):
        offsets.commit("c", G, lite_queue(number), 0, 1)
        at_once(offsets.forget_topic(lite_queue(number)))
    assert len(offsets._committed.members._buckets) < 100
    assert b"%LMQ%" not in b"".join(offsets.encoded())


# --- services that look at all of it


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Grows by one each time that somebody would let others have the loop, if it were time."""
    counted: list[int] = []

    async def keep(pace: Pace) -> None:
        counted.append(len(counted))
        await trio.lowlevel.checkpoint()

    monkeypatch.setattr(Pace, "keep", keep)
    return counted


async def test_blocks_that_open_together_open_one_by_one(tmp_path: Path, pauses: list[int]) -> None:
    of, opened = Of(tmp_path / "some", SOME), list[OrderedQueue]()
    batches = of.batches(of.alone)
    openings = Openings(batches, opened.append, of.clock)
    for group, topic in of.alone:
        openings.watch(OrderedQueue(topic, group, 0))
    of.clock.now += 1000
    await openings.release()
    assert (len(opened), len(pauses)) == (SOME, SOME)


async def test_locks_are_looked_at_one_by_one(tmp_path: Path, pauses: list[int]) -> None:
    of = Of(tmp_path / "some", SOME)
    locks = QueueLocks(of.clock)
    queues = [MessageQueue(broker_name="b", topic=T, queue_id=number) for number in range(SOME)]
    locks.lock(G, queues, "c")
    of.clock.now += 100_000
    await locks.forget_expired()
    assert locks.count == 0
    assert locks.groups_of(T) == []
    assert len(pauses) >= SOME


async def test_places_of_lite_topics_are_found_one_by_one(pauses: list[int]) -> None:
    async def places(topic: str) -> list[MessageQueue]:
        return [MessageQueue(broker_name="b", topic=topic, queue_id=0)]

    sharding = LiteSharding("b", places, lambda queue: False)
    queues = [lite_queue(number) for number in range(SOME)]
    assert await sharding.active("P", queues) == queues
    assert len(pauses) == SOME


@pytest.mark.parametrize(
    ("key", "parts"),
    [
        ("T@g", ("T", "g")),
        ("T@g@broadcast", ("T", "g@broadcast")),
        ("T@broadcast", ("T", "broadcast")),
        ("%LMQ%a@b@%LMQ%g@h", ("%LMQ%a@b", "%LMQ%g@h")),
        ("%LMQ%a@b@g", ("%LMQ%a@b", "g")),
    ],
)
def test_topic_and_group_of_a_key(key: str, parts: tuple[str, str]) -> None:
    assert parts_of(key) == parts
