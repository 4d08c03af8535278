"""The broker of a lite topic: the numbers are those of Guava 32's Hashing.consistentHash, run on Java."""

import pytest
import trio

from trimq.broker.lite.sharding import LiteSharding, broker_of, bucket_of
from trimq.codec.bodies.locks import MessageQueue

GUAVA: list[tuple[int, int, int]] = []
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
    sharding = LiteSharding("a", places, lambda queue: queue == names[0])
    active = trio.run(sharding.active, "T", names)
    own = [name for name in names if broker_of(name, PLACES, "a") == "a"]
    assert set(active) == {names[0], *own}
    assert 3 < len(own) < 20
    assert trio.run(sharding.is_own, "T", own[0])
