"""One consumer group that has members online (ConsumerGroupInfo).

Subscriptions belong to the group, not to the member: per topic the highest subVersion wins, and a
topic that is missing from a member's heartbeat is removed for all. Members that disagree therefore
overwrite each other; what each one said is kept separately (broker/groups/consumers/member.py,
broker/groups/consumers/agreement.py), so that this can be shown.
"""

import logging
from collections.abc import Iterable, Iterator
from typing import Final

from trimq.broker.groups.clients.record import Client
from trimq.broker.groups.consumers.agreement import Agreement
from trimq.broker.groups.consumers.member import Member, Opinions
from trimq.broker.steps import Steps
from trimq.codec.bodies.heartbeat import ConsumerData, SubscriptionData
from trimq.codec.enums import ConsumeFromWhere, ConsumeType, MessageModel
from trimq.remoting.contract import Peer

log = logging.getLogger("trimq.broker")

DESCRIBED: Final = "topic=%s expression=%s type=%s version=%d"

BROADCASTING = "BROADCASTING"
CONSUME_ACTIVELY = "CONSUME_ACTIVELY"
CONSUME_PASSIVELY = "CONSUME_PASSIVELY"

Subscriptions = dict[str, SubscriptionData]


class ConsumerGroup:
    """Members, the subscriptions in force, and how the group consumes."""

    def __init__(self, name: str, now: int) -> None:
        self.name = name
        self.consume_type: ConsumeType | None = None
        self.message_model: MessageModel | None = None
        self.consume_from_where: ConsumeFromWhere | None = None
        self.members: dict[Peer, Member] = {}
        self.subscriptions: Subscriptions = {}
        self.last_update = now
        self.agreement = Agreement(name)
        self.opinions = Opinions()

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

    def leave(self, peer: Peer, now: int) -> Member | None:
        """The member on that connection, or None."""
        member = self.members.pop(peer, None)
        if member is not None:
            self.opinions.remove(member)
            self.agreement.look(self.opinions, self.members, now)
        return member

    def hear(self, client: Client, data: ConsumerData, *, without_sub: bool = False) -> None:
        """What a member says in its heartbeat."""
        member = self.members[client.peer]
        self.opinions.remove(member)
        is_new = member.hear(data, client.last_update, without_sub=without_sub)
        self.opinions.add(member)
        if is_new:
            self.agreement.look(self.opinions, self.members, client.last_update)

    def subscribe(self, client: Client, wanted: Iterable[SubscriptionData]) -> Steps[bool]:
        """A member's subscriptions: true if the group's topics have changed."""
        said = {subscription.topic: subscription for subscription in wanted}
        put, by, now = self.agreement.put, client.client_id, client.last_update
        changed = False
        for topic, subscription in said.items():
            yield
            old = self.subscriptions.get(topic)
            if old is None:
                self.subscriptions[topic] = subscription
                put(topic, by, subscription, now)
                changed = True
                log.info(
                    f"subscription added: group=%s {DESCRIBED}", self.name, *described(subscription)
                )
            elif subscription.sub_version > old.sub_version:
                self.subscriptions[topic] = subscription
                put(topic, by, subscription, now)
                if self.consume_type == CONSUME_PASSIVELY:
                    log.info(
                        f"subscription replaced: group=%s old=%s {DESCRIBED}",
                        self.name,
                        old.sub_string,
                        *described(subscription),
                    )
        for topic in self.subscriptions.keys() - said.keys():
            yield
            removed = self.subscriptions.pop(topic, None)
            if removed is None:
                continue
            put(topic, by, None, now)
            changed = True
            log.warning(
                f"subscription removed: group=%s {DESCRIBED}", self.name, *described(removed)
            )
        return changed


def described(subscription: SubscriptionData) -> tuple[str | None, str | None, str | None, int]:
    """The values of `DESCRIBED`."""
    return (
        subscription.topic,
        subscription.sub_string,
        subscription.expression_type,
        subscription.sub_version,
    )
