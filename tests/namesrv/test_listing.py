"""Brokers, clusters and topics in the order in which the real NameServer 5.5.0 listed them."""

import json
import random
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.namesrv.parts import Parts, topics
from trimq.namesrv import listing

GOLDEN: dict[str, Any] = json.loads(
    (Path(__file__).parent.parent / "vectors" / "orders.json").read_text()
)
# Each set of names registered upwards, downwards, and mixed.
UPWARDS = GOLDEN["routes"][::3]
Order = Callable[[Iterable[str]], list[str]]


@pytest.mark.parametrize("case", UPWARDS, ids=lambda case: case["registered"][0])
@pytest.mark.parametrize(
    ("order", "kind"), [(listing.grown, "queueDatas"), (listing.copied, "brokerDatas")]
)
def test_names_are_listed_as_if_they_had_come_upwards(
    order: Order, kind: str, case: dict[str, list[str]]
) -> None:
    names = case["registered"]
    for seed in range(5):
        assert order(random.Random(seed).sample(names, len(names))) == case[kind]


def test_clusters_and_brokers() -> None:
    """Whoever came first, each name is in its bucket; so two names at most have changed places."""
    tables = [
        (GOLDEN["clusterAddrTable"], listing.clusters),
        (GOLDEN["brokerAddrTable"], listing.brokers),
        *((names, listing.grown) for names in GOLDEN["clusterAddrTable"].values()),
    ]
    for golden, order in tables:
        listed = order(sorted(golden))
        assert sorted(listed) == sorted(golden)
        assert sum(a != b for a, b in zip(listed, golden, strict=True)) <= 4


def test_a_route_is_the_same_after_a_broker_has_come_back(parts: Parts) -> None:
    names = UPWARDS[3]["registered"]
    for at, name in enumerate(names):
        parts.register(topics("T", "U"), broker_name=name, broker_addr=f"10.0.1.{at}:1")
    before = parts.routes.route("T")
    assert before is not None
    assert [one.broker_name for one in before.queue_datas] == UPWARDS[3]["queueDatas"]
    assert [one.broker_name for one in before.broker_datas] == UPWARDS[3]["brokerDatas"]
    for at, name in enumerate(names[:5]):
        parts.routes.unregister_broker("c", f"10.0.1.{at}:1", name, 0)
        parts.register(topics("T", "U"), broker_name=name, broker_addr=f"10.0.1.{at}:1")
    assert parts.routes.route("T") == before
