"""Elastic topics that another broker has as well: a key's messages go to both, and have no order.

A broker that creates topics by itself may have made one while the topic's own broker was away.
"""

import logging
from collections.abc import Sequence
from typing import Final, Protocol

import trio

from trimq.broker.identity import BrokerIdentity
from trimq.codec.bodies.locks import MessageQueue

log = logging.getLogger("trimq.elastic")

LOOK_SECONDS: Final = 30.0


class Names(Protocol):
    """What of ElasticMaps is needed here."""

    def topics(self) -> Sequence[str]: ...


class Routes(Protocol):
    """What of ClusterRoutes is needed here."""

    async def writable_queues(self, topic: str) -> list[MessageQueue] | None: ...


class SharedTopics:
    """`run` is a service; without elastic topics it asks no NameServer."""

    def __init__(self, maps: Names, routes: Routes, identity: BrokerIdentity) -> None:
        self._maps = maps
        self._routes = routes
        self._identity = identity
        self._others: dict[str, set[str]] = {}

    @property
    def count(self) -> int:
        """How many elastic topics another broker took messages of, at the last look."""
        return len(self._others)

    async def run(self) -> None:
        """Look now and then. Ends only by being cancelled."""
        while True:
            await self.look()
            await trio.sleep(LOOK_SECONDS)

    async def look(self) -> None:
        """Ask for the route of each; what is new is logged once."""
        before, self._others = self._others, {}
        for topic in self._maps.topics():
            queues = await self._routes.writable_queues(topic) or ()
            others = {queue.broker_name or "" for queue in queues} - {self._identity.name}
            if not others:
                continue
            self._others[topic] = others
            if others != before.get(topic):
                log.warning(
                    "an elastic topic is on other brokers too, and its keys have no order:"
                    " topic=%s others=%s",
                    topic,
                    ",".join(sorted(others)),
                )
