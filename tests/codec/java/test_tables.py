"""Java's hash orders, against what a NameServer 5.5.0 listed: `orders.json`."""

import json
from pathlib import Path
from typing import Any

import pytest

from trimq.codec.java.tables import concurrent_order, copied_order, hash_order

GOLDEN: dict[str, Any] = json.loads(
    (Path(__file__).parents[1].parent / "vectors" / "orders.json").read_text()
)
ARRIVED = [name for case in GOLDEN["routes"] for name in case["registered"]]


@pytest.mark.parametrize("case", GOLDEN["routes"])
def test_maps_and_sets(case: dict[str, list[str]]) -> None:
    listed = hash_order(case["registered"])
    assert listed == case["queueDatas"]
    assert copied_order(listed) == case["brokerDatas"]


def test_a_concurrent_map_that_is_large_enough_from_the_beginning() -> None:
    assert hash_order(ARRIVED, capacity=256) == GOLDEN["brokerAddrTable"]


def test_a_concurrent_map_that_grows() -> None:
    names = [one for name, names in GOLDEN["clusterAddrTable"].items() for one in [name, *names]]
    assert concurrent_order(names) == GOLDEN["systemTopics"]


def test_sets_that_grow() -> None:
    for names in GOLDEN["clusterAddrTable"].values():
        assert hash_order([name for name in ARRIVED if name in names]) == names
