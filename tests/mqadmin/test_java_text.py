"""Java's texts and hash orders. What a JVM printed is noted here; the compat tests compare the rest."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimq.codec.bodies.locks import MessageQueue
from trimq.codec.versions import version_name
from trimq.mqadmin.text.java import (
    filled_order,
    hash_order,
    java,
    properties_order,
    queue_hash,
    string_map,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (True, "true"),
        (0.0, "0.0"),
        (0.1, "0.1"),
        (12345678.0, "1.2345678E7"),
        (1e-5, "1.0E-5"),
        (100.0, "100.0"),
        ([1, None], "[1, null]"),
        ({"a": "b", "c": False}, "{a=b, c=false}"),
    ],
)
def test_texts(value: object, text: str) -> None:
    assert java(value) == text


def test_buckets_come_in_order_and_keep_what_came_first() -> None:
    # "Aa" and "BB" have the same hash; of 16 buckets "p" is in the first, "a" in the second.
    assert hash_order(["a", "p"]) == ["p", "a"]
    assert hash_order(["BB", "Aa"]) == ["BB", "Aa"]


@given(st.lists(st.text(max_size=4)))
def test_no_key_is_lost_or_doubled(keys: list[str]) -> None:
    assert sorted(hash_order(keys)) == sorted(set(keys))
    assert sorted(properties_order(keys)) == sorted(set(keys))
    assert sorted(filled_order(keys)) == sorted(set(keys))
    assert string_map(dict.fromkeys(keys, 1)) == dict.fromkeys(keys, 1)


def test_queues_of_a_topic_are_listed_by_number() -> None:
    queues = [MessageQueue(broker_name="broker-a", queue_id=n, topic="T") for n in range(4)]
    assert {queue.queue_id for queue in hash_order(queues, queue_hash)} == {0, 1, 2, 3}


def test_versions() -> None:
    known = {
        0: "V3_0_0_SNAPSHOT",
        15: "V3_0_0_FINAL",
        513: "V5_5_0",
        515: "V5_5_1",
        99999: "HIGHER_VERSION",
    }
    assert {number: version_name(number) for number in known} == known
