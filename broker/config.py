"""Every setting of the broker, declared once: RocketMQ's name, type, default, limits, purpose.

A field's RocketMQ key is its name in camelCase unless the declaration names another; names and
defaults are those of BrokerConfig, BrokerIdentity and NettyServerConfig. Settings about files are
in store/config.py. Keys of RocketMQ that have no effect here (thread pools, queue capacities) are
not declared: setting one is reported.
"""

import os
import socket
from dataclasses import dataclass
from typing import Final

from trimq.base.setting_fields import (
    computed_setting,
    limit,
    setting,
)
from trimq.codec.names import TRACE_TOPIC

# AdminBrokerProcessor.initConfigBlackList refuses these whatever configBlackList says.
NEVER_AT_RUN_TIME: Final = frozenset({"brokerConfigPath", "rocketmqHome", "configBlackList"})


def _host_name() -> str:
    """BrokerIdentity.defaultBrokerName: the machine's name."""
    return socket.gethostname() or "DEFAULT_BROKER"


SLAVE: Final = "SLAVE"
SYNC_MASTER: Final = "SYNC_MASTER"


@dataclass(frozen=True, kw_only=True, slots=True)
class BrokerConfig:
    """The settings of one broker; while it runs only trimq/settings/running.py changes some."""

    broker_cluster_name: str = setting("DefaultCluster", "Cluster that this broker belongs to.")
    broker_name: str = computed_setting(
        _host_name, "Name of this broker; master and slaves share it."
    )
    broker_id: int = setting(
        0,
        "A slave's number, above 0 and its own among the brokers of this name. A master's is 0, whatever this says, "
        "as in RocketMQ.",
        long=True,
    )
    broker_role: str = setting(
        "ASYNC_MASTER",
        "SLAVE copies the master of its name. SYNC_MASTER waits for slaves, with inSyncReplicas above 1.",
        choices=("ASYNC_MASTER", "SYNC_MASTER", "SLAVE"),
    )
    namesrv_addr: str | None = computed_setting(
        lambda: os.environ.get("NAMESRV_ADDR", "").strip() or None,
        "NameServers to register with, HOST:PORT;HOST:PORT. Default: the environment's "
        "NAMESRV_ADDR; without that, a NameServer is embedded.",
        guarded=True,
    )
    zone: str = computed_setting(
        lambda: os.environ.get("ROCKETMQ_ZONE", ""),
        "Zone of this broker, reported to NameServers. Default: the environment's ROCKETMQ_ZONE.",
        key="rocketmq.zone",
        guarded=True,
    )
    zone_mode: str = computed_setting(
        lambda: os.environ.get("ROCKETMQ_ZONE_MODE", ""),
        "Reported with the zone. Default: the environment's ROCKETMQ_ZONE_MODE.",
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
        8, "Queues of TBW102, the most that auto-created topics get.", at_least=1, at_most=16_384
    )
    auto_create_topic_enable: bool = setting(
        True, "Create a topic when the first message for it is sent.", live=True
    )
    cluster_topic_enable: bool = setting(True, "The topic named after the cluster may be used.")
    broker_topic_enable: bool = setting(True, "The topic named after the broker may be used.")
    trace_topic_enable: bool = setting(False, "Create the message trace topic at start.")
    msg_trace_topic_name: str = setting(TRACE_TOPIC, "The message trace topic.")
    store_reply_message_enable: bool = setting(
        True,
        "Keep the replies of request-reply in the cluster's reply topic, too; requesters get them either way.",
        live=True,
    )
    revive_queue_num: int = setting(8, "Queues of the POP revive topic.", at_least=1, at_most=1024)
    server_load_balancer_enable: bool = setting(
        True,
        "Share queues out among a group's clients that ask for it; false: each gets all.",
        live=True,
    )
    default_message_request_mode: str = setting(
        "PULL",
        "How clients that ask read a topic that setConsumeMode says nothing about.",
        choices=("PULL", "POP"),
        live=True,
    )
    default_pop_share_queue_num: int = setting(
        -1, "How many other clients' queues a client pops, too; below 1: those of all.", live=True
    )
    load_balance_poll_name_server_interval: int = setting(
        30_000,
        "How long a topic's queues on all brokers are remembered, in ms.",
        at_least=1,
        live=True,
        long=True,
    )
    max_message_filter_num_for_notification: int = setting(
        64,
        "A NOTIFICATION looks at tags if a queue has fewer messages than this.",
        at_least=0,
        live=True,
    )
    use_message_filter_for_notification: bool = setting(
        True, "A NOTIFICATION heeds its filter; false: any message counts.", live=True
    )
    init_pop_offset_by_check_msg_in_mem: bool = setting(
        True,
        "A group that begins to pop at the end gets all of a queue that still has its first message; false: the last.",
        live=True,
    )
    revive_interval: int = setting(
        1000,
        "How often POP looks for what was not acknowledged, in ms.",
        at_least=1,
        live=True,
        long=True,
    )
    skip_when_ck_re_put_reach_max_times: bool = setting(
        False,
        "With POP, a message that cannot be put back is given up after 17 more tries, in five hours.",
        key="skipWhenCKRePutReachMaxTimes",
        live=True,
    )
    pop_from_retry_probability: int = setting(
        20,
        "Percentage of pops that look for messages to be tried again first, not last.",
        at_least=0,
        at_most=100,
        live=True,
    )
    pop_from_retry_probability_for_priority: int = setting(
        0,
        "The same for topics of PRIORITY messages.",
        at_least=0,
        at_most=100,
        live=True,
    )
    retrieve_message_from_pop_retry_topic_v1: bool = setting(
        True, "With enableRetryTopicV2, every second pop looks at %RETRY%group_topic.", live=True
    )
    priority_order_asc: bool = setting(
        True, "A pop goes through a topic's queues from the highest number down.", live=True
    )
    enable_retry_topic_v2: bool = setting(
        False,
        "What a pop group does not acknowledge goes to %RETRY%group+topic, not group_topic.",
        live=True,
    )
    pop_response_return_actual_retry_topic: bool = setting(
        False, "Pops return messages to be tried again under their retry topic.", live=True
    )
    pop_polling_size: int = setting(
        1024, "Pops that may wait for the same queues of a group.", at_least=0, live=True
    )
    max_pop_polling_size: int = setting(
        100_000, "Pops that may wait.", at_least=0, live=True, long=True
    )
    lite_event_check_interval: int = setting(
        10_000,
        "How often clients that do not fetch their news are looked for, in ms.",
        at_least=1,
        live=True,
        long=True,
    )
    lite_event_full_dispatch_delay_time: int = setting(
        10_000,
        "How long after its news were too many all lite topics of a client are looked at, in ms.",
        at_least=0,
        live=True,
        long=True,
    )
    lite_event_full_dispatch_delay_time_for_wildcard_group: int = setting(
        10_000, "The same for a group that reads all lite topics.", at_least=0, live=True, long=True
    )
    lite_event_capacity_cache_ttl_ms: int = setting(
        5000,
        "How long a group's lite.sub.client.max.event.cnt is remembered, in ms; 0: it is looked up each time.",
        at_least=0,
        live=True,
        long=True,
    )
    max_client_event_count: int = setting(
        100,
        "Lite topics with news a client is told of at a time; a group's lite.sub.client.max.event.cnt comes first.",
        at_least=1,
        live=True,
    )
    max_lite_subscription_count: int = setting(
        100_000, "Subscriptions to lite topics, of all clients.", at_least=0, live=True, long=True
    )
    lite_subscription_check_interval: int = setting(
        120_000,
        "How often silent lite clients are looked for, in ms.",
        at_least=1,
        live=True,
        long=True,
    )
    lite_subscription_check_timeout_mills: int = setting(
        180_000,
        "The subscriptions of a lite client that stops sending them end after this, in ms.",
        at_least=1,
        live=True,
        long=True,
    )
    lite_ttl_check_interval: int = setting(
        120_000,
        "How often lite topics that have expired are looked for, in ms.",
        at_least=1,
        live=True,
        long=True,
    )
    min_lite_ttl: int = setting(
        900_000,
        "No lite topic expires earlier than this, in ms, nor that soon after a start.",
        key="minLiteTTl",
        at_least=0,
        live=True,
        long=True,
    )
    lite_lag_latency_collect_enable: bool = setting(
        False, "Remember which lite topics a group is behind in, for getLiteGroupInfo.", live=True
    )
    lite_lag_latency_top_k: int = setting(
        50, "Lite topics that are remembered so for a group.", at_least=1, live=True
    )
    validate_system_topic_when_update_topic: bool = setting(
        True, "Refuse to change system topics by UPDATE_AND_CREATE_TOPIC.", live=True
    )
    clear_retry_topic_when_delete_topic: bool = setting(
        True, "Deleting a topic deletes its POP retry topics too.", live=True
    )
    batch_delete_topic_max_rate: float = setting(
        10.0,
        "How many topics of a list (deleteTopic -t A,B) are deleted a second, POP retry topics counted; 0: unlimited.",
        at_most=1_000_000,
        live=True,
    )
    batch_delete_subscription_group_max_rate: float = setting(
        10.0,
        "How many groups of a list (deleteSubGroup -g a,b) are deleted a second; 0: unlimited.",
        at_most=1_000_000,
        live=True,
    )
    auto_create_subscription_group: bool = setting(
        True, "Create a subscription group when it is first used.", live=True
    )
    enable_lmq_stats: bool = setting(
        False,
        "With enableLmq: figures of what is handed out and sent back for each light queue, instead of all together.",
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
    offset_check_in_slave: bool = setting(
        False,
        "A slave corrects offsets that are outside of a queue; otherwise their readers are sent to the master.",
        live=True,
    )
    slave_read_enable: bool = setting(
        False, "Send consumers that lag far behind to a slave.", live=True
    )
    lite_pull_message_enable: bool = setting(True, "Answer LITE_PULL_MESSAGE.", live=True)
    enable_property_filter: bool = setting(
        False, "Allow SQL92 subscriptions: filters by the properties of messages.", live=True
    )
    filter_support_retry: bool = setting(
        False,
        "An SQL92 subscription to a retry topic filters by what the group wants of each message's own topic.",
        live=True,
    )
    filter_data_clean_time_span: int = setting(
        86_400_000,
        "Milliseconds after which the filters of a group that has left are forgotten.",
        at_least=0,
        long=True,
        live=True,
    )
    enable_calc_filter_bit_map: bool = setting(
        False,
        "With enableConsumeQueueExt: note in the queue which groups' filters a new message matches, so that their"
        " pulls need not look at the others.",
    )
    expect_consumer_num_use_filter: int = setting(
        32,
        "Groups with filters on one topic, for which those notes are made.",
        at_least=1,
        at_most=10_000,
    )
    max_error_rate_of_bloom_filter: int = setting(
        20,
        "How many of those notes may say yes wrongly, as a percentage; such a message is looked at.",
        at_least=1,
        at_most=99,
    )
    enable_mixed_message_type: bool = setting(
        False, "Allow topics with message.type=MIXED.", live=True
    )
    reject_pull_consumer_enable: bool = setting(
        False, "Ignore heartbeats of consumers that pull by themselves.", live=True
    )
    reject_transaction_message: bool = setting(
        False, "Half messages of transactions are refused.", live=True
    )
    transaction_time_out: int = setting(
        6000,
        "Milliseconds since its first send before a half message's producer is asked; "
        "CHECK_IMMUNITY_TIME_IN_SECONDS of a message replaces it, but an END is awaited no shorter.",
        at_least=0,
        live=True,
        long=True,
    )
    transaction_check_interval: int = setting(
        30000,
        "Milliseconds between two rounds of questions about half messages.",
        at_least=1,
        live=True,
        long=True,
    )
    transaction_check_max: int = setting(
        15,
        "A half message that was asked about this often goes to TRANS_CHECK_MAX_TIME_TOPIC.",
        live=True,
    )
    transaction_metric_flush_interval: int = setting(
        10000,
        "Milliseconds between two writes of config/transactionMetrics.",
        at_least=1,
        live=True,
        long=True,
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

    recall_message_enable: bool = setting(
        False, "Let producers take timer messages back before their time.", live=True
    )
    allow_recall_when_broker_not_writeable: bool = setting(
        True, "They may do so even if brokerPermission allows no sends.", live=True
    )

    notify_consumer_ids_changed_enable: bool = setting(
        True, "Tell consumers when members of their group come and go.", live=True
    )
    real_time_notify_consumer_change: bool = setting(
        True, "Tell them at once; otherwise every 15 s.", live=True
    )
    refuse_inconsistent_subscription: bool = setting(
        False,
        "Refuse heartbeats of consumers that subscribe differently from another member of their "
        "group.",
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
    enable_broadcast_offset_store: bool = setting(
        True,
        "Commit for GROUP@broadcast, every 5 s, where the members of a broadcasting group pull; the least of all.",
        live=True,
    )
    broadcast_offset_expire_second: int = setting(
        120,
        "Seconds after its last pull that a member that has left counts there.",
        at_least=0,
        live=True,
        long=True,
    )
    broadcast_offset_expire_max_second: int = setting(
        300,
        "Seconds after its last pull that a member that is online is forgotten there.",
        at_least=0,
        live=True,
        long=True,
    )
    use_server_side_reset_offset: bool = setting(
        True,
        "Keep offsets reset by an operator until the consumer has seen them."
        " In elastic topics that is done in any case.",
        live=True,
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
        "Milliseconds between two registrations, limited to 10000 to 60000.",
        live=True,
    )
    register_broker_timeout_mills: int = setting(
        24_000, "Milliseconds after which a registration has failed.", at_least=1
    )
    forward_timeout: int = setting(
        3000,
        "Milliseconds after which a request to another broker, for its part of a static topic's "
        "queue, has failed.",
        at_least=1,
        live=True,
        long=True,
    )
    compatible_with_old_name_srv: bool = setting(
        True,
        "Ask NameServers for other brokers of this one's name by a route, as those before 5.0 need it.",
        live=True,
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
