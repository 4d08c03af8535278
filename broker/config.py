"""Every setting of the broker, declared once: RocketMQ's name, type, default, limits, purpose.

A field's RocketMQ key is its name in camelCase unless the declaration names another; names and
defaults are those of BrokerConfig, BrokerIdentity and NettyServerConfig. Most are declared by subject in
broker/settings/; what peers can make a broker keep is bounded here. Settings about files are
in store/config.py. Keys of RocketMQ that have no effect here (thread pools, queue capacities) are
not declared: setting one is reported.
"""

from dataclasses import dataclass
from typing import Final

from trimq.base.setting_fields import limit, setting
from trimq.broker.settings.cluster import ClusterSettings
from trimq.broker.settings.consumers import ConsumerSettings
from trimq.broker.settings.filters import FilterSettings
from trimq.broker.settings.identity import IdentitySettings
from trimq.broker.settings.lite import LiteSettings
from trimq.broker.settings.pop import PopSettings
from trimq.broker.settings.pulls import PullSettings
from trimq.broker.settings.sends import SendSettings
from trimq.broker.settings.topics import TopicSettings
from trimq.broker.settings.transactions import TransactionSettings

# AdminBrokerProcessor.initConfigBlackList refuses these whatever configBlackList says.
NEVER_AT_RUN_TIME: Final = frozenset({"brokerConfigPath", "rocketmqHome", "configBlackList"})
SLAVE: Final = "SLAVE"
SYNC_MASTER: Final = "SYNC_MASTER"


# The fields of the last base come first.
@dataclass(frozen=True, kw_only=True, slots=True)
class BrokerConfig(
    ClusterSettings,
    LiteSettings,
    PopSettings,
    FilterSettings,
    PullSettings,
    ConsumerSettings,
    TransactionSettings,
    SendSettings,
    TopicSettings,
    IdentitySettings,
):
    """The settings of one broker; while it runs only trimq/settings/running.py changes some."""

    config_black_list: str = setting(
        "configBlackList;brokerConfigPath",
        "Keys that cannot be changed at run time, separated by semicolons.",
    )
    leave_pending_messages: bool = setting(
        False,
        "Start on a store of another broker although it has messages that TriMQ can neither deliver nor"
        " keep: they stay where they are.",
        guarded=True,
        own=True,
    )

    # TriMQ's own: what peers can make this broker keep. 0 is no limit.
    max_topics: int = limit(100_000, "Topics of this broker.")
    max_groups: int = limit(100_000, "Subscription groups of this broker.")
    max_topic_queues: int = limit(16_384, "Queues of one topic.")
    max_new_names_per_address: int = limit(
        100,
        "Topics and groups created on first use, per second and address (this machine excepted); "
        "ten times as many at once.",
    )
    max_heartbeat_groups: int = limit(1000, "Producer and consumer groups in one heartbeat.")
    max_filter_characters: int = limit(
        2 * 1024 * 1024,
        "Characters of all SQL92 filters that are kept; each counts 500 more than it has.",
    )
    max_held_pulls: int = limit(100_000, "Pulls that may wait for messages at a time.")
    max_suspend_seconds: int = limit(
        300, "Longest time in seconds that a pull waits for messages, whatever it asks for."
    )
    max_connection_groups: int = limit(
        1000, "Consumer groups of one connection, and as many producer groups."
    )
    max_connection_subscriptions: int = limit(10_000, "Subscriptions of one connection.")
    max_group_locks: int = limit(65_536, "Queues of one group that are locked for a consumer.")
    max_queue_locks: int = limit(1_000_000, "Queues that are locked for a consumer, of all groups.")
    max_foreign_offsets: int = limit(
        1000, "Committed offsets of a group for queues that the topic does not have."
    )


def corrects_offsets(config: BrokerConfig) -> bool:
    """Whether readers are told where to go on instead of an offset that a queue does not have.

    A slave may not have yet, or never have had, what its master has (DefaultMessageStore.nextOffsetCorrection).
    """
    return config.broker_role != SLAVE or config.offset_check_in_slave
