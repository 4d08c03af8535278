"""Brokers learn by the proxy's heartbeats who sends transactions, so that they ask (ClusterTransactionService)."""

from __future__ import annotations

import logging
from typing import Final

import trio

from trimq.base.clock import Clock
from trimq.codec.bodies.base import encode_body
from trimq.codec.bodies.heartbeat import HeartbeatData, ProducerData
from trimq.codec.codes import RequestCode
from trimq.proxy.clients import Clients
from trimq.proxy.config import ProxyConfig
from trimq.proxy.links import Links
from trimq.proxy.metadata import Metadata
from trimq.proxy.routes import Routes
from trimq.proxy.statuses import ProxyError
from trimq.remoting.errors import TransportError

log = logging.getLogger("trimq.proxy")

_CLIENT_ID: Final = "rmq-proxy-producer-client"
_TRANSACTION: Final = "TRANSACTION"


class TransactionProducers:
    """Each topic of transactions that a client sends to is a producer group of this proxy's."""

    def __init__(
        self,
        config: ProxyConfig,
        clients: Clients,
        links: Links,
        routes: Routes,
        metadata: Metadata,
    ) -> None:
        self._config = config
        self._clients = clients
        self._links = links
        self._routes = routes
        self._metadata = metadata
        self._names: dict[str, str] = {}
        self._said: set[str] = set()
        self._wake = trio.Event()
        clients.on_change.append(self._changed)

    def broker_at(self, addr: str) -> str | None:
        """The name of the broker at HOST:PORT, if it was told."""
        return self._names.get(addr)

    async def keep(self, clock: Clock) -> None:
        """Every so often, and when a client sends to another topic; until it is cancelled."""
        while True:
            with clock.move_on_after(self._config.transaction_heartbeat_period_second) as waiting:
                await self._has_news()
            await self.tell(only_news=not waiting.cancelled_caught)

    async def tell(self, only_news: bool = False) -> None:
        """All brokers of the clusters that have such topics; `only_news`: if there is a topic that they do not know."""
        clusters: dict[str, list[str]] = {}
        said: set[str] = set()
        for topic in self._clients.published_topics():
            if await self._metadata.message_type(topic) != _TRANSACTION:
                continue
            said.add(topic)
            try:
                data = (await self._routes.of(topic)).data
            except (ProxyError, TransportError):
                # Its brokers are told when they can be found again.
                said.discard(topic)
                continue
            for cluster in {one.cluster for one in data.broker_datas if one.cluster}:
                clusters.setdefault(cluster, []).append(topic)
        if only_news and said <= self._said:
            return
        self._said = said
        for cluster, topics in clusters.items():
            await self._tell_cluster(cluster, topics)

    async def _tell_cluster(self, cluster: str, topics: list[str]) -> None:
        try:
            route = await self._routes.of(cluster)
        except (ProxyError, TransportError) as error:
            log.warning("cluster not found: name=%s reason=%s", cluster, error)
            return
        most = self._config.transaction_heartbeat_batch_num
        bodies = [
            encode_body(
                HeartbeatData(
                    client_id=_CLIENT_ID,
                    producer_data_set=[
                        ProducerData(group_name=topic) for topic in topics[start : start + most]
                    ],
                )
            )
            for start in range(0, len(topics), most)
        ]
        async with trio.open_nursery() as nursery:
            for name, addr in route.brokers:
                self._names[addr] = name
                nursery.start_soon(self._tell_broker, addr, bodies)

    async def _tell_broker(self, addr: str, bodies: list[bytes]) -> None:
        try:
            for body in bodies:
                await self._links.oneway(addr, RequestCode.HEART_BEAT, None, body)
        except TransportError as error:
            log.warning("heartbeat not sent: broker=%s reason=%s", addr, error)

    def _changed(self) -> None:
        self._wake.set()

    async def _has_news(self) -> None:
        await self._wake.wait()
        self._wake = trio.Event()
