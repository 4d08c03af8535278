"""Producers that still seem to have a converted topic's old list of queues, as an operator sees them."""

from collections.abc import Mapping
from typing import Protocol

from trimq.broker.elastic.partition_routing import OldLists
from trimq.codec.bodies.elastic_admin import ElasticProducer


class Lists(Protocol):
    """What of ElasticMaps is needed here."""

    def old_lists(self, topic: str) -> OldLists | None: ...


class Names(Protocol):
    """What of Producers is needed here."""

    def client_ids(self) -> Mapping[str, str]:
        """By address."""


class OldProducers:
    """Puts together what puts have noted and heartbeats have said."""

    def __init__(self, lists: Lists, names: Names) -> None:
        self._lists = lists
        self._names = names

    def of(self, topic: str) -> list[ElasticProducer]:
        """Those who were noted first come first."""
        lists = self._lists.old_lists(topic)
        if lists is None or not lists.using:
            return []
        names = self._names.client_ids()
        return [
            ElasticProducer(
                address=producer.remote_addr,
                client_id=names.get(producer.remote_addr),
                sends=one.sends,
                since=one.since,
            )
            for producer, one in lists.using.items()
        ]
