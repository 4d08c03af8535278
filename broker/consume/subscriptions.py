"""Which messages of a topic a pull gets: by its own subscription or its group's.

A pull with the subscription flag brings one along; otherwise the one from the members' heartbeats
counts, and the pull must not know a newer one. Codes and remarks of PullMessageProcessor.

Hot: compiled by mypyc when a compiler is there.
"""

import logging

from trimq.base.clock import Clock
from trimq.broker.config import BrokerConfig
from trimq.broker.consume.outcomes import ForbiddenType, Pull, Refused
from trimq.broker.filters.expressions import Expressions
from trimq.broker.filters.sql_filters import SqlFilters
from trimq.broker.filters.tags import (
    SubscriptionUnreadable,
    build_subscription,
    is_tag_type,
    requested_codes,
    subscribed_codes,
)
from trimq.broker.groups.consumers.group import CONSUME_ACTIVELY
from trimq.broker.groups.consumers.online import Consumers
from trimq.broker.groups.subscription_groups import SubscriptionGroups
from trimq.codec.bodies.heartbeat import SubscriptionData
from trimq.codec.codes import ResponseCode
from trimq.codec.errors import CodecError
from trimq.codec.names import SEE_FAQ, is_system_pull_group
from trimq.codec.sql.expression import Expression

log = logging.getLogger("trimq.consume")

# PermName.INDEX_PERM_READ: bans are kept as one bit per permission.
_READ_BAN = 2


class PullSubscriptions:
    """Finds the tag hashes that a pull asks for, or its filter."""

    def __init__(
        self,
        config: BrokerConfig,
        groups: SubscriptionGroups,
        consumers: Consumers,
        filters: SqlFilters,
        clock: Clock,
    ) -> None:
        self._config = config
        self._groups = groups
        self.consumers = consumers
        self._filters = filters
        self._clock = clock

    @property
    def expressions(self) -> Expressions:
        """Those that were read; others have to be read before they can be used."""
        return self._filters.expressions

    def own(self, pull: Pull) -> Refused | None:
        """The pull brings its subscription along."""
        header = pull.header
        group, topic = header.consumer_group, header.topic
        expression, kind = header.subscription, header.expression_type
        try:
            pull.codes = requested_codes(expression, kind)
        except SubscriptionUnreadable as error:
            log.warning("pull with unreadable subscription group=%s reason=%s", group, error)
            return Refused(
                ResponseCode.SUBSCRIPTION_PARSE_FAILED, "parse the consumer's subscription failed"
            )
        now = self._clock.steady_millis()
        if not self.consumers.renew_compensated(group, topic, expression, kind, now):
            self.consumers.compensate(group, build_subscription(topic, expression, kind, now))
        if is_tag_type(kind):
            return None
        return self._not_allowed(kind) or self._own_filter(pull, kind, expression or "")

    def _own_filter(self, pull: Pull, kind: str | None, text: str) -> Refused | None:
        found = self._filters.expressions.find(kind, text)
        if found is None:
            pull.unread = text
            return None
        if not isinstance(found, Expression):
            group = pull.header.consumer_group
            log.warning("pull with unreadable expression group=%s reason=%s", group, found)
            return Refused(
                ResponseCode.SUBSCRIPTION_PARSE_FAILED,
                f"parse the consumer's subscription failed: {found}",
            )
        pull.filter = self._filters.pulls.by_expression(pull.header.topic, found)
        return None

    def of_group(self, pull: Pull) -> Refused | None:
        """The subscription that the group's members sent with their heartbeats."""
        header = pull.header
        name, topic = header.consumer_group, header.topic
        group = self.consumers.group(name)
        if group is None:
            return Refused(
                ResponseCode.SUBSCRIPTION_NOT_EXIST,
                f"the consumer's group info not exist{SEE_FAQ}",
            )
        if not pull.group.consume_broadcast_enable and group.broadcasting:
            return Refused(
                ResponseCode.NO_PERMISSION,
                f"the consumer group[{name}] can not consume by broadcast way",
                ForbiddenType.BROADCASTING,
            )
        if self._groups.is_forbidden(name, topic, _READ_BAN):
            return Refused(
                ResponseCode.NO_PERMISSION,
                f"the consumer group[{name}] is forbidden for topic[{topic}]",
                ForbiddenType.SUBSCRIPTION,
            )
        subscription = group.find_subscription(topic)
        if subscription is None:
            return Refused(
                ResponseCode.SUBSCRIPTION_NOT_EXIST,
                f"the consumer's subscription not exist{SEE_FAQ}",
            )
        if header.sub_version is None:
            raise CodecError("PullMessageRequestHeader needs the field 'subVersion'")
        if subscription.sub_version < header.sub_version:
            return Refused(
                ResponseCode.SUBSCRIPTION_NOT_LATEST, "the consumer's subscription not latest"
            )
        if is_tag_type(subscription.expression_type):
            pull.codes = subscribed_codes(subscription)
            return None
        return self._filter_of_group(pull, subscription, header.sub_version)

    def _filter_of_group(
        self, pull: Pull, subscription: SubscriptionData, version: int
    ) -> Refused | None:
        """What the group has registered: in 5.5.0 it must be there even if no filter is allowed."""
        topic, group = pull.header.topic, pull.header.consumer_group
        known = self._filters.table.find(topic, group)
        made = None if known is None else self._filters.pulls.by_group(topic, known)
        if known is None or made is None:
            return Refused(
                ResponseCode.FILTER_DATA_NOT_EXIST,
                "The broker's consumer filter data is not exist!Your expression may be wrong!",
            )
        if known.data.client_version < version:
            return Refused(
                ResponseCode.FILTER_DATA_NOT_LATEST,
                "the consumer's consumer filter data not latest",
            )
        pull.filter = None if subscription.class_filter_mode else made
        return self._not_allowed(subscription.expression_type)

    def _not_allowed(self, expression_type: str | None) -> Refused | None:
        """Filters over properties want enablePropertyFilter."""
        if self._config.enable_property_filter:
            return None
        return Refused(
            ResponseCode.SYSTEM_ERROR,
            f"The broker does not support consumer to filter message by {expression_type}",
        )

    def not_a_member(self, pull: Pull) -> Refused | None:
        """With rejectPullConsumerEnable: active consumers only after a heartbeat."""
        name = pull.header.consumer_group
        group = self.consumers.group(name)
        if group is not None and (
            group.consume_type != CONSUME_ACTIVELY or pull.peer in group.members
        ):
            return None
        if is_system_pull_group(name):
            return None
        return Refused(
            ResponseCode.SUBSCRIPTION_NOT_EXIST,
            "the consumer's group info not exist, or the pull consumer is rejected by server."
            f"{SEE_FAQ}",
        )
