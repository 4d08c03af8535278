"""Clients of proxies that say who their clients are (TriMQ's own): tools see them, and ask them through the proxy.

They are no members of their groups: who shares queues with a client of a proxy would leave it queues that nobody
pulls, since the proxy receives from all of them by POP.
"""

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from trimq.base.clock import Clock
from trimq.broker.config import BrokerConfig
from trimq.broker.groups.clients.limits import check_subscriptions
from trimq.broker.steps import Steps, one_by_one
from trimq.codec.bodies.proxied import ProxiedClient, ProxiedClients
from trimq.codec.codes import ResponseCode
from trimq.remoting.contract import LimitReached, Peer

log = logging.getLogger("trimq.broker")

# A proxy speaks every 20 seconds.
EXPIRY_MILLIS: Final = 60_000
# Clients of one connection.
_MOST: Final = 10_000

Key = tuple[str, str]


@dataclass(slots=True)
class _Proxy:
    """What came over one connection. `heard` in milliseconds."""

    clients: dict[Key, ProxiedClient]
    heard: int


class BehindProxies:
    """By connection, and by group and client id: a client that has changed its proxy is behind the last one."""

    def __init__(self, config: BrokerConfig, clock: Clock) -> None:
        self._config = config
        self._clock = clock
        self._proxies: dict[Peer, _Proxy] = {}
        self._groups: dict[str, dict[str, tuple[Peer, ProxiedClient]]] = {}

    def check(self, peer: Peer, said: ProxiedClients) -> None:
        """LimitReached when there would be too many behind one connection."""
        clients = self._after(peer, said)
        if len(clients) > _MOST:
            raise LimitReached(
                ResponseCode.SYSTEM_ERROR,
                f"a proxy with {len(clients)} clients: no more than {_MOST} are shown",
                "proxyClients",
            )
        count = sum(len(one.subscriptions) for one in clients.values())
        check_subscriptions(self._config, count)

    def say(self, peer: Peer, said: ProxiedClients) -> None:
        """Those of that connection, which has not ended."""
        if peer.closed:
            return
        clients = self._after(peer, said)
        before = self._proxies.get(peer)
        gone = [] if before is None else [key for key in before.clients if key not in clients]
        self._proxies[peer] = _Proxy(clients, self._clock.steady_millis())
        self._drop(peer, gone)
        for one in said.clients:
            self._groups.setdefault(one.group, {})[one.client_id] = peer, one

    def of(self, group: str) -> list[ProxiedClient]:
        """Who consumes in that group through a proxy."""
        return [client for _, client in self._groups.get(group, {}).values()]

    def find(self, group: str, client_id: str) -> Peer | None:
        """The connection through which that client can be asked."""
        found = self._groups.get(group, {}).get(client_id)
        return None if found is None else found[0]

    def closed(self, peer: Peer) -> None:
        """A connection has ended: what it said counts no more."""
        proxy = self._proxies.pop(peer, None)
        if proxy is not None:
            log.info("proxy disconnected: peer=%s clients=%d", peer, len(proxy.clients))
            self._drop(peer, proxy.clients)

    def scan_expired(self) -> Steps[None]:
        """Forgets what is no longer repeated; a service calls it every 10 s."""
        limit = self._clock.steady_millis() - EXPIRY_MILLIS
        for peer in one_by_one(self._proxies):
            proxy = self._proxies.get(peer)
            if proxy is not None and proxy.heard < limit:
                self.closed(peer)
            yield

    def _drop(self, peer: Peer, keys: Iterable[Key]) -> None:
        for group, client_id in keys:
            members = self._groups.get(group, {})
            found = members.get(client_id)
            # It may be behind another proxy by now.
            if found is not None and found[0] is peer:
                del members[client_id]
                if not members:
                    del self._groups[group]

    def _after(self, peer: Peer, said: ProxiedClients) -> dict[Key, ProxiedClient]:
        before = None if said.first else self._proxies.get(peer)
        added = {(one.group, one.client_id): one for one in said.clients}
        return added if before is None else {**before.clients, **added}
