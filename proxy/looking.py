"""Looks at the NameServers, whether or not any client asks for something: are they there, is the cluster?"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Final

import trio

from trimq.codec.bodies.base import decode_body
from trimq.codec.bodies.cluster import ClusterInfo
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.errors import CodecError
from trimq.proxy.links import Links
from trimq.proxy.losses import Losses
from trimq.remoting.errors import TransportError

log = logging.getLogger("trimq.proxy")

_PERIOD_SECONDS: Final = 10.0
# Of one that is lost.
_RETRY_SECONDS: Final = 3.0


class Looking:
    """`cluster`: the one whose brokers are served."""

    def __init__(
        self, links: Links, losses: Losses, name_servers: Sequence[str], cluster: str
    ) -> None:
        self._links = links
        self._losses = losses
        self._name_servers = list(dict.fromkeys(name_servers))
        self._cluster = cluster
        # Whether the cluster is known to be there; what was said of its absence; looks that found no broker at all.
        self._has_cluster = False
        self._said = False
        self._empty = 0

    async def keep(self) -> None:
        """Until it is cancelled."""
        async with trio.open_nursery() as nursery:
            for addr in self._name_servers:
                nursery.start_soon(self._keep_one, addr)

    async def _keep_one(self, addr: str) -> None:
        while True:
            await self.look(addr)
            await trio.sleep(_RETRY_SECONDS if self._losses.is_lost(addr) else _PERIOD_SECONDS)

    async def look(self, addr: str) -> None:
        """Once."""
        try:
            answer = await self._links.ask(addr, RequestCode.GET_BROKER_CLUSTER_INFO)
        except TransportError as error:
            self._losses.lost(addr, error)
            return
        self._losses.found(addr)
        if answer.code != ResponseCode.SUCCESS or self._has_cluster:
            return
        try:
            info = decode_body(ClusterInfo, answer.body)
        except CodecError as error:
            log.info("clusters not read: namesrv=%s reason=%s", addr, error)
            return
        self._compare(addr, info)

    def _compare(self, addr: str, info: ClusterInfo) -> None:
        found = sorted(name for name, brokers in info.cluster_addr_table.items() if brokers)
        if self._cluster in found:
            self._has_cluster = True
            if self._said:
                log.info("cluster found: name=%s namesrv=%s", self._cluster, addr)
            return
        if self._said:
            return
        if found:
            self._said = True
            log.warning(
                "cluster %s has no brokers at %s; there is %s: set rocketMQClusterName",
                self._cluster,
                addr,
                ", ".join(found),
            )
            return
        # Brokers that start with the proxy have a moment to register.
        self._empty += 1
        if self._empty > len(self._name_servers):
            self._said = True
            log.warning("cluster %s has no brokers at %s, nor has any other", self._cluster, addr)
