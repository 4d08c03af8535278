"""Telling clients that another one reads a lite topic now: NOTIFY_UNSUBSCRIBE_LITE (Broker2Client)."""

import logging

from trimq.broker.lite.subscribers import Subscriber
from trimq.codec.codes import RequestCode
from trimq.codec.headers.lite import NotifyUnsubscribeLiteRequestHeader
from trimq.codec.names import lite_queue_parts
from trimq.remoting.contract import Peer

log = logging.getLogger("trimq.lite")


class UnsubscribeNotices:
    """The connections on which clients subscribed; a proxy's is that of many. A listener of subscriptions."""

    def __init__(self) -> None:
        self._peers: dict[str, Peer] = {}
        # By id of a connection; most connections have none.
        self._clients: dict[int, set[str]] = {}

    def heard(self, client_id: str, peer: Peer) -> None:
        if self._peers.get(client_id) is not peer:
            self.forget(client_id)
            self._peers[client_id] = peer
            self._clients.setdefault(peer.id, set()).add(client_id)

    def forget(self, client_id: str) -> None:
        peer = self._peers.pop(client_id, None)
        if peer is not None:
            clients = self._clients[peer.id]
            clients.discard(client_id)
            if not clients:
                del self._clients[peer.id]

    def opened(self, peer: Peer) -> None:
        """A connection says nothing about its clients yet."""

    def closed(self, peer: Peer) -> None:
        """Its clients keep their subscriptions for a while."""
        for client_id in self._clients.pop(peer.id, ()):
            del self._peers[client_id]

    def taken_over(self, subscriber: Subscriber, queue: str) -> None:
        peer, parts = self._peers.get(subscriber.client_id), lite_queue_parts(queue)
        if peer is None or parts is None:
            log.debug("lite client not told: client=%s queue=%s", subscriber.client_id, queue)
            return
        header = NotifyUnsubscribeLiteRequestHeader(
            lite_topic=parts[1], consumer_group=subscriber.group, client_id=subscriber.client_id
        )
        peer.oneway(RequestCode.NOTIFY_UNSUBSCRIBE_LITE, header)

    def joined(self, subscriber: Subscriber, queue: str) -> None:
        """Nothing to tell."""

    def begins_at(self, subscriber: Subscriber, queue: str, option: str | None, value: int) -> None:
        """Nothing to tell."""

    def left(self, subscriber: Subscriber) -> None:
        self.forget(subscriber.client_id)
