"""Who may pop from where: what is checked before queues are read, for POP, PEEK and NOTIFICATION alike.

Order, codes and remarks are those of PopMessageProcessor, PeekMessageProcessor and NotificationProcessor.

Hot: compiled by mypyc when a compiler is there.
"""

import logging
from typing import Final

from trimq.base.clock import Clock
from trimq.broker.config import BrokerConfig
from trimq.broker.filters.expressions import Expressions
from trimq.broker.filters.sql_filters import SqlFilters
from trimq.broker.filters.tags import (
    SubscriptionUnreadable,
    build_subscription,
    is_tag_type,
    requested_codes,
)
from trimq.broker.groups.consumers.online import Consumers
from trimq.broker.groups.subscription_groups import SubscriptionGroups
from trimq.broker.identity import BrokerIdentity
from trimq.broker.topics.table import Topics
from trimq.codec.bodies.groups import SubscriptionGroupConfig
from trimq.codec.bodies.topics import TopicConfig
from trimq.codec.codes import ResponseCode
from trimq.codec.flags import Perm
from trimq.codec.java.numbers import parse_int
from trimq.codec.names import SEE_FAQ, pop_retry_topic, pop_retry_topic_v2
from trimq.codec.sql.expression import Expression
from trimq.remoting.contract import Peer, RemotingError
from trimq.store.config import StoreConfig
from trimq.store.messages.filter import MessageFilter

log = logging.getLogger("trimq.pop")

MOST_MESSAGES: Final = 32
_ALWAYS: Final = 100


class Wanted:
    """Which messages: tag hashes (None is every tag), or what a filter takes. `unread`: an expression to read first."""

    __slots__ = ("codes", "filter", "unread")

    def __init__(self) -> None:
        self.codes: frozenset[int] | None = None
        self.filter: MessageFilter | None = None
        self.unread: str | None = None


class PopChecks:
    def __init__(
        self,
        config: BrokerConfig,
        identity: BrokerIdentity,
        topics: Topics,
        groups: SubscriptionGroups,
        consumers: Consumers,
        filters: SqlFilters,
        clock: Clock,
        of_store: StoreConfig,
    ) -> None:
        self.clock = clock
        self.of_store = of_store
        self._config = config
        self._identity = identity
        self._topics = topics
        self._groups = groups
        self._consumers = consumers
        self._filters = filters

    @property
    def expressions(self) -> Expressions:
        """The filters that pops bring along."""
        return self._filters.expressions

    def refuse(self, code: ResponseCode, what: str) -> RemotingError:
        return RemotingError(code, f"the broker[{self._identity.host}] {what}")

    def readable(self, what: str) -> None:
        """RemotingError if the broker may not be read."""
        if not Perm.readable(self._config.broker_permission):
            raise self.refuse(ResponseCode.NO_PERMISSION, f"{what} is forbidden")

    def topic(self, name: str, queue_id: int, peer: Peer) -> TopicConfig:
        """RemotingError if there is no such queue to read; below 0 means all."""
        topic = self._topics.get(name)
        if topic is None:
            raise no_topic(name)
        if not Perm.readable(topic.perm):
            raise RemotingError(
                ResponseCode.NO_PERMISSION, f"the topic[{name}] peeking message is forbidden"
            )
        if queue_id >= topic.read_queue_nums:
            raise RemotingError(ResponseCode.INVALID_PARAMETER, bad_queue(topic, queue_id, peer))
        return topic

    def group(self, name: str, peer: Peer) -> SubscriptionGroupConfig:
        """RemotingError if it does not exist, or may not consume."""
        group = self._groups.find(name, peer.remote_addr)
        if group is None:
            raise RemotingError(
                ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST,
                f"subscription group [{name}] does not exist, {SEE_FAQ}",
            )
        check_consumes(group, name)
        return group

    def wanted(self, group: str, topic: str, kind: str | None, text: str | None) -> Wanted:
        """What the request subscribes to, which counts as the group's subscription from now on. RemotingError."""
        if not text:
            kind, text = "TAG", "*"
        wanted = Wanted()
        codes = self._codes(group, kind, text)
        now = self.clock.steady_millis()
        for name, expression in ((topic, text), (self.retry_topic(topic, group), "*")):
            if not self._consumers.renew_compensated(group, name, expression, kind, now):
                subscription = build_subscription(name, expression, kind, now)
                self._consumers.compensate(group, subscription)
        self._read(wanted, codes, (topic, group), kind, text)
        return wanted

    def looked_for(self, group: str, topic: str, kind: str | None, text: str | None) -> Wanted:
        """What a notification is about; nothing is subscribed by it. RemotingError."""
        wanted = Wanted()
        if kind and text and self._config.use_message_filter_for_notification:
            self._read(wanted, self._codes(group, kind, text), (topic, group), kind, text)
        return wanted

    def _codes(self, group: str, kind: str | None, text: str) -> frozenset[int] | None:
        try:
            return requested_codes(text, kind)
        except SubscriptionUnreadable as error:
            raise unreadable(group, str(error)) from None

    def _read(
        self,
        wanted: Wanted,
        codes: frozenset[int] | None,
        whose: tuple[str, str],
        kind: str | None,
        text: str,
    ) -> None:
        if is_tag_type(kind):
            wanted.codes = codes
            return
        topic, group = whose
        found = self._filters.expressions.find(kind, text)
        if found is None:
            wanted.unread = text
        elif isinstance(found, Expression):
            wanted.filter = self._filters.pulls.by_expression(topic, found)
        else:
            raise unreadable(group, str(found))

    def retry_topic(self, topic: str, group: str) -> str:
        """Where what the group does not acknowledge goes."""
        make = pop_retry_topic_v2 if self._config.enable_retry_topic_v2 else pop_retry_topic
        return make(topic, group)

    def priority_factor(self, topic: str, group: str) -> int:
        """In how many of a hundred pops the queues' numbers are priorities (priority.factor)."""
        config = self._topics.get(topic)
        if config is None or config.attributes.get("message.type") != "PRIORITY":
            return 0
        of_group = self._groups.get(group)
        text = "" if of_group is None else of_group.attributes.get("priority.factor", "")
        factor = parse_int(text)
        return _ALWAYS if factor is None else factor

    def queues(self, topic: str) -> int:
        """How many it has to read; 0 for an unknown topic."""
        config = self._topics.get(topic)
        return 0 if config is None else config.read_queue_nums


def too_long(millis: int, config: StoreConfig) -> str | None:
    """Why a message cannot be hidden that long: its checkpoint would not be taken by the timer wheel."""
    most = config.timer_max_delay_sec * 1000
    if millis <= most:
        return None
    return f"invisibleTime is {millis} ms, more than the timer wheel holds: {most} ms (timerMaxDelaySec)"


def check_consumes(group: SubscriptionGroupConfig, name: str) -> None:
    """RemotingError if it may not."""
    if not group.consume_enable:
        raise RemotingError(ResponseCode.NO_PERMISSION, f"subscription group no permission, {name}")


def no_topic(name: str) -> RemotingError:
    return RemotingError(
        ResponseCode.TOPIC_NOT_EXIST, f"topic[{name}] not exist, apply first please! {SEE_FAQ}"
    )


def bad_queue(topic: TopicConfig, queue_id: int, peer: Peer) -> str:
    return (
        f"queueId[{queue_id}] is illegal, topic:[{topic.topic_name}] "
        f"topicConfig.readQueueNums:[{topic.read_queue_nums}] consumer:[/{peer.remote_addr}]"
    )


def unreadable(group: str, why: str) -> RemotingError:
    log.warning("pop with unreadable subscription group=%s reason=%s", group, why)
    return RemotingError(
        ResponseCode.SUBSCRIPTION_PARSE_FAILED, "parse the consumer's subscription failed"
    )
