"""Every setting of the broker, declared once: RocketMQ's name, type, default, limits, purpose.

A field's RocketMQ key is its name in camelCase unless the declaration names another; names and
defaults are those of BrokerConfig, BrokerIdentity and NettyServerConfig. What concerns files stands
in store/config.py. Keys of RocketMQ that have no effect here (thread pools, queue capacities) are
not declared: whoever sets one is told so.
"""

import os
import socket
from dataclasses import dataclass
from typing import Final

from trimq.store.settings import (
    WHEN_FALSE,
    WHEN_TRUE,
    Refusal,
    computed_setting,
    limit,
    setting,
    when_one_of,
)

# AdminBrokerProcessor.initConfigBlackList refuses these whatever configBlackList says.
NEVER_AT_RUN_TIME: Final = frozenset({"brokerConfigPath", "rocketmqHome", "configBlackList"})


def _host_name() -> str:
    """BrokerIdentity.defaultBrokerName: the machine's name."""
    return socket.gethostname() or "DEFAULT_BROKER"


@dataclass(frozen=True, kw_only=True, slots=True)
class BrokerConfig:
    """The settings of one broker; while it runs only trimq/running_settings.py changes some."""

    broker_cluster_name: str = setting("DefaultCluster", "Cluster that this broker belongs to.")
    broker_name: str = computed_setting(
        _host_name, "Name of this broker; master and slaves share it."
    )
    broker_id: int = setting(
        0,
        "Taken for 0, a master's id, as RocketMQ does it for every master.",
        long=True,
    )
    broker_role: str = setting(
        "ASYNC_MASTER",
        "SYNC_MASTER waits for no slave while inSyncReplicas is 1, as in RocketMQ.",
        choices=("ASYNC_MASTER", "SYNC_MASTER", "SLAVE"),
        refused=Refusal(
            when_one_of("SLAVE"),
            "TriMQ has no replication yet, so this broker would stay empty: set brokerRole=ASYNC_MASTER for a"
            " broker of its own, or keep the slave on RocketMQ",
        ),
    )
    namesrv_addr: str | None = computed_setting(
        lambda: os.environ.get("NAMESRV_ADDR", "").strip() or None,
        "NameServers to register with, HOST:PORT;HOST:PORT. Without it the environment's NAMESRV_ADDR,"
        " else a NameServer is embedded.",
        guarded=True,
    )
    zone: str = computed_setting(
        lambda: os.environ.get("ROCKETMQ_ZONE", ""),
        "Zone of this broker, told to NameServers. Without it the environment's ROCKETMQ_ZONE.",
        key="rocketmq.zone",
        guarded=True,
    )
    zone_mode: str = computed_setting(
        lambda: os.environ.get("ROCKETMQ_ZONE_MODE", ""),
        "Told with the zone. Without it the environment's ROCKETMQ_ZONE_MODE.",
        key="rocketmq.zone.mode",
        guarded=True,
    )
    listen_port: int = setting(10911, "Port for clients.", at_least=0, at_most=65535, guarded=True)
    broker_ip1: str | None = setting(
        None, "Address or host name that clients are told.", key="brokerIP1", guarded=True
    )
    broker_ip2: str | None = setting(
        None, "Address or host name that slaves are told.", key="brokerIP2", guarded=True
    )
    broker_permission: int = setting(
        6, "What clients may do on this broker: 2 write, 4 read.", choices=(0, 2, 4, 6), live=True
    )
    region_id: str = setting("DefaultRegion", "MSG_REGION of stored messages.", live=True)
    trace_on: bool = setting(True, "TRACE_ON of stored messages.", live=True)

    default_topic_queue_nums: int = setting(
        8, "Queues of TBW102, the most that auto-created topics get.", at_least=1
    )
    auto_create_topic_enable: bool = setting(
        True, "Create a topic when the first message for it is sent.", live=True
    )
    cluster_topic_enable: bool = setting(True, "The topic named after the cluster may be used.")
    broker_topic_enable: bool = setting(True, "The topic named after the broker may be used.")
    trace_topic_enable: bool = setting(False, "Create the message trace topic at start.")
    msg_trace_topic_name: str = setting("RMQ_SYS_TRACE_TOPIC", "The message trace topic.")
    revive_queue_num: int = setting(8, "Queues of the POP revive topic.", at_least=1)
    validate_system_topic_when_update_topic: bool = setting(
        True, "Refuse to change system topics by UPDATE_AND_CREATE_TOPIC.", live=True
    )
    clear_retry_topic_when_delete_topic: bool = setting(
        True, "Deleting a topic deletes its POP retry topics too.", live=True
    )
    auto_create_subscription_group: bool = setting(
        True, "Create a subscription group when it is first used.", live=True
    )
    enable_create_sys_group: bool = setting(
        True, "CID_RMQ_SYS_ groups are created even when auto-creation is off.", live=True
    )

    long_polling_enable: bool = setting(
        True, "Hold pulls that find nothing until a message lands.", live=True
    )
    short_polling_time_mills: int = setting(
        1000, "How long a pull is held when long polling is off.", at_least=0, live=True, long=True
    )
    slave_read_enable: bool = setting(
        False, "Send consumers that lag far behind to a slave.", live=True
    )
    lite_pull_message_enable: bool = setting(True, "Answer LITE_PULL_MESSAGE.", live=True)
    filter_support_retry: bool = setting(
        False, "Filter by properties on retry topics too.", live=True
    )
    enable_property_filter: bool = setting(
        False,
        "Allow SQL92 subscriptions.",
        refused=Refusal(
            WHEN_TRUE,
            "TriMQ does not filter by SQL92 yet: set enablePropertyFilter=false, then such subscriptions are"
            " refused one by one, or keep this broker on RocketMQ",
        ),
    )
    enable_mixed_message_type: bool = setting(
        False, "Allow topics with message.type=MIXED.", live=True
    )
    reject_pull_consumer_enable: bool = setting(
        False, "Ignore heartbeats of consumers that pull by themselves.", live=True
    )
    reject_transaction_message: bool = setting(
        False,
        "Half messages of transactions are refused whatever it says.",
        live=True,
        refused=Refusal(
            WHEN_FALSE,
            "TriMQ does not finish transactions yet: leave it out or set rejectTransactionMessage=true, then half"
            " messages are refused one by one, or keep this broker on RocketMQ",
        ),
    )
    enable_register_producer: bool = setting(
        True,
        "Remember producers; only with rejectTransactionMessage can they be forgotten.",
        live=True,
    )
    start_accept_send_request_time_stamp: int = setting(
        0,
        "Sends before this time (milliseconds since 1970) are refused.",
        at_least=0,
        live=True,
        long=True,
    )

    notify_consumer_ids_changed_enable: bool = setting(
        True, "Tell consumers when members of their group come and go.", live=True
    )
    real_time_notify_consumer_change: bool = setting(
        True, "Tell them at once; otherwise every 15 s.", live=True
    )
    refuse_inconsistent_subscription: bool = setting(
        False,
        "Refuse heartbeats of consumers that subscribe otherwise than a member of their group.",
        own=True,
        live=True,
    )
    channel_expired_timeout: int = setting(
        120_000,
        "Milliseconds after which a client without heartbeats is dropped.",
        at_least=1000,
        live=True,
        long=True,
    )
    subscription_expired_timeout: int = setting(
        600_000,
        "Milliseconds after which a subscription that is known from pulls alone is forgotten.",
        at_least=1000,
        long=True,
        live=True,
    )
    use_server_side_reset_offset: bool = setting(
        True, "Keep offsets reset by an operator until the consumer has seen them.", live=True
    )
    flush_consumer_offset_interval: int = setting(
        5000, "Milliseconds between two writes of the consumer offsets.", at_least=100
    )
    consumer_offset_update_version_step: int = setting(
        500, "Offset commits per new data version of the offsets.", at_least=1, live=True, long=True
    )
    delay_offset_update_version_step: int = setting(
        200, "Delayed deliveries per new data version of their progress.", at_least=1, long=True
    )

    register_name_server_period: int = setting(
        30_000,
        "Milliseconds between two registrations; it counts as 10000 to 60000.",
        live=True,
    )
    register_broker_timeout_mills: int = setting(
        24_000, "Milliseconds until a registration has failed.", at_least=1
    )
    forward_timeout: int = setting(
        3000,
        "Milliseconds until a request to another broker, for its part of a static topic's queue,"
        " has failed.",
        at_least=1,
        live=True,
        long=True,
    )
    compressed_register: bool = setting(False, "Send the registration body compressed.", live=True)
    force_register: bool = setting(True, "Register even when nothing has changed.", live=True)
    enable_single_topic_register: bool = setting(
        False,
        "Register a new topic alone instead of the changed ones with their version.",
        live=True,
    )
    enable_split_registration: bool = setting(
        False, "Register the topics in parts of splitRegistrationSize.", live=True
    )
    split_registration_size: int = setting(
        800, "Topics in one part of a registration.", at_least=1, live=True
    )
    enable_split_metadata: bool = setting(
        True, "Answer topic and group tables in pages.", live=True
    )
    split_metadata_size: int = setting(2000, "Topics or groups in one page.", at_least=1, live=True)
    config_black_list: str = setting(
        "configBlackList;brokerConfigPath",
        "Keys that cannot be changed at run time, separated by semicolons.",
    )

    leave_pending_messages: bool = setting(
        False,
        "Start on a store of another broker although it has messages that TriMQ can neither deliver nor"
        " keep: they are left where they are.",
        guarded=True,
        own=True,
    )

    # TriMQ's own: what peers can make this broker keep. 0 is no limit.
    max_topics: int = limit(100_000, "Topics of this broker.")
    max_groups: int = limit(100_000, "Subscription groups of this broker.")
    max_topic_queues: int = limit(16_384, "Queues of one topic.")
    max_new_names_per_address: int = limit(
        100,
        "Topics and groups created on first use, a second and an address other than this machine's;"
        " ten times as many at once.",
    )
    max_heartbeat_groups: int = limit(1000, "Producer and consumer groups in one heartbeat.")
    max_held_pulls: int = limit(100_000, "Pulls that wait for messages at a time.")
    max_suspend_seconds: int = limit(
        300, "Seconds that a pull waits for messages at most, whatever it asks for."
    )
    max_connection_groups: int = limit(
        1000, "Consumer groups of one connection, and producer groups as many."
    )
    max_connection_subscriptions: int = limit(10_000, "Subscriptions of one connection.")
    max_group_locks: int = limit(65_536, "Queues of one group that are locked for a consumer.")
    max_queue_locks: int = limit(1_000_000, "Queues that are locked for a consumer, of all groups.")
    max_foreign_offsets: int = limit(
        1000, "Committed offsets of a group for queues that the topic does not have."
    )
