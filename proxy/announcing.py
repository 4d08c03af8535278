"""TriMQ's brokers are told who this proxy's clients are, so that tools see them and can ask them.

A real broker does not know the request, says so once, and is not asked again.
"""

from __future__ import annotations

import logging
from typing import Final

import trio

from trimq.base.clock import Clock
from trimq.codec.bodies.base import encode_body
from trimq.codec.bodies.proxied import ProxiedClient, ProxiedClients
from trimq.codec.codes import OwnRequestCode, ResponseCode
from trimq.codec.frames.command import VERSION
from trimq.proxy.clients import CONSUMERS, Client, Clients
from trimq.proxy.links import Links
from trimq.proxy.presence import consume_type_of, message_model_of, subscriptions_of
from trimq.proxy.routes import Routes
from trimq.proxy.statuses import ProxyError
from trimq.remoting.errors import TransportError

log = logging.getLogger("trimq.proxy")

_PERIOD_SECONDS: Final = 20.0
# Many who come at the same time are told together.
_GATHER_SECONDS: Final = 0.2
# Of one request: brokers read 1 MiB.
_MOST_BYTES: Final = 256 * 1024


class Announcing:
    def __init__(self, clients: Clients, links: Links, routes: Routes, cluster: str) -> None:
        self._clients = clients
        self._links = links
        self._routes = routes
        self._cluster = cluster
        self._told: set[str] = set()
        self._do_not_know: set[str] = set()
        self._wake = trio.Event()
        clients.on_change.append(self._changed)

    async def keep(self, clock: Clock) -> None:
        """Every 20 seconds, and when a client comes, goes or subscribes otherwise; until it is cancelled."""
        while True:
            with clock.move_on_after(_PERIOD_SECONDS):
                await self._wake.wait()
                await clock.sleep(_GATHER_SECONDS)
            self._wake = trio.Event()
            await self.tell()

    async def tell(self) -> None:
        """All brokers of the cluster that want to know."""
        consumers = [
            client
            for client in self._clients.all()
            if client.settings is not None and client.settings.client_type in CONSUMERS
        ]
        if not consumers and not self._told:
            return
        try:
            route = await self._routes.of(self._cluster)
        except (ProxyError, TransportError) as error:
            log.info("cluster not found: name=%s reason=%s", self._cluster, error)
            return
        bodies = bodies_of([_proxied(client) for client in consumers])
        async with trio.open_nursery() as nursery:
            for _, addr in route.brokers:
                if addr not in self._do_not_know:
                    nursery.start_soon(self._tell_broker, addr, bodies)

    async def _tell_broker(self, addr: str, bodies: list[bytes]) -> None:
        try:
            for body in bodies:
                answer = await self._links.ask(addr, OwnRequestCode.PROXY_CLIENTS, None, body)
                if answer.code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED:
                    self._do_not_know.add(addr)
                    return
                if answer.code != ResponseCode.SUCCESS:
                    log.warning("clients not told: broker=%s reason=%s", addr, answer.remark)
                    return
            self._told.add(addr)
        except TransportError as error:
            log.info("clients not told: broker=%s reason=%s", addr, error)

    def _changed(self) -> None:
        self._wake.set()


def bodies_of(clients: list[ProxiedClient]) -> list[bytes]:
    """One request each; the first begins anew."""
    bodies: list[bytes] = []
    some: list[ProxiedClient] = []
    size = 0
    for client in clients:
        length = len(encode_body(client))
        if length > _MOST_BYTES:
            # It would be refused with all others.
            client.subscriptions, length = [], len(client.client_id)
        if size + length > _MOST_BYTES:
            bodies.append(encode_body(ProxiedClients(clients=some, first=not bodies)))
            some, size = [], 0
        some.append(client)
        size += length
    bodies.append(encode_body(ProxiedClients(clients=some, first=not bodies)))
    return bodies


def _proxied(client: Client) -> ProxiedClient:
    return ProxiedClient(
        client_addr=client.remote_addr,
        client_id=client.client_id,
        consume_type=consume_type_of(client),
        group=client.group,
        language=client.language,
        message_model=message_model_of(client),
        subscriptions=subscriptions_of(client),
        version=VERSION,
    )
