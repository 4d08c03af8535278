"""Who has read a queue that is about to leave the route."""

from tests.broker.elastic.conftest import TOPIC, ElasticBroker
from trimq.broker.elastic.readers import ElasticReaders
from trimq.broker.pop.reading.elastic_pops import ElasticPops


def _asked(elastic: ElasticBroker) -> ElasticReaders:
    consumers = elastic.broker.consumers
    return ElasticReaders(elastic.groups, consumers, elastic.offsets, elastic.store)


def test_what_nobody_has_read_is_unseen_until_somebody_has(elastic: ElasticBroker) -> None:
    asked = _asked(elastic)
    queue = elastic.maps.place(TOPIC, 0)
    assert not asked.is_unseen(TOPIC, queue)
    elastic.put(0)
    assert asked.is_unseen(TOPIC, queue)
    assert asked.behind(TOPIC, queue) == []
    elastic.commit(queue, 0, "G")
    assert not asked.is_unseen(TOPIC, queue)
    assert asked.behind(TOPIC, queue) == ["G"]
    elastic.commit(queue, 1, "G")
    assert asked.behind(TOPIC, queue) == []


def test_a_group_wants_what_it_would_begin_with(elastic: ElasticBroker) -> None:
    asked = _asked(elastic)
    queue = elastic.maps.place(TOPIC, 0)
    elastic.join("First", "CONSUME_FROM_FIRST_OFFSET")
    elastic.join("Last")
    assert asked.wanting(TOPIC, queue) == []
    elastic.put(0, 2)
    assert asked.wanting(TOPIC, queue) == asked.behind(TOPIC, queue) == ["First"]
    # Who has an offset goes on from there.
    elastic.commit(queue, 1, "Last")
    assert asked.wanting(TOPIC, queue) == ["First", "Last"]
    elastic.commit(queue, 2, "First")
    elastic.commit(queue, 2, "Last")
    assert asked.wanting(TOPIC, queue) == asked.behind(TOPIC, queue) == []


def test_a_group_that_is_away_or_broadcasts_wants_nothing(elastic: ElasticBroker) -> None:
    asked = _asked(elastic)
    queue = elastic.maps.place(TOPIC, 0)
    elastic.put(0)
    elastic.commit(queue, 0, "Away")
    elastic.join("Everybody", "CONSUME_FROM_FIRST_OFFSET", model="BROADCASTING")
    assert asked.wanting(TOPIC, queue) == []
    assert asked.behind(TOPIC, queue) == ["Away"]


def test_who_asked_is_known_by_group(elastic: ElasticBroker) -> None:
    asked = _asked(elastic)
    elastic.groups.gate("A", TOPIC)
    elastic.groups.gate("B", TOPIC)
    elastic.groups.reads("A", TOPIC, 3)
    assert asked.last_read("A", TOPIC, 3) == elastic.broker.clock.millis()
    assert asked.last_read("A", TOPIC, 2) == asked.last_read("B", TOPIC, 3) == -1


def test_a_pop_in_order_asks_as_well(elastic: ElasticBroker) -> None:
    found = elastic.broker.elastic
    pops = ElasticPops({TOPIC}, found.groups, found.commits, elastic.offsets)
    pops.begin("A", TOPIC)
    assert pops.until("A", TOPIC, 3) is None
    assert _asked(elastic).last_read("A", TOPIC, 3) == elastic.broker.clock.millis()
