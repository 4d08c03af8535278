"""What clients can have many of: tables are written entry by entry, and services look at one after the other."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import trio

from tests.broker.many.of import MANY, SOME, G, Of, T, lite_queue
from tests.identities import named
from trimq.broker.config import BrokerConfig
from trimq.broker.groups.rebalance.queue_locks import QueueLocks
from trimq.broker.groups.rebalance.request_modes import RequestModes
from trimq.broker.groups.subscription_groups import SubscriptionGroups
from trimq.broker.lite.sharding import LiteSharding
from trimq.broker.pop.order.rules import OrderedQueue
from trimq.broker.pop.order.timeouts import BlockTimeouts
from trimq.broker.steps import Pace, at_once
from trimq.broker.tables.pairs import parts_of
from trimq.broker.timers.metrics import TimerMetrics
from trimq.broker.topics.mappings import TopicMappings
from trimq.codec.bodies.locks import MessageQueue
from trimq.codec.bodies.request_modes import SetMessageRequestModeRequestBody
from trimq.codec.bodies.static_topics import LogicQueueMappingItem, TopicQueueMappingDetail


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
    table = TopicMappings(of.directory, BrokerConfig(broker_name="b"), of.clock)
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
    assert len(offsets.committed.members._buckets) < 100
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
    block_timeouts = BlockTimeouts(batches, opened.append, of.clock)
    for group, topic in of.alone:
        block_timeouts.watch(OrderedQueue(topic, group, 0))
    of.clock.now += 1000
    await block_timeouts.release()
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

    sharding = LiteSharding(named("b"), places, lambda queue: False)
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
