"""Names that RocketMQ reserves, its number of a master, and remarks that more than one answer carries.

The names are those of TopicValidator, MixAll and KeyBuilder. broker/topics/names.py says which of them
a topic or group may not have.

Hot: compiled by mypyc when a compiler is there.
"""

from typing import Final

# A broker with this id is the master of its name (MixAll.MASTER_ID).
MASTER_ID: Final = 0
# A light queue is queue 0 of the topic with its name, which no topic table has (MixAll.LMQ_QUEUE_ID).
LIGHT_QUEUE_ID: Final = 0

AUTO_CREATE_TOPIC: Final = "TBW102"
SCHEDULE_TOPIC: Final = "SCHEDULE_TOPIC_XXXX"
BENCHMARK_TOPIC: Final = "BenchmarkTest"
TRANS_HALF_TOPIC: Final = "RMQ_SYS_TRANS_HALF_TOPIC"
TRANS_OP_HALF_TOPIC: Final = "RMQ_SYS_TRANS_OP_HALF_TOPIC"
ROCKSDB_TRANS_HALF_TOPIC: Final = "RMQ_SYS_ROCKSDB_TRANS_HALF_TOPIC"
ROCKSDB_TRANS_OP_HALF_TOPIC: Final = "RMQ_SYS_ROCKSDB_TRANS_OP_HALF_TOPIC"
TRACE_TOPIC: Final = "RMQ_SYS_TRACE_TOPIC"
TRANS_CHECK_MAX_TIME_TOPIC: Final = "TRANS_CHECK_MAX_TIME_TOPIC"
SELF_TEST_TOPIC: Final = "SELF_TEST_TOPIC"
OFFSET_MOVED_EVENT: Final = "OFFSET_MOVED_EVENT"
CHECKPOINT_TOPIC: Final = "CHECKPOINT_TOPIC"
TIMER_TOPIC: Final = "rmq_sys_wheel_timer"
# TriMQ's own, only on brokers that have had an elastic topic: its records are those of codec/bodies/elastic.py.
ELASTIC_MAP_TOPIC: Final = "rmq_sys_ELASTIC_MAP"

SYSTEM_PREFIX: Final = "rmq_sys_"
UPPER_SYSTEM_PREFIX: Final = "RMQ_SYS_"
REVIVE_TOPIC_PREFIX: Final = f"{SYSTEM_PREFIX}REVIVE_LOG_"
SYNC_MEMBER_PREFIX: Final = f"{SYSTEM_PREFIX}SYNC_BROKER_MEMBER_"
# Only the broker itself writes there, whatever a record says of where it belongs; and to the revive topic.
_OWN_TOPICS: Final = frozenset(
    {
        SCHEDULE_TOPIC,
        TRANS_HALF_TOPIC,
        TRANS_OP_HALF_TOPIC,
        ROCKSDB_TRANS_HALF_TOPIC,
        ROCKSDB_TRANS_OP_HALF_TOPIC,
        TIMER_TOPIC,
        ELASTIC_MAP_TOPIC,
    }
)
REPLY_TOPIC_SUFFIX: Final = "_REPLY_TOPIC"
RETRY_PREFIX: Final = "%RETRY%"
DLQ_PREFIX: Final = "%DLQ%"
LMQ_PREFIX: Final = "%LMQ%"
_LITE_PREFIX: Final = f"{LMQ_PREFIX}$"
# Where the name of the parent begins in that of a lite topic's queue.
LITE_START: Final = len(_LITE_PREFIX)
SYSTEM_GROUP_PREFIX: Final = "CID_RMQ_SYS_"

DEFAULT_CONSUMER_GROUP: Final = "DEFAULT_CONSUMER"
DEFAULT_PRODUCER_GROUP: Final = "DEFAULT_PRODUCER"
TOOLS_CONSUMER_GROUP: Final = "TOOLS_CONSUMER"
SCHEDULE_CONSUMER_GROUP: Final = "SCHEDULE_CONSUMER"
FILTERSRV_CONSUMER_GROUP: Final = "FILTERSRV_CONSUMER"
MONITOR_CONSUMER_GROUP: Final = "__MONITOR_CONSUMER"
CLIENT_INNER_PRODUCER_GROUP: Final = "CLIENT_INNER_PRODUCER"
SELF_TEST_PRODUCER_GROUP: Final = "SELF_TEST_P_GROUP"
SELF_TEST_CONSUMER_GROUP: Final = "SELF_TEST_C_GROUP"
ONS_HTTP_PROXY_GROUP: Final = "CID_ONS-HTTP-PROXY"
ONSAPI_PULL_GROUP: Final = "CID_ONSAPI_PULL"
ONSAPI_PERMISSION_GROUP: Final = "CID_ONSAPI_PERMISSION"
ONSAPI_OWNER_GROUP: Final = "CID_ONSAPI_OWNER"
TRANS_GROUP: Final = "CID_RMQ_SYS_TRANS"
REVIVE_GROUP: Final = "CID_RMQ_SYS_REVIVE_GROUP"

# TopicValidator's list; what begins with SYSTEM_PREFIX belongs to it, too.
SYSTEM_TOPICS: Final = frozenset(
    {
        AUTO_CREATE_TOPIC,
        SCHEDULE_TOPIC,
        BENCHMARK_TOPIC,
        TRANS_HALF_TOPIC,
        TRANS_OP_HALF_TOPIC,
        ROCKSDB_TRANS_HALF_TOPIC,
        ROCKSDB_TRANS_OP_HALF_TOPIC,
        TRACE_TOPIC,
        TRANS_CHECK_MAX_TIME_TOPIC,
        SELF_TEST_TOPIC,
        OFFSET_MOVED_EVENT,
        CHECKPOINT_TOPIC,
    }
)
# MixAll.isSysConsumerGroupPullMessage: groups whose pulls are exempt from the ordinary rules.
_SYSTEM_PULL_GROUPS: Final = frozenset(
    {
        DEFAULT_CONSUMER_GROUP,
        TOOLS_CONSUMER_GROUP,
        SCHEDULE_CONSUMER_GROUP,
        FILTERSRV_CONSUMER_GROUP,
        MONITOR_CONSUMER_GROUP,
        SELF_TEST_CONSUMER_GROUP,
        ONS_HTTP_PROXY_GROUP,
        ONSAPI_PERMISSION_GROUP,
        ONSAPI_OWNER_GROUP,
        ONSAPI_PULL_GROUP,
        TRANS_GROUP,
    }
)

# The tag of a record that takes a timer message back.
RECALL_TAG: Final = "_RECALL_TAG_"

# What remarks of refusals end with (FAQUrl.suggestTodo).
SEE_FAQ: Final = "\nSee https://rocketmq.apache.org/docs/faq/ for further details."
# Those of a NameServer: 5.5.1's is not published, and what runs beside 5.5.1 brokers is 5.5.0's.
NAMESRV_SEE_FAQ: Final = (
    "\nSee https://rocketmq.apache.org/docs/bestPractice/06FAQ for further details."
)
# The remark that a response is made with: some processors answer SUCCESS and leave it there.
REMARK_LEFT: Final = "not set any response code"


def retry_topic(group: str) -> str:
    return RETRY_PREFIX + group


def dlq_topic(group: str) -> str:
    return DLQ_PREFIX + group


def pop_retry_topic(topic: str, group: str) -> str:
    """The retry topic of a POP consumer, first naming (KeyBuilder.buildPopRetryTopicV1)."""
    return f"{RETRY_PREFIX}{group}_{topic}"


def pop_retry_topic_v2(topic: str, group: str) -> str:
    """The retry topic of a POP consumer, second naming (KeyBuilder.buildPopRetryTopicV2)."""
    return f"{RETRY_PREFIX}{group}+{topic}"


def lite_queue(topic: str, lite_topic: str) -> str:
    """The queue that keeps one lite topic of a topic (LiteUtil.toLmqName)."""
    return f"{LMQ_PREFIX}${topic}${lite_topic}"


def is_lite_queue(name: str) -> bool:
    """Whether a light queue is one of a lite topic; its parent need not be readable (LiteUtil.isLiteTopicQueue)."""
    return name.startswith(_LITE_PREFIX)


def lite_queue_parts(name: str) -> tuple[str, str] | None:
    """The parent topic and the lite topic of a queue (LiteUtil.getParentTopic, getLiteTopic)."""
    if not is_lite_queue(name):
        return None
    parts = name[len(_LITE_PREFIX) :].split("$")
    return (parts[0], parts[1]) if len(parts) == 2 and all(parts) else None


def reply_topic(cluster: str) -> str:
    return f"{cluster}{REPLY_TOPIC_SUFFIX}"


def revive_topic(cluster: str) -> str:
    return f"{REVIVE_TOPIC_PREFIX}{cluster}"


def is_brokers_own(topic: str) -> bool:
    """Whether what is in the topic decides what the broker does: no message of a client's may come there."""
    return topic in _OWN_TOPICS or topic.startswith(REVIVE_TOPIC_PREFIX)


def sync_member_topic(broker: str) -> str:
    return f"{SYNC_MEMBER_PREFIX}{broker}"


def is_light(name: str) -> bool:
    """Whether a topic's or group's name is that of a light queue (MixAll.isLmq)."""
    return name.startswith(LMQ_PREFIX)


def allows_light(topic: str) -> bool:
    """Whether records of the topic may be in light queues as well (MixAll.topicAllowsLMQ)."""
    return (
        not topic.startswith((RETRY_PREFIX, DLQ_PREFIX, SYSTEM_PREFIX)) and topic != SCHEDULE_TOPIC
    )


def is_system_topic(name: str) -> bool:
    """The fixed system topics; those named after a cluster and its brokers are known to brokers only."""
    return name in SYSTEM_TOPICS or name.startswith(SYSTEM_PREFIX)


def is_system_group(name: str) -> bool:
    return name.startswith(SYSTEM_GROUP_PREFIX)


def is_system_pull_group(name: str) -> bool:
    return name in _SYSTEM_PULL_GROUPS or name.startswith(SYSTEM_GROUP_PREFIX)
