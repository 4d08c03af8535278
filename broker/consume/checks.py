"""Who may pull from where: everything that is checked before the queue is read.

Order, codes, remarks and forbidden types are those of PullMessageProcessor.processRequest.

Hot: compiled by mypyc when a compiler is there.
"""

import logging

from trimq.broker.config import BrokerConfig
from trimq.broker.consume.outcomes import ForbiddenType, Pull, Refused
from trimq.broker.consume.static_pulls import PartPull
from trimq.broker.consume.subscriptions import PullSubscriptions
from trimq.broker.filters.expressions import Expressions
from trimq.broker.groups.subscription_groups import SubscriptionGroups
from trimq.broker.identity import BrokerIdentity
from trimq.broker.topics.static_queues import StaticQueues
from trimq.broker.topics.table import Topics
from trimq.codec.codes import ResponseCode
from trimq.codec.flags import Perm, PullFlag
from trimq.codec.names import SEE_FAQ

log = logging.getLogger("trimq.consume")


class PullChecks:
    """Checks broker, group, topic, queue and subscription, in this order."""

    def __init__(
        self,
        config: BrokerConfig,
        identity: BrokerIdentity,
        topics: Topics,
        groups: SubscriptionGroups,
        subscriptions: PullSubscriptions,
        static: StaticQueues,
    ) -> None:
        self._config = config
        self._identity = identity
        self._topics = topics
        self._groups = groups
        self._subscriptions = subscriptions
        self._static = static
        self._static_topics = static.by_topic

    @property
    def expressions(self) -> Expressions:
        """The filters that pulls bring along."""
        return self._subscriptions.expressions

    def check(self, pull: Pull) -> Refused | None:
        """Refuse, with the real broker's code and remark, or note what the pull may have.

        If another broker has the part, only what comes before the queue is checked.
        """
        refused = self._broker(pull) or self._group(pull) or self._topic(pull)
        if refused is not None:
            return refused
        if pull.asked.topic in self._static_topics:
            self._find_part(pull)
            part = pull.part
            if part is not None and not part.is_here:
                return None
        refused = self._queue(pull)
        if refused is not None:
            return refused
        if pull.header.sys_flag & PullFlag.SUBSCRIPTION:
            refused = self._subscriptions.own(pull)
        else:
            refused = self._subscriptions.of_group(pull)
        if refused is None and self._config.reject_pull_consumer_enable:
            refused = self._subscriptions.not_a_member(pull)
        return refused

    def _broker(self, pull: Pull) -> Refused | None:
        config = self._config
        if not Perm.readable(config.broker_permission):
            what = f"the broker[{self._identity.host}] pulling message is forbidden"
        elif pull.lite and not config.lite_pull_message_enable:
            what = f"the broker[{self._identity.host}] for lite pull consumer is forbidden"
        else:
            return None
        return Refused(ResponseCode.NO_PERMISSION, what, ForbiddenType.BROKER)

    def _group(self, pull: Pull) -> Refused | None:
        name = pull.asked.consumer_group
        group = self._groups.find(name, pull.peer.remote_addr)
        if group is None:
            return Refused(
                ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST,
                f"subscription group [{name}] does not exist, {SEE_FAQ}",
            )
        if not group.consume_enable:
            return Refused(
                ResponseCode.NO_PERMISSION,
                f"subscription group no permission, {name}",
                ForbiddenType.GROUP,
            )
        pull.group = group
        return None

    def _topic(self, pull: Pull) -> Refused | None:
        name = pull.asked.topic
        topic = self._topics.get(name)
        if topic is None:
            log.warning("pull of unknown topic topic=%s peer=%s", name, pull.peer.remote_addr)
            return Refused(
                ResponseCode.TOPIC_NOT_EXIST,
                f"topic[{name}] not exist, apply first please! {SEE_FAQ}",
            )
        if not Perm.readable(topic.perm):
            return Refused(
                ResponseCode.NO_PERMISSION,
                f"the topic[{name}] pulling message is forbidden",
                ForbiddenType.TOPIC,
            )
        pull.topic = topic
        return None

    def _find_part(self, pull: Pull) -> None:
        asked = pull.asked
        queue = None if pull.forwarded else self._static.queue(asked.topic, asked.queue_id)
        if queue is not None:
            part = PartPull(asked, queue)
            pull.part = part
            pull.header = part.header

    def _queue(self, pull: Pull) -> Refused | None:
        header, topic = pull.header, pull.topic
        if 0 <= header.queue_id < topic.read_queue_nums:
            return None
        text = (
            f"queueId[{header.queue_id}] is illegal, topic:[{topic.topic_name}] "
            f"topicConfig.readQueueNums:[{topic.read_queue_nums}] "
            f"consumer:[/{pull.peer.remote_addr}]"
        )
        log.warning(text)
        return Refused(ResponseCode.INVALID_PARAMETER, text)
