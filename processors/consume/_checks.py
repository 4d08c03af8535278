"""Who may pull from where: everything before the queue is looked at.

Order, codes, remarks and forbidden types are those of PullMessageProcessor.processRequest.
"""

import logging

from trimq.broker.config import BrokerConfig
from trimq.broker.identity import BrokerIdentity
from trimq.broker.static_queues import StaticQueues
from trimq.broker.subscription_groups import SubscriptionGroups
from trimq.broker.topics import Topics
from trimq.codec.bodies.groups import SubscriptionGroupConfig
from trimq.codec.bodies.topics import TopicConfig
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.flags import Perm, PullFlag
from trimq.codec.headers.fast import PullHeader
from trimq.processors.consume._answers import SEE_FAQ, ForbiddenType, PullForbidden
from trimq.processors.consume._static_pulls import LiesElsewhere, PartPull
from trimq.processors.consume._subscriptions import PullSubscriptions
from trimq.remoting.contract import Peer, RemotingError, Request

log = logging.getLogger("trimq.consume")


class Allowed:
    """A pull that may be answered: what decides its reply.

    `header` asks for one of this broker's queues; `part` is there when the client meant a static
    topic's.
    """

    __slots__ = ("codes", "group", "header", "part", "topic")

    def __init__(
        self,
        header: PullHeader,
        part: PartPull | None,
        topic: TopicConfig,
        group: SubscriptionGroupConfig,
        codes: frozenset[int] | None,
    ) -> None:
        self.header = header
        self.part = part
        self.topic = topic
        self.group = group
        # None: every tag.
        self.codes = codes


class PullChecks:
    """Looks at broker, group, topic, queue and subscription, in this order."""

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
        self._host = identity.address.rpartition(":")[0]
        self._topics = topics
        self._groups = groups
        self._subscriptions = subscriptions
        self._static = static
        self._static_topics = static.by_topic

    def check(self, request: Request[PullHeader]) -> Allowed:
        """RemotingError with the real broker's code and remark, or what the pull may have.

        LiesElsewhere when another broker has to be asked.
        """
        header = request.header
        self._check_broker(request)
        group = self._group(header.consumer_group, request.peer)
        topic = self._topic(header, request.peer)
        part: PartPull | None = None
        if header.topic in self._static_topics:
            part = self._part(request)
            if part is not None:
                header = part.header
        self._check_queue(header, topic, request.peer)
        if header.sys_flag & PullFlag.SUBSCRIPTION:
            codes = self._subscriptions.own(header)
        else:
            codes = self._subscriptions.of_group(header, group)
        if self._config.reject_pull_consumer_enable:
            self._subscriptions.check_member(header.consumer_group, request.peer)
        return Allowed(header, part, topic, group, codes)

    def _check_broker(self, request: Request[PullHeader]) -> None:
        config = self._config
        if not Perm.readable(config.broker_permission):
            raise PullForbidden(
                ForbiddenType.BROKER, f"the broker[{self._host}] pulling message is forbidden"
            )
        if request.code == RequestCode.LITE_PULL_MESSAGE and not config.lite_pull_message_enable:
            raise PullForbidden(
                ForbiddenType.BROKER,
                f"the broker[{self._host}] for lite pull consumer is forbidden",
            )

    def _group(self, name: str, peer: Peer) -> SubscriptionGroupConfig:
        group = self._groups.find(name, peer.remote_addr)
        if group is None:
            raise RemotingError(
                ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST,
                f"subscription group [{name}] does not exist, {SEE_FAQ}",
            )
        if not group.consume_enable:
            raise PullForbidden(ForbiddenType.GROUP, f"subscription group no permission, {name}")
        return group

    def _topic(self, header: PullHeader, peer: Peer) -> TopicConfig:
        name = header.topic
        topic = self._topics.get(name)
        if topic is None:
            log.warning("pull of unknown topic topic=%s peer=%s", name, peer.remote_addr)
            raise RemotingError(
                ResponseCode.TOPIC_NOT_EXIST,
                f"topic[{name}] not exist, apply first please! {SEE_FAQ}",
            )
        if not Perm.readable(topic.perm):
            raise PullForbidden(
                ForbiddenType.TOPIC, f"the topic[{name}] pulling message is forbidden"
            )
        return topic

    def _part(self, request: Request[PullHeader]) -> PartPull | None:
        header = request.header
        queue = self._static.find(header.topic, header.queue_id, request.ext_fields)
        if queue is None:
            return None
        part = PartPull(header, queue)
        if not part.is_here:
            raise LiesElsewhere(part)
        return part

    def _check_queue(self, header: PullHeader, topic: TopicConfig, peer: Peer) -> None:
        if not 0 <= header.queue_id < topic.read_queue_nums:
            text = (
                f"queueId[{header.queue_id}] is illegal, topic:[{topic.topic_name}] "
                f"topicConfig.readQueueNums:[{topic.read_queue_nums}] "
                f"consumer:[/{peer.remote_addr}]"
            )
            log.warning(text)
            raise RemotingError(ResponseCode.INVALID_PARAMETER, text)
