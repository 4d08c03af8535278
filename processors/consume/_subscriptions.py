"""Which messages of a topic a pull may have: its own subscription or its group's.

A pull with the subscription flag brings one along; otherwise the one from the members' heartbeats
counts, and the pull must not know a newer one. Codes and remarks of PullMessageProcessor.
"""

import logging

from trimq.broker.clock import Clock
from trimq.broker.consumer_group import CONSUME_ACTIVELY
from trimq.broker.consumers import Consumers
from trimq.broker.subscription_groups import SubscriptionGroups
from trimq.broker.tag_filters import (
    SubscriptionUnreadable,
    build_subscription,
    is_tag_type,
    requested_codes,
    subscribed_codes,
)
from trimq.broker.topic_names import is_system_pull_group
from trimq.codec.bodies.groups import SubscriptionGroupConfig
from trimq.codec.codes import ResponseCode
from trimq.codec.errors import CodecError
from trimq.codec.headers.fast import PullHeader
from trimq.processors.consume._answers import SEE_FAQ, ForbiddenType, PullForbidden
from trimq.remoting.contract import FeatureMissing, Peer, RemotingError

log = logging.getLogger("trimq.consume")

# PermName.INDEX_PERM_READ: bans are kept as one bit per permission.
_READ_BAN = 2


class PullSubscriptions:
    """Finds the tag hashes that a pull asks for; None is all of them."""

    def __init__(self, groups: SubscriptionGroups, consumers: Consumers, clock: Clock) -> None:
        self._groups = groups
        self._consumers = consumers
        self._clock = clock

    def own(self, header: PullHeader) -> frozenset[int] | None:
        """The pull brings its subscription along."""
        try:
            codes = requested_codes(header.subscription, header.expression_type)
        except SubscriptionUnreadable as error:
            log.warning(
                "pull with unreadable subscription group=%s reason=%s", header.consumer_group, error
            )
            raise RemotingError(
                ResponseCode.SUBSCRIPTION_PARSE_FAILED, "parse the consumer's subscription failed"
            ) from None
        group, topic, now = header.consumer_group, header.topic, self._clock.millis()
        expression, kind = header.subscription, header.expression_type
        if not self._consumers.renew_compensated(group, topic, expression, kind, now):
            self._consumers.compensate(group, build_subscription(topic, expression, kind, now))
        _check_type(header.expression_type)
        return codes

    def of_group(
        self, header: PullHeader, config: SubscriptionGroupConfig
    ) -> frozenset[int] | None:
        """The subscription that the group's members sent with their heartbeats."""
        name, topic = header.consumer_group, header.topic
        group = self._consumers.group(name)
        if group is None:
            raise RemotingError(
                ResponseCode.SUBSCRIPTION_NOT_EXIST,
                f"the consumer's group info not exist{SEE_FAQ}",
            )
        if not config.consume_broadcast_enable and group.broadcasting:
            raise PullForbidden(
                ForbiddenType.BROADCASTING,
                f"the consumer group[{name}] can not consume by broadcast way",
            )
        if self._groups.is_forbidden(name, topic, _READ_BAN):
            raise PullForbidden(
                ForbiddenType.SUBSCRIPTION,
                f"the consumer group[{name}] is forbidden for topic[{topic}]",
            )
        subscription = group.find_subscription(topic)
        if subscription is None:
            raise RemotingError(
                ResponseCode.SUBSCRIPTION_NOT_EXIST,
                f"the consumer's subscription not exist{SEE_FAQ}",
            )
        if header.sub_version is None:
            raise CodecError("PullMessageRequestHeader needs the field 'subVersion'")
        if subscription.sub_version < header.sub_version:
            raise RemotingError(
                ResponseCode.SUBSCRIPTION_NOT_LATEST, "the consumer's subscription not latest"
            )
        if not is_tag_type(subscription.expression_type) and not subscription.sub_string:
            raise RemotingError(
                ResponseCode.FILTER_DATA_NOT_EXIST,
                "The broker's consumer filter data is not exist!Your expression may be wrong!",
            )
        _check_type(subscription.expression_type)
        return subscribed_codes(subscription)

    def check_member(self, name: str, peer: Peer) -> None:
        """With rejectPullConsumerEnable: active consumers only after a heartbeat."""
        group = self._consumers.group(name)
        if group is not None and (group.consume_type != CONSUME_ACTIVELY or peer in group.members):
            return
        if not is_system_pull_group(name):
            raise RemotingError(
                ResponseCode.SUBSCRIPTION_NOT_EXIST,
                "the consumer's group info not exist, or the pull consumer is rejected by server."
                f"{SEE_FAQ}",
            )


def _check_type(expression_type: str | None) -> None:
    """Filters over properties: refused as by a broker with enablePropertyFilter=false."""
    if not is_tag_type(expression_type):
        raise FeatureMissing(
            ResponseCode.SYSTEM_ERROR,
            f"The broker does not support consumer to filter message by {expression_type}",
            "filters other than tags (SQL92) are not supported yet",
        )
