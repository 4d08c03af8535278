"""Who produces (ProducerManager): producer groups, their members and the connections to them.

Transactions ask a member of the group for the outcome; replies find a client by its id.
"""

import logging
from collections.abc import Mapping

from trimq.base.clock import Clock
from trimq.broker.config import BrokerConfig
from trimq.broker.groups.clients.expiry import has_expired_producer
from trimq.broker.groups.clients.limits import check_producer_groups
from trimq.broker.groups.clients.record import Client
from trimq.broker.steps import Steps, Unfinished, one_by_one
from trimq.remoting.contract import Peer

log = logging.getLogger("trimq.broker")

_ATTEMPTS = 3


class Producers:
    """Members of every producer group, by group and connection."""

    def __init__(self, config: BrokerConfig, clock: Clock) -> None:
        self._config = config
        self._clock = clock
        self._groups: dict[str, dict[Peer, Client]] = {}
        # The groups of each connection: when it ends, no others have to be searched.
        self._of_peer: dict[Peer, dict[str, None]] = {}
        self._by_client_id: dict[str, Peer] = {}
        self._turn = 0
        # Members of connections that have ended.
        self.leaving = Unfinished()

    def group(self, name: str) -> Mapping[Peer, Client] | None:
        return self._groups.get(name)

    def groups(self) -> Mapping[str, Mapping[Peer, Client]]:
        return self._groups

    def online(self, group: str) -> bool:
        return bool(self._groups.get(group))

    def find(self, client_id: str) -> Peer | None:
        """The connection of a client, whatever its groups."""
        return self._by_client_id.get(client_id)

    def client_ids(self) -> dict[str, str]:
        """Of every connection that a heartbeat came over, by its address."""
        return {
            peer.remote_addr: client.client_id
            for members in self._groups.values()
            for peer, client in members.items()
        }

    def register(self, group: str, client: Client) -> None:
        """A heartbeat: from a new member, or one that is still alive. LimitReached for too many groups."""
        members = self._groups.get(group)
        known = None if members is None else members.get(client.peer)
        if known is not None:
            known.last_update = self._clock.steady_millis()
            return
        if not self._config.enable_register_producer and self._config.reject_transaction_message:
            return
        mine = self._of_peer.get(client.peer, {})
        check_producer_groups(self._config, len(mine))
        self._of_peer.setdefault(client.peer, mine)[group] = None
        self._groups.setdefault(group, {})[client.peer] = client
        self._by_client_id[client.client_id] = client.peer
        log.info("producer joined: group=%s client=%s", group, client)

    def unregister(self, group: str, client: Client) -> None:
        members = self._groups.get(group)
        if not members:
            return
        old = members.pop(client.peer, None)
        self._not_of_peer(client.peer, group)
        self._by_client_id.pop(client.client_id, None)
        if old is not None:
            log.info("producer left: group=%s client=%s", group, client)
        self._drop_if_empty(group)

    def closed(self, peer: Peer) -> None:
        """A connection has ended."""
        self.leaving.do(self._closed(peer))

    def _closed(self, peer: Peer) -> Steps[None]:
        for group in self._of_peer.pop(peer, ()):
            client = self._groups.get(group, {}).pop(peer, None)
            if client is not None:
                # It may be back on another one.
                if self._by_client_id.get(client.client_id) is peer:
                    del self._by_client_id[client.client_id]
                log.info("producer disconnected: group=%s client=%s", group, client)
                self._drop_if_empty(group)
            yield

    def scan_expired(self) -> Steps[None]:
        """Drop members that have been silent for 120 s; a service calls it every 10 s."""
        now = self._clock.steady_millis()
        for group in one_by_one(self._groups):
            members = self._groups.get(group, {})
            for client in list(members.values()):
                if has_expired_producer(client, now):
                    members.pop(client.peer, None)
                    self._not_of_peer(client.peer, group)
                    if self._by_client_id.get(client.client_id) is client.peer:
                        del self._by_client_id[client.client_id]
                    log.warning("producer expired: group=%s client=%s", group, client)
                    client.peer.close("no heartbeat from the producer")
                yield
            self._drop_if_empty(group)
            yield

    def pick(self, group: str) -> Peer | None:
        """A member to ask, in turn; a closed connection only when there is no other."""
        members = self._groups.get(group)
        if not members:
            log.warning("no producer to ask: group=%s", group)
            return None
        peers = list(members)
        self._turn += 1
        for attempt in range(min(_ATTEMPTS, len(peers))):
            peer = peers[(self._turn + attempt) % len(peers)]
            if not peer.closed:
                return peer
        return None

    def _not_of_peer(self, peer: Peer, group: str) -> None:
        mine = self._of_peer.get(peer)
        if mine is not None:
            mine.pop(group, None)
            if not mine:
                del self._of_peer[peer]

    def _drop_if_empty(self, group: str) -> None:
        if group in self._groups and not self._groups[group]:
            del self._groups[group]
            log.info("producer group gone, no member left: group=%s", group)
