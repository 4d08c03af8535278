"""Who consumes (ConsumerManager): groups with members online.

Members are told that somebody came or went (`notices`). Those of broadcasting groups are not: every member
reads everything anyway.
"""

import logging
import sys
from collections.abc import Callable, Mapping

from trimq.base.clock import Clock
from trimq.broker.config import BrokerConfig
from trimq.broker.filters.tags import SUBSCRIBE_ALL, TAG
from trimq.broker.groups.clients.expiry import has_expired_consumer
from trimq.broker.groups.clients.limits import check_consumer_groups, check_subscriptions
from trimq.broker.groups.clients.record import Client
from trimq.broker.groups.consumers.group import ConsumerGroup
from trimq.broker.groups.consumers.member import Member, account, disputes
from trimq.broker.groups.consumers.notices import MemberNotices
from trimq.broker.steps import Steps, Unfinished, at_once, one_by_one
from trimq.codec.bodies.heartbeat import ConsumerData, SubscriptionData
from trimq.remoting.contract import Peer

log = logging.getLogger("trimq.broker")

# Smaller heartbeats are not counted: they cannot be in that many groups, either.
_FEW_SUBSCRIPTIONS = 50
# Refused clients that are remembered, so that each is logged once.
_REFUSED = 1000


class Consumers:
    """Every consumer group with members online, by name."""

    def __init__(self, config: BrokerConfig, clock: Clock) -> None:
        self._config = config
        self._clock = clock
        self._groups: dict[str, ConsumerGroup] = {}
        self._groups_of: dict[str, set[str]] = {}
        # The groups of each connection: when it ends, no others have to be searched.
        # With each of its groups, how many subscriptions it has there.
        self._of_peer: dict[Peer, dict[str, int]] = {}
        self._compensated: dict[str, dict[str, SubscriptionData]] = {}
        self._fingerprints: dict[str, int] = {}
        self.notices = MemberNotices(config)
        # Members of connections that have ended.
        self.leaving = Unfinished()
        self._gone_listeners: list[Callable[[str], None]] = []
        self._disagreements_of_gone = 0
        self._refused: dict[tuple[str, str], int] = {}

    # --- looking up

    def group(self, name: str) -> ConsumerGroup | None:
        return self._groups.get(name)

    def groups(self) -> Mapping[str, ConsumerGroup]:
        return self._groups

    def find_subscription(self, group: str, topic: str) -> SubscriptionData | None:
        """The subscription in force: from heartbeats, or from pulls that carried one."""
        found = self._groups.get(group)
        subscription = None if found is None else found.find_subscription(topic)
        if subscription is None and group in self._compensated:
            return self._compensated[group].get(topic)
        return subscription

    def subscription_count(self, group: str) -> int:
        found = self._groups.get(group)
        return 0 if found is None else len(found.subscriptions)

    def groups_consuming(self, topic: str) -> set[str]:
        """Groups with members online that have subscribed the topic (queryTopicConsumeByWho)."""
        return set(self._groups_of.get(topic, ()))

    def find_client(self, group: str, client_id: str) -> Client | None:
        found = self._groups.get(group)
        return None if found is None else found.find_client(client_id)

    @property
    def disagreements(self) -> int:
        """How often members of a group began to subscribe differently, since the start."""
        online = sum(group.agreement.begun for group in self._groups.values())
        return self._disagreements_of_gone + online

    @property
    def groups_in_dispute(self) -> int:
        """How many groups have members now that subscribe differently."""
        return sum(bool(group.agreement.since) for group in self._groups.values())

    def add_gone_listener(self, listener: Callable[[str], None]) -> None:
        """Called with the name of a group whose last member has left."""
        self._gone_listeners.append(listener)

    # --- heartbeats

    def fingerprint_changed(self, group: str, fingerprint: int) -> bool:
        """Note the fingerprint of a heartbeat; true if the group's last one was different.

        ClientManageProcessor.consumerGroupHeartbeatTable; heartbeats of version 1 count as 0.
        """
        before = self._fingerprints.get(group)
        self._fingerprints[group] = fingerprint
        return before is not None and before != fingerprint

    def objection(
        self, client: Client, data: ConsumerData, *, without_sub: bool = False
    ) -> str | None:
        """Why a heartbeat is refused, because another member differs; None if it is not.

        Only with refuseInconsistentSubscription. A member that says nothing new stays; a client
        that comes back on another connection does not contradict itself.
        """
        group = self._groups.get(data.group_name)
        if group is None or not self._config.refuse_inconsistent_subscription:
            return None
        asking, known = Member(client), group.members.get(client.peer)
        if known is not None:
            asking.subscriptions = known.subscriptions
        asking.hear(data, client.last_update, without_sub=without_sub)
        is_nothing_new = known is not None and known.opinions == asking.opinions
        if is_nothing_new or group.opinions.all_as(asking):
            return None
        for other in group.members.values():
            if other.client.client_id == client.client_id:
                continue
            found = sorted(disputes([asking, other]))
            if found:
                said = "; ".join(
                    f"{' '.join(point).strip()} ({account([asking, other], point)})"
                    for point in found
                )
                reason = (
                    f"members of the group {group.name} must subscribe alike, and these do not: "
                    f"{said}. Use the same subscription in all members or another group "
                    "(refuseInconsistentSubscription=true)"
                )
                self._log_refusal((group.name, client.client_id), reason)
                return reason
        return None

    def _log_refusal(self, who: tuple[str, str], reason: str) -> None:
        """Logged once per client and reason: every heartbeat brings it again."""
        if self._refused.get(who) == hash(reason):
            return
        if len(self._refused) >= _REFUSED:
            self._refused.clear()
        self._refused[who] = hash(reason)
        log.warning("consumer refused: client=%s reason=%s", who[1], reason)

    def register(
        self, client: Client, data: ConsumerData, notify: bool, *, without_sub: bool = False
    ) -> bool:
        """The same at once."""
        return at_once(self.registering(client, data, notify, without_sub=without_sub))

    def registering(
        self, client: Client, data: ConsumerData, notify: bool, *, without_sub: bool = False
    ) -> Steps[bool]:
        """A member's heartbeat: true if it changed the group. It may subscribe thousands of topics.

        `notify` is the group's own notifyConsumerIdsChangedEnable. `without_sub`: a heartbeat of
        version 2 that says that nothing has changed since the last full one.
        """
        self._check_room(client.peer, data)
        group = self._groups.get(data.group_name)
        if group is None:
            group = ConsumerGroup(data.group_name, client.last_update)
            self._groups[data.group_name] = group
        mine = self._of_peer.setdefault(client.peer, {})
        mine[group.name] = (
            mine.get(group.name, 0) if without_sub else len(data.subscription_data_set)
        )
        topics = (
            list(group.subscriptions)
            if without_sub
            else [subscription.topic for subscription in data.subscription_data_set]
        )
        for topic in topics:
            self._note_topic(topic, group.name)
        self._refused.pop((group.name, client.client_id), None)
        group.consume_type = data.consume_type
        group.message_model = data.message_model
        group.consume_from_where = data.consume_from_where
        changed = group.join(client)
        if not without_sub:
            changed = (yield from group.subscribe(client, data.subscription_data_set)) or changed
        if client.peer in group.members:
            # Not gone between two steps.
            group.hear(client, data, without_sub=without_sub)
        if changed and notify and not group.broadcasting:
            self.notices.changed(group.name, group.members)
        return changed

    def unregister(self, name: str, client: Client, notify: bool) -> None:
        """A member says goodbye."""
        group = self._groups.get(name)
        if group is None:
            return
        self._not_of_peer(client.peer, name)
        if group.leave(client.peer, self._clock.steady_millis()) is not None:
            log.info("consumer left: group=%s client=%s", name, client)
        self._drop_if_empty(group)
        if notify and not group.broadcasting:
            self.notices.changed(group.name, group.members)

    def closed(self, peer: Peer) -> None:
        """A connection has ended: its members are gone from all groups, the others are told."""
        self.leaving.do(self._closed(peer))

    def _closed(self, peer: Peer) -> Steps[None]:
        for name in self._of_peer.pop(peer, ()):
            group = self._groups.get(name)
            if group is not None:
                member = group.leave(peer, self._clock.steady_millis())
                client = None if member is None else member.client
                log.warning("consumer disconnected: group=%s client=%s", group.name, client)
                self._drop_if_empty(group)
                if not group.broadcasting:
                    self.notices.changed(group.name, group.members)
            yield

    def scan_expired(self) -> Steps[None]:
        """Drop members that are silent for too long; a service calls it every 10 s.

        Their connections are closed, and the rest of the group is told, once for all of them.
        """
        now = self._clock.steady_millis()
        for name in one_by_one(self._groups):
            group = self._groups.get(name)
            if group is None:
                continue
            has_changed = False
            for peer, member in list(group.members.items()):
                if has_expired_consumer(self._config, member.client, now):
                    log.warning("consumer expired: group=%s client=%s", group.name, member.client)
                    has_changed = group.leave(peer, now) is not None or has_changed
                    self._not_of_peer(peer, group.name)
                    peer.close("no heartbeat from the consumer")
                yield
            if has_changed and not group.broadcasting:
                self.notices.changed(group.name, group.members)
            self._drop_if_empty(group)
            yield
        yield from self._forget_compensated(now)

    # --- subscriptions that came with pulls

    def compensate(self, group: str, subscription: SubscriptionData) -> None:
        """A subscription that came with a pull (compensateSubscribeData), for groups without one."""
        self._compensated.setdefault(group, {})[subscription.topic] = subscription

    def renew_compensated(
        self, group: str, topic: str, expression: str | None, expression_type: str | None, now: int
    ) -> bool:
        """If the previous pull carried the same subscription, renew that as of `now` (ms); False if not."""
        topics = self._compensated.get(group)
        known = topics.get(topic) if topics is not None else None
        if (
            known is None
            or known.sub_string != (expression or SUBSCRIBE_ALL)
            or known.expression_type != (expression_type or TAG)
        ):
            return False
        known.sub_version = now
        return True

    def _forget_compensated(self, now: int) -> Steps[None]:
        expired = self._config.subscription_expired_timeout
        for group, topics in list(self._compensated.items()):
            for topic, subscription in list(topics.items()):
                if now - subscription.sub_version > expired:
                    topics.pop(topic, None)
                yield
            if not topics and self._compensated.get(group) is topics:
                del self._compensated[group]

    # --- inside

    def _check_room(self, peer: Peer, data: ConsumerData) -> None:
        """LimitReached when the connection would be in too many groups, or subscribe too much."""
        mine = self._of_peer.get(peer, {})
        if data.group_name not in mine:
            check_consumer_groups(self._config, len(mine))
        count = len(data.subscription_data_set)
        if count < _FEW_SUBSCRIPTIONS and len(mine) < _FEW_SUBSCRIPTIONS:
            return
        others = sum(mine.values()) - mine.get(data.group_name, 0)
        check_subscriptions(self._config, count + others)

    def _note_topic(self, topic: str, group: str) -> None:
        """Remembered until the group is gone, but for no more topics than are allowed."""
        known = self._groups_of.get(topic)
        if known is not None:
            known.add(group)
        elif len(self._groups_of) < (2 * self._config.max_topics or sys.maxsize):
            self._groups_of[topic] = {group}

    def _not_of_peer(self, peer: Peer, name: str) -> None:
        mine = self._of_peer.get(peer)
        if mine is not None:
            mine.pop(name, None)
            if not mine:
                del self._of_peer[peer]

    def _drop_if_empty(self, group: ConsumerGroup) -> None:
        if group.members or self._groups.get(group.name) is not group:
            return
        del self._groups[group.name]
        self._disagreements_of_gone += group.agreement.begun
        for topic in group.subscriptions:
            names = self._groups_of.get(topic)
            if names is not None:
                names.discard(group.name)
                if not names:
                    del self._groups_of[topic]
        log.info("consumer group gone, no member left: group=%s", group.name)
        for listener in self._gone_listeners:
            listener(group.name)
