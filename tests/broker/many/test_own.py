"""What clients can have many of: among many, each finds what is its own without a search."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.broker.many.of import MANY, SOME, G, Of, T, data_of, lite_queue
from tests.broker.work import work_of
from trimq.broker.config import BrokerConfig
from trimq.broker.filters.consumer_filters import ConsumerFilters
from trimq.broker.filters.expressions import Expressions
from trimq.broker.groups.rebalance.queue_locks import QueueLocks
from trimq.broker.lite.subscribers import Subscriber
from trimq.broker.steps import at_once
from trimq.codec.bodies.heartbeat import SubscriptionData
from trimq.codec.bodies.locks import MessageQueue


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
        BrokerConfig(max_filter_characters=of.count * 505),
        of.directory,
        of.clock,
        Expressions(),
        {T},
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
