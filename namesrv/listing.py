"""In which order brokers are listed: by name, in the order of the real NameServer's hash tables.

Clients choose by position in the list (Go's producer takes queue number hash modulo count), so the
order has to be the same from every NameServer and after a broker has come back. Java lists names
that share a bucket in the order in which they came; here the shorter and then the lesser name comes
first, as if they had registered in that order.
"""

from collections.abc import Iterable
from typing import Final

from trimq.codec.java.tables import copied_order, hash_order

# Buckets of `new ConcurrentHashMap<>(n)` for n = 128 (brokerAddrTable) and 32 (clusterAddrTable).
_BROKER_BUCKETS: Final = 256
_CLUSTER_BUCKETS: Final = 64


def grown(names: Iterable[str]) -> list[str]:
    """As in a `HashMap` or `HashSet` to which the names were added: a topic's queueDatas."""
    return hash_order(_by_name(names))


def copied(names: Iterable[str]) -> list[str]:
    """As in a `HashSet` made from such a map's names: a route's brokerDatas."""
    return copied_order(grown(names))


def brokers(names: Iterable[str]) -> list[str]:
    """As in brokerAddrTable."""
    return hash_order(_by_name(names), capacity=_BROKER_BUCKETS)


def clusters(names: Iterable[str]) -> list[str]:
    """As in clusterAddrTable."""
    return hash_order(_by_name(names), capacity=_CLUSTER_BUCKETS)


def _by_name(names: Iterable[str]) -> list[str]:
    return sorted(names, key=lambda name: (len(name), name))
