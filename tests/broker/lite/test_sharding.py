"""The broker of a lite topic: the numbers are those of Guava 32's Hashing.consistentHash, run on Java."""

import pytest
import trio

from tests.identities import named
from trimq.broker.lite.sharding import LiteSharding, broker_of, bucket_of
from trimq.codec.bodies.locks import MessageQueue

GUAVA = [
    (0, 1, 0),
    (0, 2, 0),
    (0, 3, 0),
    (0, 8, 0),
    (0, 16, 0),
    (0, 1000, 0),
    (1, 1, 0),
    (1, 2, 0),
    (1, 3, 0),
    (1, 8, 6),
    (1, 16, 6),
    (1, 1000, 549),
    (-1, 1, 0),
    (-1, 2, 1),
    (-1, 3, 2),
    (-1, 8, 7),
    (-1, 16, 10),
    (-1, 1000, 313),
    (7, 1, 0),
    (7, 2, 0),
    (7, 3, 0),
    (7, 8, 0),
    (7, 16, 13),
    (7, 1000, 97),
    (12345, 1, 0),
    (12345, 2, 1),
    (12345, 3, 1),
    (12345, 8, 1),
    (12345, 16, 1),
    (12345, 1000, 938),
    (110182, 1, 0),
    (110182, 2, 0),
    (110182, 3, 0),
    (110182, 8, 4),
    (110182, 16, 15),
    (110182, 1000, 113),
    (115276, 1, 0),
    (115276, 2, 1),
    (115276, 3, 1),
    (115276, 8, 4),
    (115276, 16, 13),
    (115276, 1000, 411),
    (-2147483648, 1, 0),
    (-2147483648, 2, 1),
    (-2147483648, 3, 2),
    (-2147483648, 8, 2),
    (-2147483648, 16, 2),
    (-2147483648, 1000, 185),
    (2147483647, 1, 0),
    (2147483647, 2, 0),
    (2147483647, 3, 0),
    (2147483647, 8, 0),
    (2147483647, 16, 9),
    (2147483647, 1000, 231),
]
PLACES = [MessageQueue(broker_name=name, queue_id=0, topic="T") for name in ("a", "b", "c")]


@pytest.mark.parametrize(("key", "buckets", "bucket"), GUAVA)
def test_guavas_buckets(key: int, buckets: int, bucket: int) -> None:
    assert bucket_of(key, buckets) == bucket


def test_most_keys_stay_where_they_are_when_a_bucket_comes() -> None:
    moved = [key for key in range(3000) if bucket_of(key, 10) != bucket_of(key, 11)]
    assert 150 < len(moved) < 450
    assert {bucket_of(key, 11) for key in moved} == {10}


def test_without_a_route_every_lite_topic_is_here() -> None:
    assert broker_of("%LMQ%$T$one", [], "own") == "own"
    assert broker_of("%LMQ%other", PLACES, "own") == "own"


def test_what_is_elsewhere_counts_if_it_has_messages_here() -> None:
    async def places(topic: str) -> list[MessageQueue]:
        return PLACES

    names = [f"%LMQ%$T${number}" for number in range(30)]
    sharding = LiteSharding(named("a"), places, lambda queue: queue == names[0])
    active = trio.run(sharding.active, "T", names)
    own = [name for name in names if broker_of(name, PLACES, "a") == "a"]
    assert set(active) == {names[0], *own}
    assert 3 < len(own) < 20
    assert trio.run(sharding.is_own, "T", own[0])
