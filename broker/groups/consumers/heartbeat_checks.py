"""Whether a client may join the groups of its heartbeat, and the retry topic that each of them gets."""

from trimq.broker.config import BrokerConfig
from trimq.broker.groups.clients.limits import check_heartbeat
from trimq.broker.groups.consumers.group import CONSUME_ACTIVELY
from trimq.broker.groups.subscription_groups import SubscriptionGroups
from trimq.broker.topics.table import Topics
from trimq.codec.bodies.heartbeat import ConsumerData, HeartbeatData
from trimq.codec.flags import Perm, TopicSysFlag
from trimq.codec.names import retry_topic
from trimq.remoting.contract import Peer


class GroupTopics:
    """What a heartbeat needs from groups and topics: settings, and a retry topic for each group."""

    def __init__(self, config: BrokerConfig, topics: Topics, groups: SubscriptionGroups) -> None:
        self._config = config
        self._topics = topics
        self._groups = groups

    def check_size(self, data: HeartbeatData) -> None:
        """LimitReached when it names too many groups."""
        check_heartbeat(self._config, data)

    def admit(self, data: ConsumerData, peer: Peer) -> bool | None:
        """Whether members of the group are told of changes; None when it may not consume here."""
        if self._config.reject_pull_consumer_enable and data.consume_type == CONSUME_ACTIVELY:
            return None
        group = self._groups.find(data.group_name, peer.remote_addr)
        if group is None:
            return None
        ordered = any(
            self._topics.is_order_topic(subscription.topic)
            for subscription in data.subscription_data_set
        )
        self._topics.create_in_send_back(
            retry_topic(data.group_name),
            group.retry_queue_nums,
            Perm.READ | Perm.WRITE,
            TopicSysFlag.UNIT_SUB if data.unit_mode else 0,
            order=ordered,
        )
        return group.notify_consumer_ids_changed_enable
