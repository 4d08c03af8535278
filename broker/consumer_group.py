"""One consumer group that has members online (ConsumerGroupInfo).

Subscriptions belong to the group, not to the member: per topic the highest subVersion wins, and a
topic that is missing from a member's heartbeat is removed for all. Members that disagree therefore
overwrite each other; what each one said itself is kept beside, so that this can be shown.
"""

import logging
from collections.abc import Iterable, Iterator

from broker.clients import Client
from codec.bodies.heartbeat import SubscriptionData
from remoting.contract import Peer

log = logging.getLogger("trimq.broker")

BROADCASTING = "BROADCASTING"
CONSUME_ACTIVELY = "CONSUME_ACTIVELY"
CONSUME_PASSIVELY = "CONSUME_PASSIVELY"

Subscriptions = dict[str, SubscriptionData]


class Member:
    """A client in the group and the subscriptions of its own last heartbeat that had any."""

    __slots__ = ("client", "subscriptions")

    def __init__(self, client: Client) -> None:
        self.client = client
        self.subscriptions: Subscriptions | None = None


class ConsumerGroup:
    """Members, the subscriptions in force, and how the group consumes."""

    def __init__(self, name: str, now: int) -> None:
        self.name = name
        self.consume_type: str | None = None
        self.message_model: str | None = None
        self.consume_from_where: str | None = None
        self.members: dict[Peer, Member] = {}
        self.subscriptions: Subscriptions = {}
        self.last_update = now
        self.disagreements = 0

    @property
    def broadcasting(self) -> bool:
        return self.message_model == BROADCASTING

    def client_ids(self) -> list[str]:
        return [member.client.client_id for member in self.members.values()]

    def clients(self) -> Iterator[Client]:
        return (member.client for member in self.members.values())

    def find_client(self, client_id: str) -> Client | None:
        return next((client for client in self.clients() if client.client_id == client_id), None)

    def find_subscription(self, topic: str) -> SubscriptionData | None:
        return self.subscriptions.get(topic)

    def join(self, client: Client) -> bool:
        """A heartbeat's connection: true when it is new here."""
        member = self.members.get(client.peer)
        self.last_update = client.last_update
        if member is None:
            self.members[client.peer] = Member(client)
            log.info(
                "consumer joined: group=%s client=%s type=%s model=%s",
                self.name,
                client,
                self.consume_type,
                self.message_model,
            )
            return True
        if member.client.client_id != client.client_id:
            log.error(
                "consumer changed its id on one connection: group=%s old=%s new=%s",
                self.name,
                member.client,
                client,
            )
            member.client = client
        member.client.last_update = client.last_update
        return False

    def subscribe(self, peer: Peer, wanted: Iterable[SubscriptionData]) -> bool:
        """A member's subscriptions: true when the group's topics are others than before."""
        said = {subscription.topic: subscription for subscription in wanted}
        self._compare(peer, said)
        changed = False
        for topic, subscription in said.items():
            old = self.subscriptions.get(topic)
            if old is None:
                self.subscriptions[topic] = subscription
                changed = True
                log.info("subscription added: group=%s %s", self.name, described(subscription))
            elif subscription.sub_version > old.sub_version:
                self.subscriptions[topic] = subscription
                if self.consume_type == CONSUME_PASSIVELY:
                    log.info(
                        "subscription replaced: group=%s old=[%s] new=[%s]",
                        self.name,
                        described(old),
                        described(subscription),
                    )
        for topic in self.subscriptions.keys() - said.keys():
            removed = self.subscriptions.pop(topic)
            changed = True
            log.warning("subscription removed: group=%s %s", self.name, described(removed))
        return changed

    def _compare(self, peer: Peer, said: Subscriptions) -> None:
        """Note what a member says, and once per change whether another member says otherwise."""
        member = self.members.get(peer)
        if member is None:
            return
        before = member.subscriptions
        member.subscriptions = said
        if before is not None and _wishes(before) == _wishes(said):
            return
        for other in self.members.values():
            if other is member or other.subscriptions is None:
                continue
            if _wishes(other.subscriptions) != _wishes(said):
                self.disagreements += 1
                log.warning(
                    "members of a group subscribe differently, one will miss messages: group=%s "
                    "client=%s [%s] other=%s [%s]",
                    self.name,
                    member.client.client_id,
                    _listed(said),
                    other.client.client_id,
                    _listed(other.subscriptions),
                )
                return


def described(subscription: SubscriptionData) -> str:
    return (
        f"topic={subscription.topic} expression={subscription.sub_string} "
        f"type={subscription.expression_type} version={subscription.sub_version}"
    )


def _wishes(subscriptions: Subscriptions) -> dict[str, tuple[str, str]]:
    """What counts as the same subscription: everything but its version.

    No expression type and an empty expression mean what their defaults mean.
    """
    return {
        topic: (wanted.expression_type or "TAG", wanted.sub_string or "*")
        for topic, wanted in subscriptions.items()
    }


def _listed(subscriptions: Subscriptions) -> str:
    return ", ".join(f"{topic} {wish[1]}" for topic, wish in sorted(_wishes(subscriptions).items()))
