"""Which names topics and groups may have, and which of them the broker itself owns.

The rules, their order and the remarks are those of TopicValidator, the group names those of MixAll.
"""

import re
from typing import Final

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

SYSTEM_PREFIX: Final = "rmq_sys_"
REVIVE_TOPIC_PREFIX: Final = f"{SYSTEM_PREFIX}REVIVE_LOG_"
RETRY_PREFIX: Final = "%RETRY%"
DLQ_PREFIX: Final = "%DLQ%"
LMQ_PREFIX: Final = "%LMQ%"
SYSTEM_GROUP_PREFIX: Final = "CID_RMQ_SYS_"

TOOLS_CONSUMER_GROUP: Final = "TOOLS_CONSUMER"
FILTERSRV_CONSUMER_GROUP: Final = "FILTERSRV_CONSUMER"
SELF_TEST_CONSUMER_GROUP: Final = "SELF_TEST_C_GROUP"
ONS_HTTP_PROXY_GROUP: Final = "CID_ONS-HTTP-PROXY"
ONSAPI_PULL_GROUP: Final = "CID_ONSAPI_PULL"
ONSAPI_PERMISSION_GROUP: Final = "CID_ONSAPI_PERMISSION"
ONSAPI_OWNER_GROUP: Final = "CID_ONSAPI_OWNER"
TRANS_GROUP: Final = "CID_RMQ_SYS_TRANS"
REVIVE_GROUP: Final = "CID_RMQ_SYS_REVIVE_GROUP"

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
NOT_ALLOWED_SEND_TOPICS: Final = frozenset(
    {
        SCHEDULE_TOPIC,
        TRANS_HALF_TOPIC,
        TRANS_OP_HALF_TOPIC,
        TRANS_CHECK_MAX_TIME_TOPIC,
        SELF_TEST_TOPIC,
        OFFSET_MOVED_EVENT,
        ROCKSDB_TRANS_HALF_TOPIC,
        ROCKSDB_TRANS_OP_HALF_TOPIC,
    }
)
# MixAll.isSysConsumerGroupPullMessage: groups whose pulls are not held to the ordinary rules.
_SYSTEM_PULL_GROUPS: Final = frozenset(
    {
        "DEFAULT_CONSUMER",
        TOOLS_CONSUMER_GROUP,
        "SCHEDULE_CONSUMER",
        FILTERSRV_CONSUMER_GROUP,
        "__MONITOR_CONSUMER",
        SELF_TEST_CONSUMER_GROUP,
        ONS_HTTP_PROXY_GROUP,
        ONSAPI_PERMISSION_GROUP,
        ONSAPI_OWNER_GROUP,
        ONSAPI_PULL_GROUP,
        TRANS_GROUP,
    }
)

_PATTERN: Final = "^[%|a-zA-Z0-9_-]+$"
_LEGAL: Final = re.compile(r"[%|a-zA-Z0-9_-]+")
_TOPIC_MAX_LENGTH: Final = 127
_RETRY_OR_DLQ_MAX_LENGTH: Final = 255
_GROUP_MAX_LENGTH: Final = 120


def validate_topic(name: str) -> str | None:
    """The remark for a topic name that may not be used, or None."""
    if not name or name.isspace():
        return "The specified topic is blank."
    if _LEGAL.fullmatch(name) is None:
        return f"The specified topic: {name}, contains illegal characters, allowing only {_PATTERN}"
    if name.startswith((RETRY_PREFIX, DLQ_PREFIX)):
        if len(name) > _RETRY_OR_DLQ_MAX_LENGTH:
            return (
                f"The specified topic is DLQ or Retry topic: {name}, and it's longer than topic "
                f"max length: {_RETRY_OR_DLQ_MAX_LENGTH}"
            )
    elif len(name) > _TOPIC_MAX_LENGTH:
        return f"The specified topic: {name}, is longer than topic max length: {_TOPIC_MAX_LENGTH}"
    return None


def validate_group(name: str) -> str | None:
    """The remark for a group name that may not be used, or None."""
    if not name or name.isspace():
        return "The specified group is blank."
    if _LEGAL.fullmatch(name) is None:
        return f"The specified group: {name}, contains illegal characters, allowing only {_PATTERN}"
    if len(name) > _GROUP_MAX_LENGTH:
        return f"The specified group: {name}, is longer than group max length: {_GROUP_MAX_LENGTH}"
    return None


def is_system_topic(name: str) -> bool:
    """The fixed system topics; Topics.is_system_topic adds those named after cluster and broker."""
    return name in SYSTEM_TOPICS or name.startswith(SYSTEM_PREFIX)


def is_not_allowed_send_topic(name: str) -> bool:
    return name in NOT_ALLOWED_SEND_TOPICS


def is_system_group(name: str) -> bool:
    return name.startswith(SYSTEM_GROUP_PREFIX)


def is_system_pull_group(name: str) -> bool:
    return name in _SYSTEM_PULL_GROUPS or name.startswith(SYSTEM_GROUP_PREFIX)


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


def reply_topic(cluster: str) -> str:
    return f"{cluster}_REPLY_TOPIC"


def revive_topic(cluster: str) -> str:
    return f"{REVIVE_TOPIC_PREFIX}{cluster}"


def sync_member_topic(broker: str) -> str:
    return f"{SYSTEM_PREFIX}SYNC_BROKER_MEMBER_{broker}"
