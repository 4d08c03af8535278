"""Rates of partitions, and what an operator is shown of them."""

import trio

from tests.broker.elastic.conftest import TOPIC, ElasticBroker
from trimq.base.clock import TrioClock
from trimq.broker.elastic.partition_load import LOOK_SECONDS, PartitionLoads


def test_puts_are_counted_by_partition(elastic: ElasticBroker) -> None:
    elastic.put(2, 3)
    assert elastic.maps.places.place(TOPIC, 5, 10) == 1
    assert elastic.maps.places.queue_of(TOPIC, 5) == 1
    assert elastic.maps.places.queue_of("Other", 5) == 5
    assert elastic.maps.place("Other", 2) == 2
    assert elastic.maps.counts(TOPIC) == [0, 0, 3, 0, 0, 10, 0, 0]
    assert elastic.maps.counts("Other") == []


def test_counts_go_on_over_a_change(elastic: ElasticBroker) -> None:
    elastic.put(2, 3)
    elastic.move(p2=2)
    elastic.put(2)
    assert elastic.maps.counts(TOPIC)[2] == 4


async def test_rates_are_of_the_last_seconds(
    elastic: ElasticBroker, autojump_clock: trio.testing.MockClock
) -> None:
    loads = PartitionLoads(elastic.maps, TrioClock())
    async with trio.open_nursery() as nursery:
        nursery.start_soon(loads.run)
        await trio.sleep(0.5)
        elastic.maps.places.place(TOPIC, 1, 40)
        assert loads.rates(TOPIC) == []
        await trio.sleep(3.5)
        assert loads.rates(TOPIC) == [0, 10, 0, 0, 0, 0, 0, 0]
        # The look before the last one counts, so that a rate is never of a moment.
        await trio.sleep(LOOK_SECONDS)
        assert loads.rates(TOPIC)[1] == 40 / (LOOK_SECONDS + 4)
        await trio.sleep(LOOK_SECONDS)
        assert loads.rates(TOPIC)[1] == 0
        assert loads.rates("Other") == []
        nursery.cancel_scope.cancel()
