"""Brokers by their name, for what needs nothing else of them."""

from trimq.broker.identity import BrokerIdentity


def named(name: str) -> BrokerIdentity:
    """A master of that name."""
    return BrokerIdentity("DefaultCluster", name, 0, "127.0.0.1:10911", "127.0.0.1:10912")
