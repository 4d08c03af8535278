"""Who reads which lite topics (LiteSubscriptionRegistryImpl): in memory, sent again by the clients after a restart.

It knows no sockets and no messages: what follows from a change is told to a listener.
"""

import logging
from collections.abc import Iterable, Mapping
from typing import Final, Protocol

from trimq.base.clock import Clock
from trimq.broker.config import BrokerConfig
from trimq.broker.consume.first_offsets import LITE_FROM_FIRST
from trimq.broker.lite.evictions import Evictions
from trimq.broker.lite.metadata import LiteMetadata
from trimq.broker.lite.subscribers import NOBODY, Subscriber, Subscribers
from trimq.broker.steps import Steps
from trimq.codec.names import lite_queue_parts

log = logging.getLogger("trimq.lite")

_WILDCARD: Final = "@"
# Stands for the kind of an OffsetOption that names none.
WITHOUT_TYPE: Final = ""


class QuotaExceeded(Exception):
    """The broker has as many subscriptions as it may have (maxLiteSubscriptionCount)."""


class NotForWildcards(Exception):
    """The group reads all lite topics: its clients cannot choose."""


class OptionWithoutType(Exception):
    """Where to begin was said without its kind, so that the client does not read the queue."""


class Subscription:
    """Of one client: light queues by name, and when it last said something, in ms since 1970.

    `hidden`: those that its own client took over from itself. It goes on reading them, but the original no longer
    knows of them here, and when there are no others, not of the subscription either: it is `unseen`.
    """

    __slots__ = ("group", "hidden", "queues", "topic", "unseen", "updated")

    def __init__(self, group: str, topic: str, now: int) -> None:
        self.group = group
        self.topic = topic
        self.queues: dict[str, None] = {}
        self.hidden: set[str] = set()
        self.unseen = False
        self.updated = now

    def shown(self) -> list[str]:
        """The queues that the original would tell of."""
        return [] if self.unseen else [name for name in self.queues if name not in self.hidden]

    def drop(self, queue: str) -> None:
        self.queues.pop(queue, None)
        self.hidden.discard(queue)


class Listener(Protocol):
    """What others do about a change."""

    def joined(self, subscriber: Subscriber, queue: str) -> None:
        """The client reads a queue that it did not read before."""

    def taken_over(self, subscriber: Subscriber, queue: str) -> None:
        """Another client of its group reads the queue now, or did and this one still believes to: it has to be told."""

    def begins_at(self, subscriber: Subscriber, queue: str, option: str | None, value: int) -> None:
        """The group's offset shall be moved; `option` is a kind of OffsetOption."""

    def left(self, subscriber: Subscriber) -> None:
        """The client reads nothing any more."""


class LiteSubscriptions:
    def __init__(self, config: BrokerConfig, metadata: LiteMetadata, clock: Clock) -> None:
        self._config = config
        self._metadata = metadata
        self._clock = clock
        self._clients: dict[str, Subscription] = {}
        self._clients_of: dict[str, dict[str, None]] = {}
        # By light queue and group.
        self._readers: dict[str, dict[str, Subscribers]] = {}
        # Groups that read all lite topics of a topic.
        self._wildcards: dict[str, dict[str, None]] = {}
        self._listeners: list[Listener] = []
        self._evictions = Evictions()
        # (client, lite topic) pairs.
        self.count = 0

    def add_listener(self, listener: Listener) -> None:
        self._listeners.append(listener)

    # --- what clients ask for

    def add(
        self,
        client_id: str,
        group: str,
        topic: str,
        queues: Iterable[str],
        option: str | None = None,
        value: int = 0,
    ) -> Steps[None]:
        """Some more (PARTIAL_ADD). QuotaExceeded, NotForWildcards, OptionWithoutType."""
        most = self._config.max_lite_subscription_count
        if self.count >= most:
            raise QuotaExceeded(f"lite subscription quota exceeded {most}")
        if self._metadata.is_wildcard(group):
            raise NotForWildcards("subscribe lite operation is not supported for this group")
        self._of(client_id, group, topic)
        for queue in queues:
            subscription = self._still(client_id, group, topic)
            again = self._metadata.is_exclusive(group) and self._take_over(group, queue, client_id)
            subscription.queues[queue] = None
            if again or subscription.unseen:
                subscription.hidden.add(queue)
            else:
                subscription.hidden.discard(queue)
            if option == WITHOUT_TYPE:
                raise OptionWithoutType("offsetOption has no type")
            if option is not None:
                for listener in self._listeners:
                    listener.begins_at(Subscriber(client_id, group), queue, option, value)
            self._join(Subscriber(client_id, subscription.group), queue)
            yield

    def remove(self, client_id: str, group: str, topic: str, queues: Iterable[str]) -> Steps[None]:
        """Some less (PARTIAL_REMOVE)."""
        anew = self._metadata.begins_anew_when_left(group)
        self._of(client_id, group, topic)
        for queue in queues:
            subscription = self._still(client_id, group, topic)
            subscription.drop(queue)
            self._leave(Subscriber(client_id, subscription.group), queue, anew)
            yield

    def replace(self, client_id: str, group: str, topic: str, queues: Iterable[str]) -> Steps[None]:
        """These and no others (COMPLETE_ADD); clients say so from time to time. For a wildcard group, all."""
        if self._metadata.is_wildcard(group):
            queues = [wildcard_name(topic, group)]
            self._wildcards.setdefault(topic, {})[group] = None
        wanted = dict.fromkeys(queues)
        subscription = self._of(client_id, group, topic)
        for queue in [queue for queue in subscription.queues if queue not in wanted]:
            subscription = self._still(client_id, group, topic)
            if subscription.queues.pop(queue, 0) is None:
                self._leave(Subscriber(client_id, subscription.group), queue, False)
            yield
        subscription.hidden.clear()
        for queue in wanted:
            subscription = self._still(client_id, group, topic)
            subscription.queues[queue] = None
            self._join(Subscriber(client_id, subscription.group), queue)
            if self.is_evicted(client_id, group, queue):
                # It has not heard of it.
                for listener in self._listeners:
                    listener.taken_over(Subscriber(client_id, subscription.group), queue)
            yield
        if self._metadata.is_exclusive(group):
            self._evictions.keep_only(client_id, wanted)

    def remove_client(self, client_id: str) -> Steps[None]:
        """All of them (COMPLETE_REMOVE)."""
        self._evictions.forget(client_id)
        subscription = self._clients.get(client_id)
        if subscription is None:
            return
        log.info("lite client left: client=%s group=%s", client_id, subscription.group)
        subscriber = Subscriber(client_id, subscription.group)
        self._drop_client(client_id)
        for queue in subscription.queues:
            # It may have come back between two steps.
            back = self._clients.get(client_id)
            if back is None or back.group != subscriber.group or queue not in back.queues:
                self._leave(subscriber, queue, False)
            yield
        if client_id not in self._clients:
            for listener in self._listeners:
                listener.left(subscriber)

    def remove_queue(self, queue: str) -> Steps[None]:
        """The light queue was deleted; nobody is told."""
        for readers in self._readers.pop(queue, {}).values():
            self.count -= len(readers)
            for subscriber in readers:
                subscription = self._clients.get(subscriber.client_id)
                if subscription is not None and subscriber not in self.readers(
                    queue, subscriber.group
                ):
                    subscription.drop(queue)
                yield

    def forget_group(self, group: str) -> Steps[None]:
        """The group was deleted; its clients are not told."""
        for client_id in self.clients_of(group):
            yield from self.remove_client(client_id)
        for topic, groups in list(self._wildcards.items()):
            groups.pop(group, None)
            if not groups:
                del self._wildcards[topic]

    def remove_silent(self) -> Steps[None]:
        """Clients that have said nothing for too long (liteSubscriptionCheckTimeoutMills)."""
        oldest = self._clock.steady_millis() - self._config.lite_subscription_check_timeout_mills
        for client_id in list(self._clients):
            subscription = self._clients.get(client_id)
            if subscription is not None and subscription.updated < oldest:
                yield from self.remove_client(client_id)
            yield
        self._evictions.forget_silent(oldest, self._clients.__contains__)

    # --- for readers

    def find(self, client_id: str) -> Subscription | None:
        return self._clients.get(client_id)

    def is_evicted(self, client_id: str, group: str, queue: str) -> bool:
        """Whether another client has taken the light queue from this one, which has not said since that it knows."""
        return (client_id, queue) in self._evictions and self._metadata.is_exclusive(group)

    def clients_of(self, group: str) -> list[str]:
        return list(self._clients_of.get(group, ()))

    def readers(self, queue: str, group: str) -> Subscribers:
        """The group's clients that read a light queue."""
        if self._metadata.is_wildcard(group):
            parts = lite_queue_parts(queue)
            return NOBODY if parts is None else self.wildcard_readers(group, parts[0])
        return self._readers.get(queue, {}).get(group, NOBODY)

    def all_readers(self, queue: str) -> Mapping[str, Subscribers]:
        """By group."""
        own = self._readers.get(queue, {})
        parts = lite_queue_parts(queue) if self._wildcards else None
        groups = () if parts is None else self._wildcards.get(parts[0], ())
        if parts is None or not groups:
            return own
        wild = {group: self.wildcard_readers(group, parts[0]) for group in groups}
        return {**{group: clients for group, clients in wild.items() if clients}, **own}

    def wildcard_readers(self, group: str, topic: str) -> Subscribers:
        return self._readers.get(wildcard_name(topic, group), {}).get(group, NOBODY)

    # --- inside

    def _of(self, client_id: str, group: str, topic: str) -> Subscription:
        now = self._clock.steady_millis()
        found = self._clients.get(client_id)
        if found is None:
            found = self._clients[client_id] = Subscription(group, topic, now)
            self._clients_of.setdefault(group, {})[client_id] = None
        found.unseen = False
        found.updated = now
        return found

    def _still(self, client_id: str, group: str, topic: str) -> Subscription:
        """Between two steps its silence may have been noticed."""
        return self._clients.get(client_id) or self._of(client_id, group, topic)

    def _drop_client(self, client_id: str) -> None:
        group = self._clients.pop(client_id).group
        clients = self._clients_of[group]
        del clients[client_id]
        if not clients:
            del self._clients_of[group]

    def _join(self, subscriber: Subscriber, queue: str) -> None:
        groups = self._readers.setdefault(queue, {})
        readers = groups.get(subscriber.group)
        if readers is None:
            readers = groups[subscriber.group] = Subscribers()
        if readers.add(subscriber):
            self.count += 1
            for listener in self._listeners:
                listener.joined(subscriber, queue)

    def _leave(self, subscriber: Subscriber, queue: str, begins_anew: bool) -> None:
        groups = self._readers.get(queue, {})
        readers = groups.get(subscriber.group)
        if readers is None or not readers.remove(subscriber):
            return
        self.count -= 1
        if not readers:
            del groups[subscriber.group]
            if not groups:
                del self._readers[queue]
        if begins_anew:
            for listener in self._listeners:
                listener.begins_at(subscriber, queue, "POLICY", LITE_FROM_FIRST)

    def _take_over(self, group: str, queue: str, newcomer: str) -> bool:
        """Whoever of the group reads the queue reads it no more, the one that asks for it again included, as there.

        Whether that one is among them.
        """
        again = False
        anew = self._metadata.begins_anew_for_another(group)
        for subscriber in list(self._readers.get(queue, {}).get(group, ())):
            again = again or subscriber.client_id == newcomer
            subscription = self._clients.get(subscriber.client_id)
            if subscription is not None:
                subscription.drop(queue)
                if subscription.queues or subscriber.client_id == newcomer:
                    subscription.unseen = not subscription.shown()
                else:
                    self._drop_client(subscriber.client_id)
            self._evictions.add(subscriber.client_id, queue, self._clock.steady_millis())
            for listener in self._listeners:
                listener.taken_over(subscriber, queue)
            self._leave(subscriber, queue, anew)
        self._evictions.remove(newcomer, queue)
        return again


def wildcard_name(topic: str, group: str) -> str:
    """What a client of a group that reads all lite topics is subscribed to."""
    return f"{topic}{_WILDCARD}{group}"
