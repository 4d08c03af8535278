"""Who has read a queue that is about to leave the route."""

from tests.broker.elastic.conftest import TOPIC, ElasticBroker
from trimq.broker.consume.arrivals import Arrivals
from trimq.broker.elastic.readers import ElasticReaders


def test_what_nobody_has_read_is_unseen_until_somebody_has(elastic: ElasticBroker) -> None:
    broker = elastic.broker
    asked = ElasticReaders(
        elastic.groups, broker.consumers, Arrivals(), elastic.offsets, elastic.store
    )
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
