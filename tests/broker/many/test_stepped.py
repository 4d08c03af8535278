"""What clients can have many of: who goes through all of it takes a little at a time."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.broker.many.of import MANY, NOW, SOME, G, Of, T, data_of, lite_queue
from tests.broker.work import longest_of
from trimq.broker.config import BrokerConfig
from trimq.broker.filters.consumer_filters import ConsumerFilters
from trimq.broker.filters.expressions import Expressions
from trimq.broker.groups.clients.producers import Producers
from trimq.broker.groups.consumers.online import Consumers
from trimq.broker.steps import at_once
from trimq.codec.bodies.heartbeat import SubscriptionData


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
    filters = ConsumerFilters(BrokerConfig(), of.directory, of.clock, Expressions(), {T})
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
